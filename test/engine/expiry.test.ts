import { expect, test } from 'vitest';
import { startTestApp, subscribe } from '../support/app.ts';
import type { Json } from '../support/client.ts';
import { refuseWrites } from '../support/database.ts';
import { atLeast, eventually } from '../support/eventually.ts';
import { Receiver } from '../support/servers/receiver.ts';
import { deliveryOf } from '../support/settled.ts';
import { shared } from '../support/shared.ts';

const app = await shared(startTestApp());
const receiver = await shared(Receiver.start());
const HOUR_S = 3_600;
receiver.answerAlways(({ path }, response) => {
  response.writeHead(path.startsWith('/down') ? 503 : 200).end();
});

let paths = 0;
async function scene(options: Parameters<typeof subscribe>[2] & { path?: string } = {}) {
  const client = await app.newProject({
    meta_event: { is_enabled: true, event_type: ['eventdelivery.discarded'], url: `${receiver.url}/meta` },
  });
  const path = `/${options.path ?? 'up'}/${++paths}`;
  const made = await subscribe(client, `${receiver.url}${path}`, options);
  const send = (fields: object): Promise<Json> =>
    client.post('/events', { endpoint_id: made.endpoint.uid, event_type: 'a', data: {}, ...fields });
  return { client, path, ...made, send };
}

const expiredAt = (time: string) => `Expired at ${time} before it was delivered.`;
const LONG_RETRIES = { retry_config: { type: 'linear', interval_seconds: HOUR_S, retry_count: 3 } };

test('a delivery that expires in the middle of its retries is discarded then, with a meta event', async () => {
  const { client, path, send } = await scene({ path: 'down', subscription: LONG_RETRIES });
  const event = await send({ ttl_seconds: 2 });
  const tried = await deliveryOf(client, event, 'Retry');
  expect(tried.expires_at).toBe(event.expires_at);
  const ended = await deliveryOf(client, event, 'Discarded');
  expect(ended).toMatchObject({
    description: expiredAt(event.expires_at),
    cancelled_at: null,
    metadata: { num_trials: 1 },
  });
  expect(Date.parse(ended.updated_at)).toBeGreaterThanOrEqual(Date.parse(event.expires_at));
  expect(receiver.at(path)).toHaveLength(1);
  const [meta] = await eventually(
    () => receiver.at('/meta').filter(({ json }) => json.data.event_id === event.uid),
    { length: atLeast(1) },
  );
  expect(meta?.json).toMatchObject({
    event_type: 'eventdelivery.discarded',
    data: { status: 'Discarded', description: expiredAt(event.expires_at) },
  });
  const left = await app.database.query(
    'select from delivery_expiries x where delivery_id = $1 union all select from delivery_queue where delivery_id = $1',
    [ended.uid],
  );
  expect(left).toEqual([]);
});

test('deliveries behind a pause expire; a resend is made whenever it is made', async () => {
  const { client, path, endpoint, send } = await scene();
  await client.put(`/endpoints/${endpoint.uid}/pause`);
  const event = await send({ expires_at: new Date(Date.now() + 3_000).toISOString() });
  const ended = await deliveryOf(client, event, 'Discarded');
  expect(ended.description).toBe(expiredAt(event.expires_at));
  await client.put(`/endpoints/${endpoint.uid}/pause`);
  await client.put(`/eventdeliveries/${ended.uid}/resend`, undefined, 200);
  expect(await deliveryOf(client, event)).toMatchObject({ expires_at: null });
  await client.put(`/events/${event.uid}/replay`, undefined, 200);
  expect(await receiver.received(2, path)).toHaveLength(2);
});

test('a project whose expired deliveries cannot be ended keeps those of no other waiting', async () => {
  const stuck = await scene();
  const { client, endpoint, send } = await scene();
  await client.put(`/endpoints/${endpoint.uid}/pause`);
  // More than one look finds, and all older than those of the other project.
  await app.database.query(
    "insert into delivery_expiries select now() - interval '1 hour', $1, 'd' || n from generate_series(1, 501) n",
    [stuck.client.projectId],
  );
  const allow = await refuseWrites(app.database, 'delivery_expiries', stuck.client.projectId);
  await deliveryOf(client, await send({ ttl_seconds: 1 }), 'Discarded');
  await allow();
  await eventually(
    () => app.database.query('select from delivery_expiries where project_id = $1', [stuck.client.projectId]),
    { length: 0 },
  );
});

// proves Subscriptions: ttl_seconds
test('the earlier of the time of the event and that of the subscription counts, from the delivery time on', async () => {
  const { client, subscription, endpoint, send } = await scene({ subscription: { ttl_seconds: 60 } });
  expect(subscription.ttl_seconds).toBe(60);
  await client.put(`/endpoints/${endpoint.uid}/pause`);
  const lifeOf = async (fields: object) => {
    const event = await send(fields);
    const { expires_at } = await deliveryOf(client, event, 'Scheduled');
    const fromMs = Date.parse(event.deliver_at ?? event.created_at);
    return expires_at === null ? null : Math.round((Date.parse(expires_at) - fromMs) / 1000);
  };
  expect(await lifeOf({})).toBe(60);
  expect(await lifeOf({ ttl_seconds: 30 })).toBe(30);
  expect(await lifeOf({ ttl_seconds: 90 })).toBe(60);
  expect(await lifeOf({ delay_seconds: HOUR_S })).toBe(60);
  expect(await lifeOf({ delay_seconds: HOUR_S, ttl_seconds: 40 })).toBe(40);
  await client.put(`/subscriptions/${subscription.uid}`, { ttl_seconds: 0 });
  expect(await lifeOf({})).toBe(null);
});

test('what a subscription allows moves with the delivery time, and what the event says does not', async () => {
  const { client, send } = await scene({ subscription: { ttl_seconds: 60 } });
  const delivered = (event: Json) => deliveryOf(client, event, 'Scheduled');
  const event = await send({ delay_seconds: HOUR_S });
  const moved = await client.put(`/events/${event.uid}/deliver_at`, { delay_seconds: 2 * HOUR_S }, 200);
  const expiresAt = new Date(Date.parse(moved.deliver_at) + 60_000).toISOString();
  expect((await delivered(event)).expires_at).toBe(expiresAt);
  const rows = await app.database.query(
    'select x.expires_at = d.expires_at as same from delivery_expiries x join event_deliveries d on d.id = x.delivery_id where d.event_id = $1',
    [event.uid],
  );
  expect(rows).toEqual([{ same: true }]);
  const fixed = await send({ delay_seconds: HOUR_S, ttl_seconds: 30 });
  const late = await client.put(`/events/${fixed.uid}/deliver_at`, { delay_seconds: 2 * HOUR_S }, 400);
  expect(late.message).toContain('expires_at: must be in the future, and later than the delivery');
  await client.put(`/events/${fixed.uid}/deliver_at`, { delay_seconds: 60 }, 200);
  expect((await delivered(fixed)).expires_at).toBe(fixed.expires_at);
});

test('times that have passed or contradict each other are refused, and nothing is stored', async () => {
  const { client, endpoint } = await scene();
  const soon = new Date(Date.now() + 60_000).toISOString();
  for (const [fields, message] of [
    [{ expires_at: '2020-01-31T15:04:05Z' }, 'expires_at: must be in the future'],
    [{ expires_at: soon, delay_seconds: 120 }, 'later than the delivery'],
    [{ expires_at: soon, ttl_seconds: 1 }, 'ttl_seconds: cannot be given together with expires_at'],
    [{ expires_at: 'never' }, 'expires_at'],
    [{ ttl_seconds: 0 }, 'ttl_seconds'],
  ] as const) {
    const body = { endpoint_id: endpoint.uid, event_type: 'a', data: {}, ...fields };
    expect((await client.post('/events', body, 400)).message).toContain(message);
  }
  expect((await client.get('/events')).content).toEqual([]);
});

test('a delivery in the queue of a pull endpoint expires, but not while a consumer has it', async () => {
  const client = await app.newProject();
  const { endpoint } = await subscribe(client, '', {
    endpoint: { delivery: 'pull' },
    subscription: LONG_RETRIES,
  });
  const send = () =>
    client.post('/events', { endpoint_id: endpoint.uid, event_type: 'a', data: {}, ttl_seconds: 2 });
  const held = await send();
  const pull = (body: object) => client.post(`/endpoints/${endpoint.uid}/pull`, body, 200);
  const { deliveries } = await pull({ max: 1, lease_seconds: 4 });
  expect(deliveries[0].event_id).toBe(held.uid);
  const waiting = await send();
  await deliveryOf(client, waiting, 'Discarded');
  expect(await deliveryOf(client, held, 'Scheduled')).toMatchObject({ waiting_for: { gate: 'sending' } });
  expect((await pull({ max: 1 })).deliveries).toEqual([]);
  // Its consumer reports nothing: the lease ends as a failed attempt, and the wait for the next as expired.
  const ended = await deliveryOf(client, held, 'Discarded');
  expect(ended).toMatchObject({ description: expiredAt(held.expires_at), metadata: { num_trials: 1 } });
});

test('a consumer that reports success after the expiry counts', async () => {
  const client = await app.newProject();
  const { endpoint } = await subscribe(client, '', { endpoint: { delivery: 'pull' } });
  const event = await client.post('/events', {
    endpoint_id: endpoint.uid,
    event_type: 'a',
    data: {},
    ttl_seconds: 1,
  });
  const { deliveries } = await client.post(`/endpoints/${endpoint.uid}/pull`, { lease_seconds: 60 }, 200);
  const [{ uid, lease }] = deliveries;
  await eventually(
    () =>
      app.database.query(
        'select from delivery_expiries where delivery_id = $1 and expires_at > now() + interval $$30 s$$',
        [uid],
      ),
    { length: 1 },
  );
  await client.post(`/endpoints/${endpoint.uid}/pull/results`, { results: [{ uid, lease, ok: true }] }, 200);
  await deliveryOf(client, event);
});
