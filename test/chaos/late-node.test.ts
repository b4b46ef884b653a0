import { expect, test } from 'vitest';
import {
  asId,
  type DeliveryId,
  type EndpointId,
  type EventId,
  IdFactory,
  type ProjectId,
} from '../../src/domain/ids.ts';
import { AttemptTemplates } from '../../src/store/attempts/attempt-templates.ts';
import { Database } from '../../src/store/database/database.ts';
import { acceptEvents, type EventRow } from '../../src/store/queue/accept-events.ts';
import { claimDeliveries } from '../../src/store/queue/claim.ts';
import { finishDeliveries } from '../../src/store/queue/finish-deliveries.ts';
import { finishRows } from '../../src/store/queue/finish-rows.ts';
import type { NewDelivery } from '../../src/store/queue/insert-deliveries.ts';
import { beat, forgetNodes, freeInPages, leave } from '../../src/store/queue/nodes.ts';
import { startTestApp, subscribe, type TestApp } from '../support/app.ts';
import { createTestDatabase } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { quietLog } from '../support/quiet-log.ts';
import { finishOf } from '../support/samples/finish-of.ts';
import { Receiver } from '../support/servers/receiver.ts';

const EARLY = '00000000000000000000000001';
const LATE = '00000000000000000000000002';
const nodeOf = (id: string) => ({ id, roles: 'deliver', knows: '', sealKeys: [], inFlightFrom: '' });

test('a finish under an old fence is recorded as a stale attempt and changes no state', async ({
  onTestFinished,
}) => {
  // A node without the deliver role stores the delivery for other nodes. The test acts as those.
  const app = await startTestApp({ POSTHORN_ROLES: 'api' });
  onTestFinished(() => app.stop());
  const { db } = app.app;
  const { endpoint } = await subscribe(app.project, 'http://127.0.0.1:9/', { eventTypes: ['late'] });
  await app.project.post('/events/broadcast', { event_type: 'late', data: {} });
  const claim = async (nodeId: string) => {
    await beat(db, nodeOf(nodeId));
    const [taken] = await claimDeliveries(db, {
      nodeId,
      wants: [{ key: endpoint.uid, lane: 0, count: 1 }],
      free: 1_000,
    });
    return taken!.deliveries[0]!;
  };

  const leased = await claim(LATE);
  await app.database.query("update nodes set beat_at = now() - interval '11 seconds' where id = $1", [LATE]);
  expect((await beat(db, nodeOf(EARLY))).silent).toEqual([{ id: LATE, isForgettable: false }]);
  expect(await freeInPages(db, 10, 0)).toEqual({ freed: 1, nextPage: 0 });
  const taken = await claim(EARLY);
  expect(taken).toMatchObject({ id: leased.id });
  expect(taken.fence).toBeGreaterThan(leased.fence);

  const lateFirst = finishOf(leased, '00000000000000000000000003', 'Retry');
  expect((await finishDeliveries(db, node(LATE), [lateFirst])).moved).toEqual(new Set());
  const success = finishOf(taken, '00000000000000000000000004', 'Success');
  expect((await finishDeliveries(db, node(EARLY), [success])).moved).toEqual(new Set([leased.id]));
  const lateAgain = finishOf(leased, '00000000000000000000000005', 'Failure');
  expect((await finishDeliveries(db, node(LATE), [lateAgain])).moved).toEqual(new Set());

  expect(await app.database.query('select status, num_trials from event_deliveries')).toEqual([
    { status: 'Success', num_trials: 1 },
  ]);
  expect(await app.database.query('select is_stale from attempts order by id')).toEqual([
    { is_stale: true },
    { is_stale: false },
    { is_stale: true },
  ]);
  expect(await app.database.query('select * from delivery_queue')).toEqual([]);
});

/** A delivery that a node holds, and its end. */
async function delivered(onTestFinished: (end: () => Promise<void>) => void) {
  const app = await startTestApp({ POSTHORN_ROLES: 'api' });
  onTestFinished(() => app.stop());
  const { db } = app.app;
  const { endpoint } = await subscribe(app.project, 'http://127.0.0.1:9/', { eventTypes: ['twice'] });
  await app.project.post('/events/broadcast', { event_type: 'twice', data: {} });
  const [taken] = await claimDeliveries(db, {
    nodeId: EARLY,
    wants: [{ key: endpoint.uid, lane: 0, count: 1 }],
    free: 1_000,
  });
  const finish = finishOf(taken!.deliveries[0]!, '00000000000000000000000003', 'Success');
  return { app, db, finish };
}

async function expectOnce({ database }: TestApp): Promise<void> {
  expect(await database.query('select is_stale from attempts')).toEqual([{ is_stale: false }]);
  const counted = await database.query(
    'select sum(attempts)::int as attempts, sum(delivered)::int as delivered from recent_counts',
  );
  expect(counted).toEqual([{ attempts: 1, delivered: 1 }]);
}

test('the same finish sent twice, as after a lost answer, is recorded and counted once', async ({
  onTestFinished,
}) => {
  const { app, db, finish } = await delivered(onTestFinished);
  expect((await finishRows(db, node(EARLY), [finish])).moved.size).toBe(1);
  expect((await finishRows(db, node(EARLY), [finish])).moved.size).toBe(0);
  await expectOnce(app);
});

test('a finish sent again while the first still runs on the server is recorded and counted once', async ({
  onTestFinished,
}) => {
  const { app, db, finish } = await delivered(onTestFinished);
  let again: ReturnType<typeof finishRows> | undefined;
  await db.hotTransaction(async (tx) => {
    expect((await finishDeliveries(tx, node(EARLY), [finish])).moved.size).toBe(1);
    again = finishRows(db, node(EARLY), [finish]);
    await eventually(
      () =>
        app.database.query(
          "select 1 from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()",
        ),
      { length: 1 },
    );
  });
  expect((await again)?.moved.size).toBe(0);
  await expectOnce(app);
});

test('rows leased by an unknown node are freed', async ({ onTestFinished }) => {
  const database = await createTestDatabase();
  const db = new Database({ connection: { connectionString: database.url }, connections: 4, log: quietLog });
  onTestFinished(async () => {
    await db.close();
    await database.stop();
  });
  await beat(db, nodeOf(EARLY));
  await database.query(
    `insert into delivery_queue (delivery_id, event_id, project_id, key, lane, due_at, node_id)
     values ('stray', 'e', 'p', 'k', 0, now(), $1), ('leased', 'e', 'p', 'k', 0, now(), $2)`,
    [LATE, EARLY],
  );
  expect((await beat(db, nodeOf(EARLY))).silent).toEqual([]);
  expect(await freeInPages(db, 10, 0)).toEqual({ freed: 1, nextPage: 0 });
  expect(await database.query('select delivery_id, node_id, fence from delivery_queue order by 1')).toEqual([
    { delivery_id: 'leased', node_id: EARLY, fence: 1 },
    { delivery_id: 'stray', node_id: null, fence: 2 },
  ]);
});

test('a silent node is forgotten after a minute, unless it beats again', async ({ onTestFinished }) => {
  const database = await createTestDatabase();
  onTestFinished(() => database.stop());
  const db = database.open();
  const known = async () => (await database.query('select id from nodes order by id')).map(({ id }) => id);
  await beat(db, nodeOf(EARLY));
  await beat(db, nodeOf(LATE));
  await database.query("update nodes set beat_at = now() - interval '61 seconds'");
  expect((await beat(db, nodeOf(EARLY))).silent).toEqual([{ id: LATE, isForgettable: true }]);
  await forgetNodes(db, [EARLY, LATE]);
  expect(await known()).toEqual([EARLY]);
  await leave(db, EARLY);
  expect(await known()).toEqual([]);
});

test('an event stored by a batch whose answer was lost keeps its deliveries when it is sent again', async ({
  onTestFinished,
}) => {
  const app = await startTestApp();
  const receiver = await Receiver.start();
  onTestFinished(async () => {
    await app.stop();
    await receiver.stop();
  });
  await subscribe(app.project, receiver.url, { eventTypes: ['lost'] });
  const answers = await Promise.all(
    Array.from({ length: 40 }, async (_, n) => {
      // Connections break while batches run. Some commit, and their answers are lost.
      if (n % 8 === 0)
        await app.database.query(
          `select pg_terminate_backend(pid) from pg_stat_activity
           where datname = current_database() and pid <> pg_backend_pid() and query like '%new_deliveries%'`,
        );
      return app.project.raw('POST', '/events/broadcast', {
        body: { event_type: 'lost', data: { n }, idempotency_key: `key-${n}` },
      });
    }),
  );
  const accepted = answers.filter((answer) => answer.status === 201).length;
  expect(accepted + answers.filter((answer) => answer.status === 503).length).toBe(40);
  await eventually(() => app.database.query('select delivery_id, node_id from delivery_queue'), {
    length: 0,
  });
  const [doubled] = await app.database.query(
    `select count(*)::int as events from (
       select event_id from event_deliveries group by event_id having count(*) <> 1) d`,
  );
  expect(doubled).toEqual({ events: 0 });
  expect(await app.database.query('select id from events where is_duplicate')).toEqual([]);
  expect(receiver.requests.length).toBeGreaterThanOrEqual(accepted);
});

test('an event stored again with another match gets no second set of deliveries', async ({
  onTestFinished,
}) => {
  const app = await startTestApp({ POSTHORN_ROLES: 'api' });
  onTestFinished(() => app.stop());
  const { endpoint } = await subscribe(app.project, 'http://127.0.0.1:9/', { eventTypes: ['again'] });
  const [project] = await app.database.query('select id, version::int from projects');
  const ids = new IdFactory(Date.now);
  const eventId = ids.next<EventId>();
  const store = (deliveryId: DeliveryId) =>
    acceptEvents(app.app.db, {
      events: [eventRow(eventId, project as { id: ProjectId; version: number }, endpoint.uid)],
      deliveries: [
        deliveryRow(deliveryId, eventId, { projectId: asId(app.projectId), endpointId: endpoint.uid }),
      ],
      expansions: [],
      nodeId: EARLY,
    });
  const [first, second] = [ids.next<DeliveryId>(), ids.next<DeliveryId>()];
  expect(await store(first)).toMatchObject({ duplicates: new Map(), knownEvents: new Set() });
  expect(await store(second)).toMatchObject({ duplicates: new Map(), knownEvents: new Set([eventId]) });
  expect(await app.database.query('select id from event_deliveries')).toEqual([{ id: first }]);
  expect(await app.database.query('select delivery_id as id from delivery_queue')).toEqual([{ id: first }]);
});

function eventRow(
  id: EventId,
  project: { id: ProjectId; version: number },
  endpointId: EndpointId,
): EventRow {
  return {
    id,
    projectId: project.id,
    configVersion: project.version,
    eventType: 'again',
    sourceId: null,
    appId: null,
    status: 'Success',
    failureReason: null,
    sourceFunctionFailed: false,
    idempotencyKey: 'a key',
    endpointIds: [endpointId],
    headers: null,
    payload: Buffer.from('{}'),
    contentType: null,
    urlQueryParams: null,
    urlPath: null,
    metadata: null,
    forwardedHeaders: null,
    target: null,
    orderingKey: null,
    acknowledgedAtMs: Date.now(),
    deliverAtMs: null,
    expiresAtMs: null,
  };
}

function deliveryRow(
  id: DeliveryId,
  eventId: EventId,
  { projectId, endpointId }: { projectId: ProjectId; endpointId: EndpointId },
): NewDelivery {
  return {
    id,
    projectId,
    eventId,
    endpointId,
    subscriptionId: null,
    eventType: 'again',
    deliveryMode: 'at_least_once',
    retry: { strategy: 'linear', intervalSeconds: 10, maxRetrySeconds: 7_200, retryLimit: 3, schedule: null },
    key: endpointId,
    orderingId: null,
    isUngated: true,
    leased: true,
    dueAtMs: null,
    expiresAtMs: null,
  };
}

const node = (nodeId: string) => ({ nodeId, templates: new AttemptTemplates() });
