import { beforeEach, describe, expect, test } from 'vitest';
import { startTestApp, subscribe } from '../support/app.ts';
import type { ApiClient, Json } from '../support/client.ts';
import { Receiver } from '../support/servers/receiver.ts';
import { deliveryOf } from '../support/settled.ts';
import { shared } from '../support/shared.ts';

/** Retries as a list of waits, on subscriptions and projects. */
const app = await shared(startTestApp({ POSTHORN_MAX_RETRY_SECONDS: '1' }));
const LIST = ['100ms', '250ms'];
let receiver: Receiver;

beforeEach(async () => {
  receiver = await Receiver.start();
  return () => receiver.stop();
});

/** The delivery of one event that its receiver always refuses, and the waits between its requests. */
async function refused(project: ApiClient, subscription: object = {}) {
  receiver.answerAlways(500);
  await subscribe(project, receiver.url, { subscription });
  const event = await project.post('/events/broadcast', { event_type: 'a', data: {} });
  const delivery = await deliveryOf(project, event, 'Failure');
  // Each try has the same id, so that a receiver can drop repeats.
  expect(new Set(receiver.requests.map(({ headers }) => headers['webhook-id'])).size).toBe(1);
  const waits = receiver.requests.slice(1).map(({ at }, n) => at - (receiver.requests[n]?.at ?? 0));
  return { delivery, waits };
}

/** The requests of a list: one more than waits, none before its time. */
function expectListed({ delivery, waits }: { delivery: Json; waits: number[] }): void {
  expect(delivery.metadata).toMatchObject({
    strategy: 'exponential',
    interval_seconds: 1,
    num_trials: 3,
    retry_limit: 3,
  });
  expect(delivery.description).toBe(
    'The endpoint answered 500 Internal Server Error; all 3 attempts are used up',
  );
  expect(waits).toHaveLength(2);
  expect(waits[0]).toBeGreaterThan(90);
  expect(waits[1]).toBeGreaterThan(240);
}

// differs Sending: Waits have [jitter](how-to/retries.md), exponential ones a maximum; a list of waits
//   (`schedule`) shows as `exponential`. Retries come in no waves.
// proves Subscriptions: retry_config.schedule
test('a subscription with a list is retried by it, and shows it in the fields that clients know', async () => {
  const project = await app.newProject();
  expectListed(await refused(project, { retry_config: { schedule: LIST } }));
  const [{ uid }] = (await project.get('/subscriptions')).content;
  const shown = async () => (await project.get(`/subscriptions/${uid}`)).retry_config;
  expect(await shown()).toEqual({ type: 'exponential', duration: 1, retry_count: 2, schedule: LIST });
  const change = (retry_config: object) => project.put(`/subscriptions/${uid}`, { retry_config });
  // Longer than POSTHORN_MAX_RETRY_SECONDS, which does not bound it. The other fields follow from the list.
  await change({ schedule: ['1h3m', '24h', '1.5s'], type: 'linear', retry_count: 900 });
  expect(await shown()).toMatchObject({ type: 'exponential', duration: 3_780, retry_count: 3 });
  await project.put(`/subscriptions/${uid}`, { name: 'renamed' });
  expect((await shown()).schedule).toEqual(['1h3m', '24h', '1.5s']);
  await change({ type: 'linear', interval_seconds: 7, retry_count: 1, schedule: [] });
  expect(await shown()).toEqual({ type: 'linear', duration: 7, retry_count: 1 });
});

// proves Projects: strategy.schedule
test('a project with a list retries deliveries and meta events by it', async () => {
  const meta_event = { is_enabled: true, url: `${receiver.url}/meta`, event_type: ['endpoint.created'] };
  const project = await app.newProject({ strategy: { schedule: LIST }, meta_event });
  await project.post('/endpoints', { name: 'other', url: receiver.url });
  const [stored] = await app.database.query(
    'select retry_schedule, retry_limit, is_exponential from meta_events where project_id = $1',
    [project.projectId],
  );
  expect(stored).toEqual({ retry_schedule: '0.1+0.25', retry_limit: 3, is_exponential: true });
  await receiver.received(1, '/meta');
  await project.put('', { config: { meta_event: { is_enabled: false } } });
  receiver.requests.length = 0;
  expectListed(await refused(project));
});

test('a list of a project stays until other values or an empty list replace it', async () => {
  const project = await app.newProject({ strategy: { schedule: ['5s', '5m'] } });
  const saved = async (strategy: object) =>
    (await project.put('', { config: { strategy } })).config.strategy as Json;
  const listed = { type: 'exponential', duration: 5, retry_count: 3, schedule: ['5s', '5m'] };
  // A client that knows no list sends back what it was shown.
  expect(await saved({ type: 'exponential', duration: 5, retry_count: 3 })).toEqual(listed);
  expect(await saved({ type: 'linear' })).toEqual({ ...listed, type: 'linear', schedule: [] });
  expect(await saved({ schedule: ['5s', '5m'], retry_count: 9 })).toEqual(listed);
  expect(await saved({ schedule: [] })).toEqual({ ...listed, schedule: [] });
});

test('a project that was stored before lists has none, and can get one', async () => {
  const project = await app.newProject({ strategy: { type: 'linear', duration: 100, retry_count: 10 } });
  await app.database.query(`update projects set config = config #- '{strategy,schedule}' where id = $1`, [
    project.projectId,
  ]);
  expect((await project.get('')).config.strategy).toEqual({
    type: 'linear',
    duration: 100,
    retry_count: 10,
    schedule: [],
  });
  const changed = await project.put('', { config: { strategy: { schedule: ['2s'] } } });
  expect(changed.config.strategy).toEqual({
    type: 'exponential',
    duration: 2,
    retry_count: 2,
    schedule: ['2s'],
  });
});

describe('a list', () => {
  const AT_LEAST = /must be a duration of at least 1ms, such as 10s or 1h3m/;
  const cases: [string, unknown, RegExp][] = [
    ['with an empty text', ['5s', ''], AT_LEAST],
    ['with zero', ['0s'], AT_LEAST],
    ['with a negative wait', ['-5s'], AT_LEAST],
    ['with a number', ['5'], AT_LEAST],
    ['with a word', ['soon'], AT_LEAST],
    ['with a wait that is too short', ['1us'], AT_LEAST],
    ['that is longer than the retention', ['47h', '2h'], /waits for 49 h in total, longer than .* 48 h/],
    ['that is too long', Array(101).fill('1s'), /schedule/],
    ['that is none', '5s', /schedule/],
    ['of other things', [5], /schedule/],
  ];
  const longest = { retention_policy: { policy: '48h' } };

  test.each(cases)('%s is refused, and nothing is stored', async (_name, schedule, message) => {
    const project = await app.newProject({ ...longest, strategy: { schedule: ['1s', '3s'] } });
    const before = await project.get('');
    const refusal = await project.put('', { config: { strategy: { schedule } } }, 400);
    expect(refusal.message).toMatch(message);
    expect(refusal.message).toContain('strategy.schedule');
    expect((await project.get('')).config).toEqual(before.config);
    const endpoint = await project.post('/endpoints', { name: 'e', url: receiver.url });
    const subscription = { name: 's', endpoint_id: endpoint.uid, retry_config: { schedule } };
    const other = await project.post('/subscriptions', subscription, 400);
    expect(other.message).toMatch(message);
    expect(other.message).toContain('retry_config.schedule');
    expect((await project.get('/subscriptions')).content).toEqual([]);
  });

  test('as long as the retention is taken, and may be sent back under a shorter one', async () => {
    const project = await app.newProject({ ...longest, strategy: { schedule: ['46h', '2h'] } });
    const { config } = await project.put('', { config: { retention_policy: { policy: '1h' } } });
    await project.put('', { config: { strategy: config.strategy } });
    await project.put('', { config: { strategy: { schedule: ['46h', '1h'] } } }, 400);
    await project.put('', { config: { strategy: { schedule: ['1h'] } } });
  });
});
