import { describe, expect, onTestFinished, test } from 'vitest';
import type { Place } from '../../src/domain/delivery.ts';
import { type DiscardHeldDeps, discardHeld } from '../../src/engine/upkeep/discard-held.ts';
import { Duty } from '../../src/engine/upkeep/duty.ts';
import { createMetrics } from '../../src/metrics/metrics.ts';
import { portalOf, startTestApp, subscribe } from '../support/app.ts';
import type { ApiClient, Json } from '../support/client.ts';
import { eventually } from '../support/eventually.ts';
import { quietLog } from '../support/quiet-log.ts';
import { type Answer, Receiver } from '../support/servers/receiver.ts';
import { endedJob } from '../support/settled.ts';
import { shared } from '../support/shared.ts';

/** Deliveries of one key go one after another, in the order in which their events were accepted. */
const app = await shared(startTestApp());

const BY_ACCOUNT = { key: '$.body.account', on_failure: 'hold' };
const ONE_TRY = { type: 'linear', interval_seconds: 1, retry_count: 0 };

interface Scene {
  client: ApiClient;
  endpoint: Json;
  subscription: Json;
  receiver: Receiver;
  send(account: unknown, n: number, more?: object): Promise<Json>;
  /** The numbers of the requests with an account, in order. */
  seen(account: unknown): number[];
}

async function scene(subscription: object = {}): Promise<Scene> {
  const receiver = await Receiver.start();
  onTestFinished(() => receiver.stop());
  const client = await app.newProject();
  const made = await subscribe(client, receiver.url, {
    eventTypes: ['*'],
    subscription: { ordering: BY_ACCOUNT, ...subscription },
  });
  const send = (account: unknown, n: number, more: object = {}) =>
    client.post('/events/broadcast', { event_type: 'a', data: { account, n }, ...more });
  const seen = (account: unknown) =>
    receiver.requests.filter(({ json }) => json.account === account).map(({ json }) => json.n);
  return { client, ...made, receiver, send, seen };
}

/** Answers that a test gives when it wants to. */
function held(): { answer: Answer; release(status?: number): void } {
  const waiting: (() => void)[] = [];
  let status: number | undefined;
  return {
    answer: (_request, response) => {
      const end = () => response.writeHead(status ?? 200).end();
      if (status === undefined) waiting.push(end);
      else end();
    },
    release: (given = 200) => {
      status = given;
      for (const end of waiting.splice(0)) end();
    },
  };
}

const queue = (client: ApiClient) =>
  app.database.query('select * from delivery_queue where project_id = $1', [client.projectId]);
const drained = (client: ApiClient) => eventually(() => queue(client), { length: 0 });
const waiting = (client: ApiClient, count: number) =>
  eventually(
    () => app.database.query('select from ordered_deliveries where project_id = $1', [client.projectId]),
    { length: count },
  );
const keys = (client: ApiClient) =>
  app.database.query('select * from ordering_keys where project_id = $1 order by id', [client.projectId]);

describe('deliveries of one key', () => {
  test('wait for the one before them, and those of other keys do not', async () => {
    const { client, receiver, send, seen } = await scene();
    const { answer, release } = held();
    receiver.answerAlways((request, response) =>
      request.json.account === 'a'
        ? (answer as (...a: unknown[]) => void)(request, response)
        : response.end(),
    );
    for (let n = 1; n <= 3; n++) await send('a', n);
    for (let n = 1; n <= 3; n++) await send('b', n);
    await eventually(() => seen('b'), { length: 3 });
    expect(seen('a')).toEqual([1]);
    const open = (await client.get('/eventdeliveries?sort=ASC')).content as Json[];
    const [first, ...behind] = open.filter(({ status }) => status !== 'Success');
    for (const { uid } of behind)
      expect((await client.get(`/eventdeliveries/${uid}`)).waits_behind).toMatchObject({
        event_delivery_id: first?.uid,
        waiting_for: { gate: 'sending' },
        held_at: null,
        acts: [],
      });
    expect((await client.get(`/eventdeliveries/${first?.uid}`)).waits_behind).toBeNull();
    release();
    await drained(client);
    expect(seen('a')).toEqual([1, 2, 3]);
    expect(seen('b')).toEqual([1, 2, 3]);
    expect(
      await app.database.query('select * from ordered_deliveries where project_id = $1', [client.projectId]),
    ).toEqual([]);
    expect((await keys(client)).map(({ head_id }) => head_id)).toEqual([null, null]);
  });

  test('a failing one is retried and keeps its key waiting', async () => {
    const { client, receiver, send, seen } = await scene({
      retry_config: { type: 'linear', interval_seconds: 1, retry_count: 3 },
    });
    receiver.answerNext(500, 500);
    for (let n = 1; n <= 3; n++) await send('a', n);
    await drained(client);
    expect(seen('a')).toEqual([1, 1, 1, 2, 3]);
  });

  test('many accepted at once go in the order of their answers, whatever the batch', async () => {
    const { client, send, seen } = await scene();
    for (let round = 0; round < 10; round++)
      await Promise.all(['a', 'b', 'c', 'd'].map((account) => send(account, round)));
    await drained(client);
    for (const account of ['a', 'b', 'c', 'd']) expect(seen(account)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
  });
});

test('a failed head holds its key until it is resent, and keeps its place', async () => {
  const { client, endpoint, receiver, send, seen } = await scene({ retry_config: ONE_TRY });
  await client.put(`/endpoints/${endpoint.uid}`, { owner_id: 'acme' }, 202);
  receiver.answerNext(500);
  await send('a', 1);
  await send('a', 2);
  const [failed] = await eventually(
    async () => (await client.get('/eventdeliveries?status=Failure')).content,
    { length: 1 },
  );
  expect(await keys(client)).toMatchObject([{ head_id: failed.uid, held_at: expect.anything() }]);
  expect(seen('a')).toEqual([1]);
  const [behind] = (await client.get('/eventdeliveries?waitingFor=order')).content;
  const { waits_behind } = await client.get(`/eventdeliveries/${behind.uid}`);
  expect(waits_behind).toMatchObject({
    event_delivery_id: failed.uid,
    status: 'Failure',
    acts: ['resend', 'skip'],
  });
  const seenBy = async (more: object) =>
    (await (await portalOf(client, 'acme', more)).get(`/eventdeliveries/${behind.uid}`)).waits_behind;
  const known = { event_delivery_id: failed.uid, ordering_key_id: '***' };
  expect(await seenBy({ can_retry: true })).toMatchObject({ ...known, acts: ['resend'] });
  expect(await seenBy({ can_retry: false })).toMatchObject({ ...known, acts: [] });
  await client.put(`/eventdeliveries/${failed.uid}/resend`, undefined, 200);
  await drained(client);
  expect(seen('a')).toEqual([1, 1, 2]);
  expect(await keys(client)).toMatchObject([{ head_id: null, held_at: null }]);
});

test('a held key is listed and can be skipped', async () => {
  const { client, subscription, receiver, send, seen } = await scene({ retry_config: ONE_TRY });
  receiver.answerNext(500);
  for (let n = 1; n <= 3; n++) await send('a', n);
  const {
    content: [key],
  } = await eventually(() => client.get('/ordering-keys?held=true'), { content: { length: 1 } });
  expect(key).toMatchObject({
    key: 'a',
    subscription_id: subscription.uid,
    waiting: 2,
    held_at: expect.any(String),
  });
  const { content: waiting } = await client.get('/eventdeliveries?waitingFor=order');
  expect(waiting).toMatchObject([
    {
      ordering_key: 'a',
      waiting_for: { gate: 'order' },
      description: expect.stringMatching(/^Held: an earlier/),
    },
    { ordering_key: 'a', waiting_for: { gate: 'order' } },
  ]);
  expect(await client.post('/ordering-keys/skip', { ids: [key.uid] }, 200)).toEqual({ released: 1 });
  await drained(client);
  expect(seen('a')).toEqual([1, 2, 3]);
  await client.post('/ordering-keys/skip', { ids: [key.uid] }, 400);
  expect((await client.get('/ordering-keys')).content).toEqual([]);
});

// proves Subscriptions: ordering.on_failure
test('with skip the next one goes after a failure', async () => {
  const { client, receiver, send, seen } = await scene({
    retry_config: ONE_TRY,
    ordering: { ...BY_ACCOUNT, on_failure: 'skip' },
  });
  receiver.answerNext(500);
  for (let n = 1; n <= 3; n++) await send('a', n);
  await drained(client);
  expect(seen('a')).toEqual([1, 2, 3]);
});

test('cancelled ones leave the key, and one that is being sent stays until it has ended', async () => {
  const { client, receiver, send, seen } = await scene();
  const { answer, release } = held();
  receiver.answerAlways(answer);
  const events: Json[] = [];
  for (let n = 1; n <= 4; n++) events.push(await send('a', n));
  await receiver.received(1);
  for (const n of [0, 2])
    await endedJob(
      client,
      await client.post(`/eventdeliveries/cancel?eventId=${events[n].uid}`, undefined, 200),
    );
  expect(seen('a')).toEqual([1]);
  release();
  await drained(client);
  expect(seen('a')).toEqual([1, 2, 4]);
});

test('a replay and a resend take a place at the end of the key', async () => {
  const { client, receiver, send, seen } = await scene();
  const first = await send('a', 1);
  await drained(client);
  const { answer, release } = held();
  receiver.answerAlways(answer);
  await send('a', 2);
  await client.put(`/events/${first.uid}/replay`, undefined, 200);
  await send('a', 3);
  await receiver.received(2);
  await waiting(client, 2);
  release();
  await drained(client);
  expect([
    seen('a').slice(0, 2),
    seen('a')
      .slice(2)
      .toSorted((a, b) => a - b),
  ]).toEqual([
    [1, 2],
    [1, 3],
  ]);
});

// proves Subscriptions: ordering.key
test.each([
  ['$.headers.X-Account', { data: {}, custom_headers: { 'x-account': 'a' } }, 'a'],
  ['$.body.account.id', { data: { account: { id: 17 } } }, '17'],
  ['$.body.account.id', { data: { account: [] } }, ''],
  ['$.body.account.id', { data: { account: { id: { deep: true } } } }, ''],
  ['$.body.account.id', { data: { account: { id: 'a\0b' } } }, expect.stringMatching(/^sha256:/)],
  ['$.body.account.id', { data: { account: { id: 'ü'.repeat(101) } } }, expect.stringMatching(/^sha256:/)],
  ['$.body.__proto__.x', { data: 'text' }, ''],
  ['$.body.account.id', { data: {}, ordering_key: 'given' }, 'given'],
  ['endpoint', { data: {} }, ''],
])('the key by %s of %j', async (key, event, expected) => {
  const { client, endpoint, subscription } = await scene({ ordering: { key } });
  expect(subscription.ordering).toEqual({ key, on_failure: 'hold' });
  await client.post('/events/broadcast', { event_type: 'a', ...event });
  await drained(client);
  const [row] = await keys(client);
  const [scope, ...rest] = String(row?.['id']).split(':');
  expect([scope, rest.join(':')]).toEqual([key === 'endpoint' ? endpoint.uid : subscription.uid, expected]);
});

test('an ordering that cannot be read is refused', async () => {
  const { client, subscription } = await scene();
  for (const ordering of [
    { key: 'account' },
    { key: '$.body' },
    { on_failure: 'skip' },
    { ...BY_ACCOUNT, on_failure: 'wait' },
  ])
    await client.put(`/subscriptions/${subscription.uid}`, { ordering }, 400);
  const without = await client.put(`/subscriptions/${subscription.uid}`, { ordering: {} });
  expect(without.ordering).toBeUndefined();
});

test('a delayed delivery takes its place when it is due', async () => {
  const { client, receiver, send, seen } = await scene();
  const { answer, release } = held();
  receiver.answerAlways(answer);
  await send('a', 1, { delay_seconds: 1 });
  await send('a', 2);
  await send('a', 3);
  await receiver.received(1);
  await waiting(client, 2);
  release();
  await drained(client);
  expect(seen('a')).toEqual([2, 3, 1]);
});

test('an expired head lets the next one go', async () => {
  const { client, endpoint, send, seen } = await scene();
  await client.put(`/endpoints/${endpoint.uid}/pause`);
  await send('a', 1, { ttl_seconds: 1 });
  await send('a', 2);
  await eventually(async () => (await client.get('/eventdeliveries?status=Discarded')).content, {
    length: 1,
  });
  await client.put(`/endpoints/${endpoint.uid}/pause`);
  await drained(client);
  expect(seen('a')).toEqual([2]);
});

test('a consumer of a pull endpoint has one delivery of a key at a time', async () => {
  const client = await app.newProject();
  const { uid } = await client.post('/endpoints', { name: 'pulled', delivery: 'pull' });
  await client.post('/subscriptions', { name: 'pulled', endpoint_id: uid, ordering: BY_ACCOUNT });
  for (let n = 1; n <= 3; n++)
    await client.post('/events/broadcast', { event_type: 'a', data: { account: 'a', n } });
  await client.post('/events/broadcast', { event_type: 'a', data: { account: 'b', n: 1 } });
  const pulled: [string, number][] = [];
  for (let turn = 0; turn < 3; turn++) {
    const { deliveries } = await client.post(`/endpoints/${uid}/pull`, { max: 10 }, 200);
    const bodies = deliveries.map(({ body }: Json) => JSON.parse(Buffer.from(body, 'base64').toString()));
    expect(bodies.map(({ account }: Json) => account)).toEqual(turn === 0 ? ['a', 'b'] : ['a']);
    pulled.push(...bodies.map(({ account, n }: Json) => [account, n]));
    const results = deliveries.map((one: Json) => ({ uid: one.uid, lease: one.lease, ok: true }));
    await client.post(`/endpoints/${uid}/pull/results`, { results }, 200);
  }
  expect(pulled.filter(([account]) => account === 'a').map(([, n]) => n)).toEqual([1, 2, 3]);
});

test('keys that are held for twice the retention go on', async () => {
  const { client, receiver, send, seen } = await scene({ retry_config: ONE_TRY });
  receiver.answerNext(500);
  await send('a', 1);
  await send('a', 2);
  await eventually(() => client.get('/ordering-keys?held=true'), { content: { length: 1 } });
  await app.database.query(
    "update ordering_keys set held_at = held_at - interval '61 days' where project_id = $1",
    [client.projectId],
  );
  await discardHeld(
    {
      ...app.app,
      metrics: createMetrics().metrics,
      cache: { getOrNull: async () => null },
      duty: new Duty({ metrics: createMetrics().metrics, log: quietLog }, { duty: 'discard', retryInMs: 0 }),
      metaEventsStored: () => {},
      released: (places: readonly Place[]) => {
        for (const place of places) app.app.engine.sink.waiting(place);
      },
    } as unknown as DiscardHeldDeps,
    { nowMs: Date.now(), retentionMs: 30 * 86_400_000 },
    new AbortController().signal,
  );
  await drained(client);
  expect(seen('a')).toEqual([1, 2]);
});
