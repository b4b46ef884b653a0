import { beforeEach, expect, test } from 'vitest';
import type { ProjectId } from '../../../src/domain/ids.ts';
import type { NewEvent } from '../../../src/ingest/new-event.ts';
import { scrape } from '../../metrics/scrape.ts';
import { startTestApp, subscribe } from '../../support/app.ts';
import { ApiClient, type Json } from '../../support/client.ts';
import { Receiver } from '../../support/servers/receiver.ts';
import { shown } from '../../support/settled.ts';
import { shared } from '../../support/shared.ts';

/** Many events in one call. */
const app = await shared(startTestApp());
const receiver = await shared(Receiver.start());
let project: ApiClient;

beforeEach(async () => {
  project = await app.newProject();
  receiver.requests.length = 0;
});

const range = (count: number) => Array.from({ length: count }, (_, n) => n);
const broadcast = (n: unknown, more: object = {}) => ({
  kind: 'broadcast',
  event_type: 'a',
  data: { n },
  ...more,
});
const send = async (events: unknown[], more: object = {}): Promise<Json[]> =>
  (await project.post('/events/batch', { events, ...more }, 200)).results;
const statuses = (results: Json[]) => results.map(({ status }) => status);
const REFUSED = { status: 'refused', uid: '', duplicate_of: '' };

interface Stored {
  id: string;
  payload: string;
  status: string;
  is_duplicate: boolean;
  xmin: string;
}

const stored = async (): Promise<Stored[]> =>
  (await app.database.query(
    `select id, convert_from(payload, 'UTF8') as payload, status, is_duplicate, xmin::text
     from events where project_id = $1 order by id`,
    [project.projectId],
  )) as unknown as Stored[];

test('events of all four kinds are stored in one commit, in the order of the list, and each goes where its call sends it', async () => {
  const { endpoint } = await subscribe(project, `${receiver.url}/owned`, { endpoint: { owner_id: 'ann' } });
  await subscribe(project, `${receiver.url}/other`, { eventTypes: ['b'] });
  const bare = await project.post('/endpoints', { name: 'bare', url: `${receiver.url}/bare` });
  const dynamic = { kind: 'dynamic', url: `${receiver.url}/new`, event_type: 'd', event_types: ['d'] };
  const results = await send([
    { kind: 'direct', endpoint_id: endpoint.uid, event_type: 'a', data: 'direct' },
    { kind: 'fanout', owner_id: 'ann', event_type: 'a', data: 'fanout' },
    { ...dynamic, data: 'dynamic' },
    { kind: 'direct', endpoint_id: bare.uid, event_type: 'c', data: 'bare' },
    { kind: 'broadcast', event_type: 'b', data: 'broadcast' },
    { ...dynamic, data: 'dynamic again' },
  ]);
  expect(statuses(results)).toEqual(Array.from({ length: 6 }, () => 'stored'));
  const rows = await stored();
  expect(rows.map(({ id }) => id)).toEqual(results.map(({ uid }) => uid));
  expect(new Set(rows.map(({ xmin }) => xmin)).size).toBe(1);
  const deliveries = await app.database.query(
    'select event_id from event_deliveries where project_id = $1 order by id',
    [project.projectId],
  );
  const places = deliveries.map(({ event_id }) => rows.findIndex(({ id }) => id === event_id));
  expect(places).toEqual(places.toSorted((a, b) => a - b));
  await receiver.received(deliveries.length);
  const got = (path: string) =>
    new Set(receiver.requests.filter((one) => one.path === path).map(({ json }) => json as string));
  expect(got('/new')).toEqual(new Set(['dynamic', 'dynamic again']));
  expect(got('/owned')).toEqual(new Set(['broadcast', 'direct', 'fanout']));
  expect(got('/bare')).toEqual(new Set(['bare', 'broadcast']));
  expect(got('/other')).toEqual(new Set(['broadcast']));
  const urls = (await project.get('/endpoints')).content.map(({ url }: Json) => url);
  expect(urls.filter((url: string) => url.endsWith('/new'))).toHaveLength(1);
});

test('one bad event among a thousand refuses only itself, with its place and the reason of the single call', async () => {
  const events: unknown[] = range(1_000).map((n) => broadcast(n));
  events[17] = broadcast(17, { event_type: '' });
  const results = await send(events);
  expect(results[17]).toEqual({
    ...REFUSED,
    code: 'validation_failed',
    message: 'events[17].event_type: must not be empty',
  });
  expect(results.filter(({ status }) => status === 'stored')).toHaveLength(999);
  const rows = await stored();
  expect(rows.map(({ payload }) => JSON.parse(payload).n)).toEqual(range(1_000).filter((n) => n !== 17));
  expect(rows.map(({ id }) => id)).toEqual(results.filter(({ uid }) => uid !== '').map(({ uid }) => uid));
});

test('each wrong event is refused as a call with it alone would be', async () => {
  const tight = await app.newProject({ max_payload_read_size: 1_024 });
  project = tight;
  const disabled = await project.post('/sources', { name: 's', type: 'rest_api', is_disabled: true });
  const wrong: [unknown, string][] = [
    [7, 'events[0]: must be an object'],
    [{ event_type: 'a', data: 1 }, 'events[1].kind: is required'],
    [broadcast(1, { kind: 'other' }), 'events[2].kind: must be one of direct, fanout, dynamic, broadcast'],
    [
      broadcast(1, { idempotency_ky: 'k' }),
      'events[3]: unknown field idempotency_ky; did you mean idempotency_key?',
    ],
    [broadcast(1, { owner_id: 'ann' }), 'events[4]: unknown field owner_id'],
    [{ kind: 'fanout', data: 1 }, 'events[5].owner_id: is required; events[5].event_type: is required'],
    [broadcast(1, { metadata: 5 }), 'events[6].metadata: must be a string'],
    [
      broadcast(1, { custom_headers: { 'a b': 'x' } }),
      'events[7].custom_headers.a b: is not a legal header name',
    ],
    [broadcast('x'.repeat(2_000)), 'events[8]: The payload is larger than 1024 bytes'],
    [{ kind: 'direct', event_type: 'a', data: 1 }, 'events[9].endpoint_id: is required'],
    [
      { kind: 'direct', endpoint_id: 'none', event_type: 'a', data: 1 },
      'events[10].endpoint_id: there is no endpoint none in this project',
    ],
    [{ kind: 'dynamic', url: 'ftp://x', event_type: 'a', data: 1 }, 'events[11].url: '],
    [broadcast(1, { source_id: disabled.uid }), 'events[12].source_id: is a disabled source'],
    [
      broadcast(1, { metadata: 'a\u0000b' }),
      'events[13].metadata: contains a zero character, which cannot be stored',
    ],
    [broadcast(1, { acknowledged_at: 'soon' }), 'events[14].acknowledged_at: '],
    [{ kind: 'broadcast', event_type: 'a' }, 'events[15].data: is required'],
    [null, 'events[16]: must be an object'],
    [broadcast(1, { kind: '__proto__' }), 'events[17].kind: must be one of'],
  ];
  const results = await send([...wrong.map(([event]) => event), broadcast('good', { metadata: null })]);
  for (const [n, [, message]] of wrong.entries()) {
    expect(results[n]).toMatchObject(REFUSED);
    expect(results[n].message).toContain(message);
  }
  expect(results[8].code).toBe('body_too_large');
  expect(results[10].code).toBe('not_in_project');
  expect(results.at(-1)).toMatchObject({ status: 'stored', code: '', message: '' });
  expect(await stored()).toHaveLength(1);
});

test.each([
  ['no list', {}, 'events: is required'],
  ['an empty list', { events: [] }, 'events: must NOT have fewer than 1 items'],
  ['1,001 events', { events: range(1_001).map((n) => broadcast(n)) }, 'events: must NOT have more than 1000'],
  ['no list but an event', { events: broadcast(1) }, 'events: must be an array'],
  ['a misspelt option', { events: [broadcast(1)], all_or_nothin: true }, 'unknown field all_or_nothin'],
])('a call with %s is refused as a whole', async (_, body, message) => {
  const answer = await project.post('/events/batch', body, 400);
  expect(answer.message).toContain(message);
  expect(await stored()).toEqual([]);
});

test('a key of the whole call is refused, because each event has its own', async () => {
  const response = await project.raw('POST', '/events/batch', {
    body: { events: [broadcast(1)] },
    headers: { 'idempotency-key': 'k' },
  });
  expect([response.status, ((await response.json()) as Json).message]).toEqual([
    400,
    'Idempotency-Key: is not taken here; each event has its own idempotency_key',
  ]);
  expect(await stored()).toEqual([]);
});

test('payloads keep their bytes: numbers, escapes, unicode, the last of two keys', async () => {
  const texts = [
    '12345678901234567890',
    '{"n":1.10,"ü":"\\u00e9🎺"}',
    '"]},{\\"\\\\"',
    '[]',
    'null',
    '1e400',
  ];
  const events = texts.map((data) => ` {"kind":"broadcast", "data": 0,"event_type":"a","data" : ${data} } `);
  await project.post('/events/batch', `{"\\u0065vents" : [${events.join(',')}]}`, 200);
  expect((await stored()).map(({ payload }) => payload)).toEqual(texts);
});

test('a body over the limit is refused with the limit and its setting', async () => {
  const answer = await project.post('/events/batch', { events: [broadcast('x'.repeat(5_300_000))] }, 413);
  expect(answer.message).toBe(
    'The request body is larger than 5242880 bytes, the limit that POSTHORN_MAX_BODY_BYTES sets.',
  );
});

test('of two events with one key in a list the first is stored and the second is its duplicate', async () => {
  await subscribe(project, receiver.url);
  const events = [
    broadcast(0, { idempotency_key: 'k' }),
    broadcast(1),
    broadcast(2, { idempotency_key: 'k' }),
  ];
  const [first, other, second] = (await send(events)) as [Json, Json, Json];
  expect(statuses([first, other, second])).toEqual(['stored', 'stored', 'duplicate']);
  expect(second.duplicate_of).toBe(first.uid);
  const again = await send(events, { all_or_nothing: true });
  expect(statuses(again)).toEqual(['duplicate', 'stored', 'duplicate']);
  expect(again.map(({ duplicate_of }) => duplicate_of)).toEqual([first.uid, '', first.uid]);
  await receiver.received(3);
  expect(receiver.requests.map(({ json }) => Number(json.n)).sort((a, b) => a - b)).toEqual([0, 1, 1]);
});

test('all or nothing: a refusal names every bad event, and nothing is stored or made', async () => {
  const bare = await project.post('/endpoints', { name: 'bare', url: receiver.url });
  const events = [
    { kind: 'direct', endpoint_id: bare.uid, event_type: 'a', data: 1 },
    broadcast(1, { event_type: 5 }),
    { kind: 'dynamic', url: `${receiver.url}/new`, event_type: 'a', data: 1 },
    { kind: 'direct', endpoint_id: 'none', event_type: 'a', data: 1 },
  ];
  const answer = await project.post('/events/batch', { events, all_or_nothing: true }, 400);
  expect(answer).toMatchObject({
    code: 'validation_failed',
    message:
      'events[1].event_type: must be a string; events[3].endpoint_id: there is no endpoint none in this project',
    fields: [
      { field: 'events[1].event_type', problem: 'must be a string' },
      { field: 'events[3].endpoint_id', problem: 'there is no endpoint none in this project' },
    ],
  });
  expect(await stored()).toEqual([]);
  expect((await project.get('/endpoints')).content).toHaveLength(1);
  expect((await project.get('/subscriptions')).content).toEqual([]);
  const bad = { events: range(30).map(() => ({ kind: 'x' })), all_or_nothing: true };
  const many = await project.post('/events/batch', bad, 400);
  expect(many.fields).toHaveLength(30);
  expect(many.message).toMatch(/; and 10 more$/);
});

test('the limit of the project counts events, and with all or nothing admits all or none', async () => {
  project = await app.newProject({ ratelimit: { count: 10, duration: 600 } });
  const results = await send(range(7).map((n) => broadcast(n)));
  expect(statuses(results)).toEqual(Array.from({ length: 7 }, () => 'stored'));
  const four = { events: range(4).map((n) => broadcast(n)), all_or_nothing: true };
  expect(await project.post('/events/batch', four, 429)).toMatchObject({ code: 'rate_limited' });
  expect(await stored()).toHaveLength(7);
  const more = await send(range(5).map((n) => broadcast(n)));
  expect(statuses(more)).toEqual(['stored', 'stored', 'stored', 'refused', 'refused']);
  expect(more[4]).toMatchObject({ code: 'rate_limited', message: /^events\[4\]: The limit of 10 per 600 s/ });
});

test('the limit of a source refuses its own events', async () => {
  const limits = { rate_limit: 2, rate_limit_duration: 600 };
  const source = await project.post('/sources', { name: 's', type: 'rest_api', ...limits });
  const results = await send(range(8).map((n) => broadcast(n, n % 2 === 0 ? { source_id: source.uid } : {})));
  expect(results.flatMap(({ status }, n) => (status === 'refused' ? n : []))).toEqual([4, 6]);
});

test('a call makes at most 10,000 deliveries, and the rest after its answer', async () => {
  const { endpoint } = await subscribe(project, `${receiver.url}/paused`, { eventTypes: ['other'] });
  await project.put(`/endpoints/${endpoint.uid}/pause`);
  await app.database.query(
    `with changed as (update projects set version = version + 1 where id = $1 returning version as now_version)
     insert into subscriptions (id, project_id, version, name, type, status, endpoint_id, source_id, event_types, filter, filters, function, delivery_mode)
     select left(id, 16) || lpad(n::text, 10, '0'), project_id, now_version, name, type, status, endpoint_id, source_id, '{big}', filter, replace(filters::text, '"other"', '"big"')::json, function, delivery_mode
     from changed, subscriptions, generate_series(1, 900) n where project_id = $1`,
    [project.projectId],
  );
  const big = { kind: 'direct', endpoint_id: endpoint.uid, event_type: 'big', data: 1 };
  const results = await send(range(13).map(() => big));
  for (const { uid } of results) await shown(project, `/events/${uid}`, { status: 'Success' });
  // The commit of the call: what it stored is not changed until the endpoint is active.
  const [{ xmin }] = (await stored()) as [Stored];
  const counts = await app.database.query(
    `select count(*)::int as deliveries, bool_and(xmin::text = $2) as at_once
     from event_deliveries where project_id = $1 group by event_id order by event_id`,
    [project.projectId, xmin],
  );
  expect(counts).toEqual(range(13).map((n) => ({ deliveries: 900, at_once: n < 11 })));
});

test('config that moves on while a call is stored is taken into account', async () => {
  const node = await app.addNode();
  const elsewhere = new ApiClient(project.base.replace(app.url, node.url), project.key);
  const body = { events: range(20).map((n) => broadcast(n)) };
  await elsewhere.post('/events/batch', body, 200);
  // The other node may not know the subscription when it matches.
  await subscribe(project, receiver.url);
  await elsewhere.post('/events/batch', body, 200);
  expect((await stored()).map(({ status }) => status)).toEqual(
    range(40).map((n) => (n < 20 ? 'Failure' : 'Success')),
  );
  await receiver.received(20);
  await node.stop();
});

test('an event that the database refuses fails alone, or with all or nothing fails the others too', async () => {
  const event = (metadata: string): NewEvent => ({
    projectId: project.projectId as ProjectId,
    target: { kind: 'broadcast' },
    eventType: 'a',
    payload: Buffer.from('1'),
    contentType: null,
    headers: {},
    forwardedHeaders: null,
    credentials: [],
    trace: null,
    hops: 0,
    functionFailure: null,
    idempotencyKey: null,
    sourceId: null,
    appId: null,
    acknowledgedAtMs: null,
    urlQueryParams: null,
    urlPath: null,
    metadata,
  });
  const events = range(9).map((n) => event(n === 5 ? 'no\u0000text' : 'text'));
  const refused = { code: 'validation_failed' };
  const { acceptor } = app.app;
  const all = await acceptor.acceptGroup(events, { isAllOrNothing: true });
  expect(all).toMatchObject(events.map(() => refused));
  expect(await stored()).toEqual([]);
  const results = await acceptor.acceptGroup(events);
  expect(results).toMatchObject(range(9).map((n) => (n === 5 ? refused : { isDuplicate: false })));
  expect((await stored()).map(({ id }) => id)).toEqual(
    results.flatMap((one) => (one instanceof Error ? [] : one.event.id)),
  );
});

test('each event of a call is counted', async () => {
  const counts = async (): Promise<number[]> => {
    const { value } = await scrape(app.url);
    return ['unmatched', 'duplicate', 'refused'].map((result) =>
      value(`posthorn_events_total{result="${result}"}`),
    );
  };
  project = await app.newProject({ ratelimit: { count: 6, duration: 600 } });
  const before = await counts();
  await send(range(8).map((n) => broadcast(n, n < 2 ? { idempotency_key: 'k' } : {})));
  expect((await counts()).map((count, n) => count - (before[n] ?? 0))).toEqual([5, 1, 2]);
});

test('portal links cannot send batches', async () => {
  await subscribe(project, receiver.url, { endpoint: { owner_id: 'ann' } });
  const link = { name: 'ann', owner_id: 'ann', can_create_events: true };
  const { token } = await project.post('/portal-links', link);
  const portal = new ApiClient(project.base, token);
  const answer = await portal.post('/events/batch', { events: [broadcast(1)] }, 403);
  expect(answer.code).toBe('portal_forbidden');
  expect(await stored()).toEqual([]);
});
