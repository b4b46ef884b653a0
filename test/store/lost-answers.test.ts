import { afterEach, beforeEach, expect, onTestFinished, test } from 'vitest';
import { httpSource, startTestApp, subscribe, type TestApp } from '../support/app.ts';
import { ApiClient, type Json } from '../support/client.ts';
import { eventually, every } from '../support/eventually.ts';
import { type DatabaseRelay, startDatabaseRelay } from '../support/servers/database-relay.ts';
import { Receiver } from '../support/servers/receiver.ts';
import { slowClock } from '../support/slow-clock.ts';

/** The errors for callers when the database did the work and its answer was lost, and when it did not. */
let app: TestApp;
let relay: DatabaseRelay;
let receiver: Receiver;
/** Calls the node behind the relay. */
let client: ApiClient;
let nodeUrl: string;

const NOT_DONE = 'The database cannot be reached. Nothing was changed; try again.';
const UNKNOWN = 'The database cannot be reached, so the outcome is unknown.';

beforeEach(async () => {
  app = await startTestApp({ POSTHORN_ROLES: 'api' });
  relay = await startDatabaseRelay();
  receiver = await Receiver.start();
  const node = await app.addNode({
    POSTHORN_ROLES: 'api,ingest,deliver',
    POSTHORN_GRACE: '1',
    DATABASE_URL: relay.urlOf(app.database.name),
  });
  nodeUrl = node.url;
  client = new ApiClient(app.project.base.replace(app.url, node.url), app.project.key);
  await subscribe(client, receiver.url);
  await client.post('/events/broadcast', { event_type: 'warm', data: {} });
  await receiver.received(1);
});

afterEach(async () => {
  relay.loseAnswersTo(null);
  await app.stop();
  relay.close();
  await receiver.stop();
});

const lists = async (path: string): Promise<Json[]> => (await app.project.get(path)).content;

test('an event whose commit was not confirmed has an unknown outcome; a repeat names the first and sends nothing', async () => {
  relay.loseAnswersTo('accept-events');
  const event = { event_type: 'a', data: { n: 1 }, idempotency_key: 'order 1' };
  const response = await client.raw('POST', '/events/broadcast', { body: event });
  const refusal = (await response.json()) as Json;
  expect(refusal).toMatchObject({ status: false, code: 'outcome_unknown' });
  expect(refusal.message).toBe(
    `${UNKNOWN} Send it again with the same idempotency key. If it was stored, the response names it in duplicate_of and nothing is sent twice.`,
  );
  expect(response.status).toBe(503);
  expect(response.headers.get('retry-after')).toBe('1');

  const [stored] = await lists('/events?idempotencyKey=order%201');
  expect(stored).toMatchObject({ is_duplicate_event: false });
  relay.loseAnswersTo(null);
  const repeat = await client.post('/events/broadcast', event);
  expect(repeat).toMatchObject({ is_duplicate_event: true, duplicate_of: stored.uid });
  expect(await client.get(`/events/${repeat.uid}`)).toMatchObject({ duplicate_of: stored.uid });
  expect(await client.get(`/events/${stored.uid}`)).toMatchObject({ duplicate_of: '' });
  await eventually(() => lists('/eventdeliveries'), every({ status: 'Success' }, 2));
  expect(receiver.requests.filter(({ json }) => json.n === 1)).toHaveLength(1);
});

test('a batch whose commit was not confirmed has an unknown outcome; sent again it makes no second delivery', async () => {
  const events = [1, 2, 3].map((n) => ({
    kind: 'broadcast',
    event_type: 'a',
    data: { n },
    idempotency_key: `b${n}`,
  }));
  relay.loseAnswersTo('accept-events');
  const refusal = await client.post('/events/batch', { events }, 503);
  expect(refusal).toMatchObject({ code: 'outcome_unknown' });
  expect(refusal.message).toContain('Send it again with the same idempotency key.');
  const keyless = { ...events[0], idempotency_key: null };
  const unsafe = await client.post('/events/batch', { events: [...events, keyless] }, 503);
  expect(unsafe.message).toContain('Look for it');
  relay.loseAnswersTo(null);
  const first = (await lists('/events?sort=ASC')).filter(({ idempotency_key }) => idempotency_key !== '');
  const { results } = await client.post('/events/batch', { events }, 200);
  expect(results.map(({ status }: Json) => status)).toEqual(['duplicate', 'duplicate', 'duplicate']);
  expect(results.map((one: Json) => one.duplicate_of)).toEqual(first.slice(0, 3).map(({ uid }) => uid));
  await eventually(() => lists('/eventdeliveries'), every({ status: 'Success' }, 5));
  // The warm-up, three of the first call, and the one without a key.
  const numbers = receiver.requests.map(({ json }) => Number(json.n ?? 0));
  expect(numbers.toSorted((a, b) => a - b)).toEqual([0, 1, 1, 2, 3]);
});

test('a batch whose answer was lost once is found by the service itself, and is stored and delivered once', async () => {
  const events = [1, 2, 3].map((n) => ({ kind: 'broadcast', event_type: 'a', data: { n } }));
  relay.loseAnswersTo('accept-events', 1);
  const { results } = await client.post('/events/batch', { events }, 200);
  expect(results.map(({ status }: Json) => status)).toEqual(['stored', 'stored', 'stored']);
  const [, ...stored] = await lists('/events?sort=ASC');
  expect(stored.map(({ uid }) => uid)).toEqual(results.map(({ uid }: Json) => uid));
  await eventually(() => lists('/eventdeliveries'), every({ status: 'Success' }, 4));
  expect(receiver.requests).toHaveLength(4);
});

test('without an idempotency key the error advises to look first', async () => {
  relay.loseAnswersTo('accept-events');
  const refusal = await client.post('/events/broadcast', { event_type: 'a', data: {} }, 503);
  expect(refusal.message).toContain(`${UNKNOWN} Look for it`);
  expect(refusal.code).toBe('outcome_unknown');
});

test('a job of another node does not pass the id of an event whose outcome is unknown', async () => {
  relay.loseAnswersTo('accept-events');
  await client.post('/events/broadcast', { event_type: 'lost', data: {} }, 503);
  // The node holds the id for 10 s.
  const clock = slowClock();
  onTestFinished(() => clock.end());
  const [stored] = await lists('/events');
  expect(stored).toMatchObject({ event_type: 'lost' });
  await eventually(() => app.database.query('select from nodes where in_flight_from = $1', [stored.uid]), {
    length: 1,
  });
});

test('an incoming webhook whose commit was not confirmed gets the same error', async () => {
  const made = await app.instance.post('/projects', { name: 'in', type: 'incoming' });
  const incoming = new ApiClient(`${nodeUrl}/api/v1/projects/${made.project.uid}`, made.api_key.key);
  const source = await httpSource(incoming);
  const path = `/ingest/${source.mask_id}`;
  const outside = new ApiClient(nodeUrl, '');
  await outside.call('POST', path, { body: {}, expected: 200 });
  relay.loseAnswersTo('accept-events');
  expect(await outside.call('POST', path, { body: {}, expected: 503 })).toMatchObject({
    code: 'outcome_unknown',
  });
});

test('a config change whose commit was not confirmed has an unknown outcome', async () => {
  relay.loseAnswersTo('commit');
  const refusal = await client.post('/endpoints', { name: 'lost', url: receiver.url }, 503);
  expect(refusal).toMatchObject({ code: 'outcome_unknown' });
  expect(refusal.message).toContain(UNKNOWN);
  relay.loseAnswersTo(null);
  expect((await lists('/endpoints')).map(({ name }) => name)).toContain('lost');
});

test('an event that could not be sent to the database was not stored, and a read that failed changed nothing', async () => {
  relay.close();
  // Once this is answered, the node has seen that its idle connections are closed, and sends the event on none of them.
  expect(await client.call('GET', '/endpoints', { expected: 503 })).toMatchObject({
    code: 'database_unavailable',
    message: NOT_DONE,
  });
  const refusal = await client.post('/events/broadcast', { event_type: 'a', data: { n: 2 } }, 503);
  expect(refusal).toMatchObject({ code: 'database_unavailable', message: NOT_DONE });
  expect(await lists('/events')).toHaveLength(1);
});
