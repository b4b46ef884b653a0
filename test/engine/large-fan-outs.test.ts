import { describe, expect, onTestFinished, test } from 'vitest';
import { asId, IdFactory, type ProjectId } from '../../src/domain/ids.ts';
import { Expander } from '../../src/engine/queue/expander.ts';
import { Sealer } from '../../src/platform/sealer.ts';
import { ConfigCache } from '../../src/routing/config-cache.ts';
import { EndpointStore } from '../../src/store/config/endpoints.ts';
import { ProjectStore } from '../../src/store/config/projects.ts';
import { SourceStore } from '../../src/store/config/sources.ts';
import { Database } from '../../src/store/database/database.ts';
import { httpSource, SECRET_KEY, startTestApp } from '../support/app.ts';
import type { ApiClient, Json } from '../support/client.ts';
import { refuseWrites } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { holdKey } from '../support/held-key.ts';
import { quietLog } from '../support/quiet-log.ts';
import { manySubscriptions } from '../support/samples/many-subscriptions.ts';
import { Receiver } from '../support/servers/receiver.ts';
import { endedJob, shown } from '../support/settled.ts';
import { shared } from '../support/shared.ts';
import { slowClock } from '../support/slow-clock.ts';

/** A fan-out over 1,000 deliveries is stored as a list of subscriptions and expanded in chunks. */
const app = await shared(startTestApp({ POSTHORN_MAX_ORDERED_FANOUT: '1200' }));
const receiver = await shared(Receiver.start());

const many = (count: number, options: { path?: string; paused?: boolean; subscription?: object } = {}) => {
  const { path = '/paused', ...more } = options;
  return manySubscriptions(app, count, { url: `${receiver.url}${path}`, ...more });
};

const expanded = (client: ApiClient, event: Json) =>
  shown(client, `/events/${event.uid}`, { status: 'Success' });

async function deliveriesOf(event: Json): Promise<Json> {
  const [counted] = await app.database.query(
    'select count(*)::int as all, count(distinct subscription_id)::int as distinct from event_deliveries where event_id = $1',
    [event.uid],
  );
  return counted;
}

test('a fan-out over a thousand deliveries is expanded in chunks and all arrive', async () => {
  const { client, send } = await many(2_500, { paused: false, path: '/fan-out' });
  const event = await send();
  expect(event.status).toBe('Processing');
  await receiver.received(2_500, '/fan-out');
  await expanded(client, event);
  expect(await deliveriesOf(event)).toEqual({ all: 2_500, distinct: 2_500 });
});

test('the fan-out of a deleted project is dropped, and that of another project goes on', async () => {
  const gone = await app.newProject();
  const event = await gone.post('/events/broadcast', { event_type: 'a', data: {} });
  await gone.delete('');
  await app.database.query(
    `insert into expansions (id, event_id, project_id, subscription_ids, lane) values ($1, $1, $2, '{a,b}', 0)`,
    [event.uid, gone.projectId],
  );
  const { client, send } = await many(1_001);
  const other = await send();
  await expanded(client, other);
  expect(await deliveriesOf(other)).toEqual({ all: 1_001, distinct: 1_001 });
  expect(await app.database.query('select event_id from expansions')).toEqual([]);
});

test('a fan-out that cannot be stored waits, and those behind it go on', async () => {
  const stuck = await many(1_001);
  const allow = await refuseWrites(app.database, 'expansions', stuck.client.projectId);
  const first = await stuck.send();
  const { client, send } = await many(1_001);
  const second = await send();
  await expanded(client, second);
  expect(await deliveriesOf(first)).toEqual({ all: 0, distinct: 0 });
  await allow();
  await expanded(stuck.client, first);
  expect(await deliveriesOf(first)).toEqual({ all: 1_001, distinct: 1_001 });
});

/** The most deliveries of a project that one transaction stored. Those of paused endpoints have not changed since. */
async function mostPerTransaction(projectId: string): Promise<number> {
  const [row] = await app.database.query(
    'select max(n)::int as most from (select count(*) as n from event_deliveries where project_id = $1 group by xmin::text) stored',
    [projectId],
  );
  return row?.['most'] as number;
}

test('a replay of a large fan-out stores the list with its audit entry, and the deliveries in chunks', async () => {
  const { client, send } = await many(2_500);
  const event = await send();
  await expanded(client, event);
  // Twice at once: both lists are worked off, and the event is done when the second is.
  await Promise.all([1, 2].map(() => client.put(`/events/${event.uid}/replay`, undefined, 200)));
  await expanded(client, event);
  expect(await deliveriesOf(event)).toEqual({ all: 7_500, distinct: 2_500 });
  expect(await mostPerTransaction(client.projectId)).toBe(1_000);
  const audit = await app.database.query(
    `select after from audit_entries where project_id = $1 and action = 'event.replayed'`,
    [client.projectId],
  );
  expect(audit).toEqual([{ after: { deliveries: 2_500 } }, { after: { deliveries: 2_500 } }]);
});

test('a batch replay whose commits fail at times loses and doubles nothing, and ends when all is queued', async () => {
  const { client, endpoint, send } = await many(1_200);
  const events = [
    await client.post('/events', { endpoint_id: endpoint.uid, event_type: 'other', data: {} }),
    await send(),
    await client.post('/events', { endpoint_id: endpoint.uid, event_type: 'other', data: {} }),
    await send(),
  ];
  for (const event of events) await expanded(client, event);
  // A sequence keeps counting where its transaction is rolled back: every third commit fails.
  await app.database.query('create sequence commits');
  await app.database.query(
    `create function fail_third() returns trigger language plpgsql as $$ begin
       if nextval('commits') % 3 = 1 then raise exception 'lost' using errcode = '40001'; end if;
       return coalesce(new, old);
     end $$`,
  );
  const ofProject = `for each row when (old.project_id = '${client.projectId}') execute function fail_third()`;
  await app.database.query(`create trigger fail before update of cursor on jobs ${ofProject}`);
  await app.database.query(`create trigger fail before update or delete on expansions ${ofProject}`);
  const started = (await (await client.raw('POST', '/events/batchreplay', {})).json()) as Json;
  const job = await endedJob(client, started.job);
  expect(job).toMatchObject({ status: 'completed', total: 4, done: 4, failed: 0 });
  const counts = await Promise.all(events.map(deliveriesOf));
  expect(counts).toEqual([1, 1_200, 1, 1_200].map((count) => ({ all: 2 * count, distinct: count })));
  expect(await mostPerTransaction(client.projectId)).toBeLessThanOrEqual(1_000);
  const [failed] = await app.database.query('select last_value::int / 3 as commits from commits');
  expect(failed?.['commits']).toBeGreaterThan(1);
});

test('replays that read config again need one connection each', async () => {
  // Four of its connections are for calls such as these.
  const node = await app.addNode({ POSTHORN_DATABASE_CONNECTIONS: '7' });
  const client = await app.newProject();
  const source = await httpSource(client);
  const message = JSON.stringify({ endpoint_id: 'missing', event_type: 'a', data: {} });
  const ids = await Promise.all(
    Array.from(
      { length: 8 },
      async () => (await client.post('/events/broadcast', { event_type: 'a', data: {} })).uid,
    ),
  );
  await app.database.query(
    `update events set event_type = 'broker.unreadable', source_id = $2, source_function_failed = true, payload = $3
     where id = any($1)`,
    [ids, source.uid, Buffer.from(message)],
  );
  const replay = async (id: string) => {
    const url = `${node.url}/api/v1/projects/${client.projectId}/events/${id}/replay`;
    return (await fetch(url, { method: 'PUT', headers: client.headers() })).status;
  };
  expect(await Promise.all(ids.map(replay))).toEqual(ids.map(() => 200));
});

test('an expansion of a project that opened again reads its config once', async () => {
  const { client, send } = await many(1);
  const event = await send();
  const id = asId<ProjectId>(client.projectId);
  let transactions = 0;
  class CountingDatabase extends Database {
    override transaction: Database['transaction'] = (work) => {
      transactions += 1;
      return super.transaction(work);
    };
  }
  const connection = { connectionString: app.database.url };
  const db = new CountingDatabase({ connection, connections: 4, log: quietLog });
  const sealer = new Sealer([Buffer.from(SECRET_KEY)]);
  const cache = new ConfigCache({
    db,
    projects: new ProjectStore(sealer),
    endpoints: new EndpointStore(sealer),
    sources: new SourceStore(sealer),
    log: quietLog,
  });
  const state = (to: string | null) =>
    app.database.query('update projects set cell_state = $2, version = version + 1 where id = $1', [id, to]);
  await state('closed');
  expect((await cache.getOrNull(id))?.isClosed).toBe(true);
  await state(null);
  await app.database.query(
    `insert into expansions (id, event_id, project_id, subscription_ids, lane)
     select $1, $1, $2, array_agg(id), 0 from subscriptions where project_id = $2`,
    [event.uid, id],
  );
  const expander = new Expander({
    db,
    cache,
    ids: new IdFactory(Date.now),
    now: Date.now,
    maxRetrySeconds: 1,
    sweep: async () => {},
    counts: { made: () => {} },
    log: quietLog,
  });
  expander.start();
  await eventually(() => app.database.query('select from expansions'), { length: 0 });
  await expander.stop();
  await db.close();
  expect(transactions).toBeLessThan(5);
});

describe('ordered deliveries', () => {
  const subscription = { ordering: { key: '$.body.account', on_failure: 'hold' } };
  const refused = { code: 'ordered_fanout_too_large', message: expect.stringContaining('split') };
  const eventsOf = ({ projectId }: ApiClient) =>
    app.database.query('select xmin::text as commit from events where project_id = $1', [projectId]);
  const commits = async (...clients: ApiClient[]) =>
    new Set((await Promise.all(clients.map(eventsOf))).flat().map(({ commit }) => commit)).size;

  test('over a thousand of a call are stored in a commit of their own, one call at a time, and others go on', async () => {
    const clock = slowClock();
    onTestFinished(() => clock.end());
    const [first, second] = [await many(1_001, { subscription }), await many(1_001, { subscription })];
    const small = await many(900, { subscription });
    const held = await holdKey(app, first.client.projectId, 'held');
    const waiting = first.send({ idempotency_key: 'held' });
    await held.waiting();
    const behind = second.send();
    for (let n = 0; n < 3; n++) await small.send();
    expect(await eventsOf(second.client)).toEqual([]);
    const all = Promise.all([waiting, behind, ...Array.from({ length: 5 }, () => small.send())]);
    await held.release();
    const [large] = await all;
    // Their places in the keys are given: none is made later.
    expect(large).toMatchObject({ status: 'Success' });
    expect(await deliveriesOf(large as Json)).toEqual({ all: 1_001, distinct: 1_001 });
    expect(await commits(first.client, second.client, small.client)).toBe(2 + (await commits(small.client)));
  });

  // proves Instance: POSTHORN_MAX_ORDERED_FANOUT
  test('over the limit in a call are refused, also those of its events together, and nothing is stored', async () => {
    const [one, half] = [await many(1_201, { subscription }), await many(700, { subscription })];
    const big = { event_type: 'big', data: {} };
    const direct = ({ endpoint }: typeof one) => ({ endpoint_id: endpoint.uid, ...big });
    for (const path of ['/events', '/events?dry_run=true'])
      expect(await one.client.post(path, direct(one), 400)).toMatchObject(refused);
    const events = [1, 2].map(() => ({ kind: 'direct', ...direct(half) }));
    for (const all_or_nothing of [true, false])
      expect(await half.client.post('/events/batch', { events, all_or_nothing }, 400)).toMatchObject(refused);
    expect([await eventsOf(one.client), await eventsOf(half.client)]).toEqual([[], []]);
    await half.client.post('/events/batch', { events: events.slice(1) }, 200);
    // Unordered ones are made after the commit, so that they have no limit.
    const unordered = await many(1_201);
    await expanded(unordered.client, await unordered.send());
  });

  test('over the limit in a replay count as failed, and one replay is refused', async () => {
    const { client, send, add } = await many(1_100, { subscription });
    const event = await send();
    await add(150, 2_000);
    expect(await client.put(`/events/${event.uid}/replay`, undefined, 400)).toMatchObject(refused);
    const started = (await (await client.raw('POST', '/events/batchreplay', {})).json()) as Json;
    expect(await endedJob(client, started.job)).toMatchObject({ status: 'completed', done: 0, failed: 1 });
    expect(await deliveriesOf(event)).toEqual({ all: 1_100, distinct: 1_100 });
  });
});
