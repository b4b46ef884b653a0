import { expect, test } from 'vitest';
import { scrape } from '../metrics/scrape.ts';
import { startTestApp, subscribe } from '../support/app.ts';
import type { ApiClient, Json } from '../support/client.ts';
import { EventStream } from '../support/event-stream.ts';
import { atLeast, eventually } from '../support/eventually.ts';
import { Receiver } from '../support/servers/receiver.ts';
import { completedJob, deliveryOf, shown } from '../support/settled.ts';
import { shared } from '../support/shared.ts';

const app = await shared(startTestApp());
const receiver = await shared(Receiver.start());
const arrivedAt = new Map<string, number>();
receiver.answerAlways(({ path }, response) => {
  arrivedAt.set(path, Date.now());
  response.writeHead(200).end();
});
const HOUR_S = 3_600;

let paths = 0;
async function scene(options: Parameters<typeof subscribe>[2] = {}) {
  const client = await app.newProject();
  const path = `/${++paths}`;
  const made = await subscribe(client, `${receiver.url}${path}`, options);
  const send = (fields: object): Promise<Json> =>
    client.post('/events', { endpoint_id: made.endpoint.uid, event_type: 'a', data: {}, ...fields });
  return { client, path, ...made, send };
}

const delayedOf = async (client: ApiClient): Promise<string[]> =>
  (await client.get('/events?delayed=true')).content.map(({ uid }: Json) => uid);

test('an event with a delay is delivered then, not before, and its latency counts from then', async () => {
  const { client, path, send } = await scene();
  const event = await send({ delay_seconds: 1 });
  const dueAt = Date.parse(event.deliver_at);
  expect(await delayedOf(client)).toEqual([event.uid]);
  const waiting = await deliveryOf(client, event, 'Scheduled');
  expect(waiting).toMatchObject({
    waiting_for: { gate: 'delayed', until: event.deliver_at },
    metadata: { next_send_time: event.deliver_at, num_trials: 0 },
    description: 'Its event is to be delivered later.',
  });
  const delivered = await deliveryOf(client, event);
  expect(arrivedAt.get(path)).toBeGreaterThanOrEqual(dueAt);
  expect(Number.parseFloat(delivered.latency)).toBeLessThan(dueAt - Date.parse(event.created_at));
  expect(await delayedOf(client)).toEqual([]);
});

test('every call that creates an event takes a time, and one in the past is at once', async () => {
  const { client, endpoint, send } = await scene({ endpoint: { owner_id: 'o' } });
  const later = { event_type: 'a', data: {}, deliver_at: new Date(Date.now() + HOUR_S * 1000).toISOString() };
  const events = [
    await send({ deliver_at: later.deliver_at }),
    await client.post('/events/fanout', { ...later, owner_id: 'o' }),
    await client.post('/events/broadcast', later),
    await client.post('/events/dynamic', { ...later, url: endpoint.url, event_types: ['a'] }),
  ];
  for (const event of events) expect(event.deliver_at).toBe(later.deliver_at);
  expect((await delayedOf(client)).sort()).toEqual(events.map(({ uid }) => String(uid)).sort());
  const first = await client.get('/events?delayed=true&perPage=3');
  expect(first.content).toHaveLength(3);
  const rest = await client.get(
    `/events?delayed=true&perPage=3&next_page_cursor=${first.pagination.next_page_cursor}`,
  );
  expect(rest.content.map(({ uid }: Json) => uid)).toEqual([events[0]?.uid]);
  const open = await client.get('/eventdeliveries?waitingFor=delayed');
  expect(open.content.length).toBeGreaterThanOrEqual(4);
  const past = await send({ deliver_at: '2020-01-31T15:04:05Z' });
  await deliveryOf(client, past);
  await deliveryOf(client, await send({ delay_seconds: 0 }));
});

test('times that contradict each other, are too late or are no times are refused, and nothing is stored', async () => {
  const { client, endpoint } = await scene();
  const bad = [
    [{ deliver_at: '2026-01-31T15:04:05Z', delay_seconds: 1 }, 'delay_seconds: cannot be given together'],
    [{ deliver_at: 'tomorrow' }, 'deliver_at'],
    [{ delay_seconds: -1 }, 'delay_seconds'],
    [{ delay_seconds: 1.5 }, 'delay_seconds'],
    [{ delay_seconds: 721 * HOUR_S }, 'delay_seconds: must not be later than'],
    [{ deliver_at: '9999-01-31T15:04:05Z' }, 'the retention after the event was accepted'],
  ] as const;
  for (const [fields, message] of bad) {
    const body = { endpoint_id: endpoint.uid, event_type: 'a', data: {}, ...fields };
    expect((await client.post('/events', body, 400)).message).toContain(message);
    const url = `${receiver.url}/never`;
    await client.post('/events/dynamic', { ...body, endpoint_id: undefined, url }, 400);
  }
  expect((await client.get('/events')).content).toEqual([]);
  expect((await client.get('/endpoints')).content).toHaveLength(1);
});

test('the retention of a project bounds the delay', async () => {
  const client = await app.newProject({ retention_policy: { policy: '48h' } });
  const event = { event_type: 'a', data: {} };
  await client.post('/events/broadcast', { ...event, delay_seconds: 47 * HOUR_S });
  await client.post('/events/broadcast', { ...event, delay_seconds: 49 * HOUR_S }, 400);
});

test('the time of an event can be changed until it has come', async () => {
  const { client, path, send } = await scene();
  const event = await send({ delay_seconds: HOUR_S });
  const change = (body: object, status = 200) => client.put(`/events/${event.uid}/deliver_at`, body, status);
  const at = new Date(Date.now() + 2 * HOUR_S * 1000).toISOString();
  expect((await change({ deliver_at: at })).deliver_at).toBe(at);
  expect(await deliveryOf(client, event, 'Scheduled')).toMatchObject({
    waiting_for: { gate: 'delayed', until: at },
  });
  await change({}, 400);
  await change({ deliver_at: at, delay_seconds: 1 }, 400);
  await change({ delay_seconds: 721 * HOUR_S }, 400);
  await client.put('/events/01ARZ3NDEKTSV4RRFFQ69G5FAV/deliver_at', { delay_seconds: 1 }, 404);
  const sooner = await change({ delay_seconds: 1 });
  await deliveryOf(client, event);
  expect(arrivedAt.get(path)).toBeGreaterThanOrEqual(Date.parse(sooner.deliver_at));
  expect((await change({ delay_seconds: 1 }, 400)).message).toContain('does not wait for its time');
  const [{ before, after }] = (await client.get('/audit?action=event.rescheduled')).content.slice(-1);
  expect([before, after]).toEqual([{ deliver_at: event.deliver_at }, { deliver_at: at }]);
});

test('an event that is moved again and again while it becomes due goes once, at its last time', async () => {
  const { client, path, send } = await scene();
  const event = await send({ delay_seconds: 1 });
  let last = event;
  const move = async () => {
    const answer = await client.raw('PUT', `/events/${event.uid}/deliver_at`, { body: { delay_seconds: 1 } });
    if (answer.status === 200) last = ((await answer.json()) as Json).data;
    return answer.status;
  };
  const answers = new Set<number>();
  const until = Date.parse(event.deliver_at) + 200;
  while (Date.now() < until) for (const status of await Promise.all([move(), move()])) answers.add(status);
  await deliveryOf(client, event);
  expect(answers).toContain(200);
  expect(receiver.at(path)).toHaveLength(1);
  const stored = await client.get(`/events/${event.uid}`);
  expect(arrivedAt.get(path)).toBeGreaterThanOrEqual(Date.parse(stored.deliver_at));
  expect(last.uid).toBe(event.uid);
});

test('a delayed event can be cancelled, sent now, and replayed at once', async () => {
  const { client, path, send } = await scene();
  const cancelled = await send({ delay_seconds: HOUR_S });
  await completedJob(
    client,
    await client.post(`/eventdeliveries/cancel?eventId=${cancelled.uid}`, undefined, 200),
  );
  await deliveryOf(client, cancelled, 'Discarded');
  const reason = await client.put(`/events/${cancelled.uid}/deliver_at`, { delay_seconds: 1 }, 400);
  expect(reason.message).toContain('all of its deliveries have ended');
  const event = await send({ delay_seconds: HOUR_S });
  const waits = await deliveryOf(client, event, 'Scheduled');
  expect(await client.post('/eventdeliveries/sendnow?dry_run=true', undefined, 200)).toMatchObject({
    total: 0,
  });
  await completedJob(client, await client.post('/eventdeliveries/sendnow', undefined, 200));
  expect((await client.get(`/eventdeliveries/${waits.uid}`)).status).toBe('Scheduled');
  await client.post(`/eventdeliveries/sendnow?deliveryId=${waits.uid}`, undefined, 200);
  expect((await deliveryOf(client, event)).latency).toBe('0.0ms');
  await client.put(`/events/${event.uid}/replay`, undefined, 200);
  await receiver.received(2, path);
});

test('a fan-out over a thousand deliveries waits for its time, also if that is changed', async () => {
  const { client, path, send } = await scene();
  await app.database.query(
    `with changed as (update projects set version = version + 1 where id = $1 returning version as now_version)
     insert into subscriptions (id, project_id, version, name, type, status, endpoint_id, source_id, event_types, filter, filters, function, delivery_mode)
     select left(id, 16) || lpad(n::text, 10, '0'), project_id, now_version, name, type, status, endpoint_id, source_id, event_types, filter, filters, function, delivery_mode
     from changed, subscriptions, generate_series(1, 1000) n where project_id = $1`,
    [client.projectId],
  );
  const event = await send({ delay_seconds: HOUR_S });
  expect(event.status).toBe('Processing');
  const moved = await client.put(`/events/${event.uid}/deliver_at`, { delay_seconds: 3 }, 200);
  await shown(client, `/events/${event.uid}`, { status: 'Success' });
  const due = () =>
    app.database.query(
      'select distinct d.next_send_at = e.deliver_at as same, q.due_at = e.deliver_at as queued from event_deliveries d join events e on e.id = d.event_id left join delivery_queue q on q.delivery_id = d.id where d.event_id = $1',
      [event.uid],
    );
  if (Date.now() < Date.parse(moved.deliver_at) - 500)
    expect(await due()).toEqual([{ same: true, queued: true }]);
  const all = await receiver.received(1_001, path);
  expect(all).toHaveLength(1_001);
  const firstAt = Math.min(...all.map(({ at }) => performance.timeOrigin + at));
  expect(firstAt).toBeGreaterThanOrEqual(Date.parse(moved.deliver_at) - 1);
});

test('a consumer of a pull endpoint gets it when it is due', async () => {
  const client = await app.newProject();
  const { endpoint } = await subscribe(client, '', { endpoint: { delivery: 'pull' } });
  const event = await client.post('/events', {
    endpoint_id: endpoint.uid,
    event_type: 'a',
    data: {},
    delay_seconds: 1,
  });
  const early = await client.post(`/endpoints/${endpoint.uid}/pull`, {}, 200);
  expect(early.deliveries).toEqual([]);
  const { deliveries } = await eventually(
    () => client.post(`/endpoints/${endpoint.uid}/pull`, { wait_seconds: 5 }, 200),
    { deliveries: { length: atLeast(1) } },
  );
  expect(deliveries[0].event_id).toBe(event.uid);
  expect(Date.now()).toBeGreaterThanOrEqual(Date.parse(event.deliver_at));
});

test('an event that a stopped node accepted is delivered by another', async () => {
  const other = await startTestApp();
  const path = `/${++paths}`;
  await subscribe(other.project, `${receiver.url}${path}`);
  const event = await other.project.post('/events/broadcast', {
    event_type: 'a',
    data: {},
    delay_seconds: 2,
  });
  await other.app.stop();
  await other.addNode();
  await receiver.received(1, path);
  expect(arrivedAt.get(path)).toBeGreaterThanOrEqual(Date.parse(event.deliver_at));
  await other.stop();
});

test('a burst is claimed in small rounds while another project has new events', async () => {
  const COUNT = 500;
  const { client, endpoint, path } = await scene();
  const claims = async () => (await scrape(app.url)).value('posthorn_batch_size_count{batch="claim"}');
  const arrived = () => receiver.at(path).length;
  const burst = async () => {
    const [before, sent] = [await claims(), arrived()];
    const deliver_at = new Date(Date.now() + 1_000).toISOString();
    const event = { kind: 'direct', endpoint_id: endpoint.uid, event_type: 'a', data: {}, deliver_at };
    await client.post('/events/batch', { events: Array.from({ length: COUNT }, () => event) }, 200);
    await eventually(arrived, sent + COUNT);
    return (await claims()) - before;
  };
  const alone = await burst();
  const others = new EventStream((await scene()).client);
  const besideOthers = await burst();
  await others.stop();
  // At most 50 of an endpoint at a time, and 25 once new events of another project were seen.
  expect(besideOthers / alone).toBeGreaterThan(1.3);
});
