import { describe, expect, test } from 'vitest';
import { Batch } from '../../src/domain/config/batch.ts';
import {
  BATCH_LANE,
  LANE,
  type LeasedBatch,
  type LeasedDelivery,
  WAITS_FOR_TURN,
} from '../../src/domain/delivery.ts';
import { asId, IdFactory, type MetaEventId, type SubscriptionId } from '../../src/domain/ids.ts';
import { metaQueueKey } from '../../src/domain/meta-event.ts';
import { back } from '../../src/engine/attempt/sent.ts';
import { groupFinish } from '../../src/engine/batching/regroup.ts';
import { discardHeld } from '../../src/engine/upkeep/discard-held.ts';
import { Duty } from '../../src/engine/upkeep/duty.ts';
import { createMetrics } from '../../src/metrics/metrics.ts';
import { usualOf } from '../../src/platform/json/schema-marks.ts';
import type { ConfigCache } from '../../src/routing/config-cache.ts';
import { AttemptTemplates } from '../../src/store/attempts/attempt-templates.ts';
import { formBatches } from '../../src/store/batching/form-batches.ts';
import { healMembers, lostMembers } from '../../src/store/batching/heal-members.ts';
import { measureBatch, takeBatch } from '../../src/store/batching/take-batch.ts';
import type { Database } from '../../src/store/database/database.ts';
import { isUndone } from '../../src/store/database/pg-errors.ts';
import { claimRows } from '../../src/store/queue/claim.ts';
import type { Finish } from '../../src/store/queue/finish.ts';
import { finishRows } from '../../src/store/queue/finish-rows.ts';
import { MetaEventRecorder } from '../../src/store/queue/meta-event-recorder.ts';
import { startTestApp } from '../support/app.ts';
import { quietLog } from '../support/quiet-log.ts';
import { endedJob } from '../support/settled.ts';
import { shared } from '../support/shared.ts';
import { numbers, scene } from './scene.ts';

/** Leases of a batch and of its deliveries that end at different times. */
const app = await shared(startTestApp());
const db = app.database.open();
const ids = new IdFactory(Date.now);
const NODE = 'node a';
const DAY_MS = 86_400_000;
const at = { nodeId: NODE, templates: new AttemptTemplates() };
// A living node, so that the app does not free its rows.
await app.database.query(
  `insert into nodes (id, roles, beat_at, seal_keys, knows) values
     ($1, '', now() + interval '1 day', '{}', '9999'), ('another node', '', now() + interval '1 day', '{}', '9999')`,
  [NODE],
);

/** A batch of two deliveries that NODE has claimed, behind a pause that keeps the app away until `resume`. */
async function claimed(subscription: object = {}, event: object = {}) {
  const made = await scene(app, { max: 2, max_wait_seconds: 300 }, { subscription });
  const { client, endpoint } = made;
  const pause = () => client.put(`/endpoints/${endpoint.uid}/pause`);
  await pause();
  await made.send(2, { event });
  const key = asId<SubscriptionId>(made.subscription.uid);
  await formBatches(db, NODE, [
    { key, batch: { ...usualOf(Batch.properties), max: 2 }, batchIds: [ids.next()], hasUnplaced: false },
  ]);
  const claim = async () => {
    const [first] = await claimRows(db, {
      nodeId: NODE,
      wants: [{ key, lane: BATCH_LANE.formed, count: 10 }],
      free: 1_000,
    });
    return (first?.deliveries ?? []) as LeasedBatch[];
  };
  const [batch] = (await claim()) as [LeasedBatch];
  const rows = (columns: string) =>
    app.database.query(`select ${columns} from delivery_queue where project_id = $1 order by delivery_id`, [
      client.projectId,
    ]);
  const free = (id: string) =>
    app.database.query(
      'update delivery_queue set node_id = null, fence = fence + 1 where project_id = $1 and delivery_id = $2',
      [client.projectId, id],
    );
  return { ...made, batch, claim, rows, free, resume: pause };
}

const succeeded = (delivery: LeasedDelivery): Finish => ({
  ...back(delivery),
  status: 'Success',
  delayMs: null,
  numTrials: 1,
});

const finished = (batch: LeasedBatch, members: readonly LeasedDelivery[]) => {
  const group = { members: members.map(succeeded), parts: [] };
  return finishRows(db, at, [groupFinish(batch, group, { delayMs: null })]);
};

const taken = async (batch: LeasedBatch) => (await takeBatch(db, NODE, batch, true)) as LeasedDelivery[];

const begun = ({ id }: LeasedBatch) =>
  app.database.query('update delivery_queue set is_started = true where delivery_id = $1', [id]);

test('a batch is measured with the headers of its deliveries, which the limits of a batch do not count', async () => {
  const plain = await claimed();
  expect(await measureBatch(db, plain.batch)).toEqual({ payloadBytes: 2 * '{"n":1}'.length, textBytes: 0 });
  const value = 'h'.repeat(5_000);
  const long = await claimed({}, { custom_headers: { 'x-long': value } });
  const textBytes = 2 * JSON.stringify({ 'x-long': [value] }).length;
  expect(await measureBatch(db, long.batch)).toEqual({ payloadBytes: 14, textBytes });
});

describe('a delivery that was freed while its batch was sent', () => {
  test('keeps the row of its batch, and goes on in a batch with another id', async () => {
    const { batch, free, rows, resume, ended, receiver } = await claimed();
    const members = await taken(batch);
    await free(members[1]?.id as string);
    const { moved } = await finished(batch, members);
    expect(moved).toEqual(new Set([members[0]?.id, batch.id]));
    expect(await rows('delivery_id, node_id')).toEqual([
      { delivery_id: members[1]?.id, node_id: null },
      { delivery_id: batch.id, node_id: null },
    ]);
    await resume();
    const deliveries = await ended(2);
    expect(deliveries.map(({ status }) => status)).toEqual(['Success', 'Success']);
    expect(receiver.requests.map(numbers)).toEqual([[2]]);
    expect(receiver.requests[0]?.headers['webhook-id']).not.toBe(batch.id);
    expect(await rows('lane')).toEqual([]);
  });

  test('is not sent again if it is to be sent at most once', async () => {
    const { batch, free, resume, ended, receiver } = await claimed({ delivery_mode: 'at_most_once' });
    const members = await taken(batch);
    await begun(batch);
    await free(members[1]?.id as string);
    await finished(batch, members);
    await resume();
    const deliveries = await ended(2);
    expect(deliveries.map(({ status }) => status)).toEqual(['Success', 'Failure']);
    expect(receiver.requests).toEqual([]);
  });
});

test('deliveries whose batch was freed while they were sent keep their outcomes, with their meta events', async () => {
  const { batch, free, rows, claim } = await claimed();
  const members = await taken(batch);
  // A reaper frees rows page by page. That of the batch comes first here.
  await free(batch.id);
  const retry = {
    strategy: 'linear',
    intervalSeconds: 1,
    maxRetrySeconds: 1,
    retryLimit: 1,
    schedule: null,
  } as const;
  const finishes = members.map((delivery) => {
    const { projectId } = delivery;
    const metaEvent = {
      projectId,
      eventType: 'eventdelivery.success',
      payload: Buffer.from('{}'),
      retry,
    } as const;
    return { ...succeeded(delivery), metaEvent: { ...metaEvent, id: ids.next<MetaEventId>() } };
  });
  const group = { members: finishes, parts: [] };
  const { moved } = await finishRows(db, at, [groupFinish(batch, group, { delayMs: null })]);
  expect(moved).toEqual(new Set(members.map(({ id }) => id)));
  const stored = await app.database.query('select id from meta_events where project_id = $1 order by id', [
    batch.projectId,
  ]);
  expect(stored.map(({ id }) => id)).toEqual(finishes.map(({ metaEvent }) => metaEvent.id).toSorted());
  // The next node finds nothing to send.
  const [again] = (await claim()) as [LeasedBatch];
  expect(await takeBatch(db, NODE, again, true)).toEqual([]);
  await finished(again, []);
  expect(await rows('kind')).not.toContainEqual({ kind: 2 });
});

describe('a delivery behind the head of its key', () => {
  const ofOneKey = { ordering: { key: 'endpoint' } };
  const places = (projectId: string) =>
    app.database.query('select delivery_id from ordered_deliveries where project_id = $1', [projectId]);

  test('goes on if the head was freed and cancelled while its node had the batch', async () => {
    const { client, batch, free, resume, ended, receiver } = await claimed(ofOneKey);
    const [head, behind] = (await taken(batch)) as [LeasedDelivery, LeasedDelivery];
    expect([head.isBehind, behind.isBehind]).toEqual([false, true]);
    await free(head.id);
    const path = `/eventdeliveries/cancel?eventId=${head.eventId}`;
    await endedJob(client, await client.post(path, undefined, 200));
    const lane = LANE.first + WAITS_FOR_TURN;
    const group = { members: [{ ...back(behind), lane, delayMs: 0 }], parts: [] };
    const { released } = await finishRows(db, at, [groupFinish(batch, group, { delayMs: null })]);
    expect(released).toMatchObject([{ key: batch.key, lane: LANE.first }]);
    await resume();
    expect((await ended(2)).map(({ status }) => status)).toEqual(['Discarded', 'Success']);
    expect(receiver.requests.map(numbers)).toEqual([[2]]);
  });

  test('keeps its place if it was freed, though the outcome of its node ends it', async () => {
    const { client, batch, free, resume, ended, receiver } = await claimed(ofOneKey);
    const [head, behind] = (await taken(batch)) as [LeasedDelivery, LeasedDelivery];
    await free(behind.id);
    expect((await finished(batch, [behind])).moved).toEqual(new Set([batch.id]));
    expect(await places(client.projectId as string)).toEqual([{ delivery_id: behind.id }]);
    await free(head.id);
    await resume();
    await ended(2);
    expect(receiver.requests.flatMap(numbers)).toEqual([1, 2]);
  });
});

test('a batch at most once whose sending had begun is not sent, though its deliveries are free later than itself', async () => {
  const { batch, claim, free, rows, resume, ended, receiver } = await claimed({
    delivery_mode: 'at_most_once',
  });
  const members = await taken(batch);
  await begun(batch);
  // Its node died here. Of its rows that of the batch is freed first.
  await free(batch.id);
  await app.database.query(`update delivery_queue set node_id = 'another node' where batch_id = $1`, [
    batch.id,
  ]);
  const [again] = (await claim()) as [LeasedBatch];
  expect(await takeBatch(db, NODE, again, true)).toBeNull();
  await finishRows(db, at, [groupFinish(again, { members: [], parts: [] }, { delayMs: 0 })]);
  expect(await rows('is_started')).toEqual([
    { is_started: false },
    { is_started: false },
    { is_started: true },
  ]);
  for (const { id } of members) await free(id);
  await resume();
  expect((await ended(2)).map(({ status }) => status)).toEqual(['Failure', 'Failure']);
  expect(receiver.requests).toEqual([]);
});

test.each([
  ['of batches', 'claim-formed', 'claim-deliveries'],
  ['of deliveries', 'claim-deliveries', 'claim-formed'],
  ['of meta events', 'claim-meta-events', 'claim-deliveries'],
])(
  'a claim %s that fails says that others may be committed, after they are',
  async (_name, failing, other) => {
    const { batch } = await claimed();
    const committed: string[] = [];
    const half = {
      hot: async (name: string, text: string, values: unknown[]) => {
        if (name === failing) throw Object.assign(new Error('canceled'), { code: '57014' });
        const rows = await db.hot(name, text, values);
        committed.push(name);
        return rows;
      },
    } as unknown as Database;
    const isOfMetaEvents = failing === 'claim-meta-events';
    const wants = [
      { key: batch.key, lane: LANE.first, count: 1 },
      isOfMetaEvents
        ? { key: metaQueueKey(batch.projectId), lane: LANE.first, count: 1 }
        : { key: batch.key, lane: BATCH_LANE.formed, count: 1 },
    ];
    const error: unknown = await claimRows(half, { nodeId: NODE, wants, free: 1_000 }).catch(
      (thrown: unknown) => thrown,
    );
    expect(committed).toEqual([other]);
    expect(isUndone(error)).toBe(false);
    expect(isUndone((error as Error).cause)).toBe(true);
  },
);

test('a batch goes on without a delivery that has lost its event, and ends with the last one', async () => {
  const { client, batch, rows, claim } = await claimed();
  const [one, other] = (await rows('event_id')) as { event_id: string }[];
  const lose = (event: { event_id: string } | undefined) =>
    app.database.query('delete from events where project_id = $1 and id = $2', [
      client.projectId,
      event?.event_id,
    ]);
  await lose(one);
  expect(await taken(batch)).toHaveLength(1);
  await lose(other);
  expect(await takeBatch(db, NODE, batch, true)).toEqual([]);
  await finished(batch, []);
  expect(await rows('kind')).toEqual([{ kind: 0 }, { kind: 0 }]);
  expect(await claim()).toEqual([]);
});

describe('deliveries whose batch has no row', () => {
  const heal = async () =>
    Promise.all((await lostMembers(db)).map((lost) => healMembers(db, lost, ids.next())));
  const orphaned = async (subscription: object = {}) => {
    const made = await claimed(subscription);
    await app.database.query('delete from delivery_queue where delivery_id = $1', [made.batch.id]);
    return made;
  };
  const lost = async (subscription: object = {}) => {
    const made = await orphaned(subscription);
    expect(await heal()).toMatchObject([{ key: made.batch.key }]);
    await made.resume();
    return made;
  };

  test('go on in a new one', async () => {
    const { ended, receiver } = await lost();
    await ended(2);
    expect(receiver.requests.map(numbers)).toEqual([[1, 2]]);
    expect(await heal()).toEqual([]);
  });

  test('are in none without the one before them in their key', async () => {
    const { batch, rows, free, receiver, resume } = await orphaned({
      ordering: { key: 'endpoint' },
    });
    const head = batch.deliveryIds[0] as string;
    await app.database.query(`update delivery_queue set node_id = 'another node' where delivery_id = $1`, [
      head,
    ]);
    await heal();
    expect(await rows('kind, lane')).toEqual([
      { kind: 0, lane: BATCH_LANE.member },
      { kind: 0, lane: LANE.retry + WAITS_FOR_TURN },
    ]);
    await free(head);
    await heal();
    await resume();
    expect((await receiver.received(2)).map(numbers)).toEqual([[1], [2]]);
  });

  test('fail if they are to be sent at most once, because they may have been sent', async () => {
    const { ended, receiver } = await lost({ delivery_mode: 'at_most_once' });
    expect((await ended(2)).map(({ status }) => status)).toEqual(['Failure', 'Failure']);
    expect(receiver.requests).toEqual([]);
  });
});

test('a batch that is held for twice the retention goes with its deliveries, and is none itself', async () => {
  const { batch, free, rows, deliveries } = await claimed();
  await free(batch.id);
  const [open] = await app.database.query('select count(*)::int from delivery_queue where kind <> 2');
  const { metrics } = createMetrics();
  const discarded = await discardHeld(
    {
      db,
      cache: { getOrNull: async () => null } as unknown as ConfigCache,
      metaEvents: new MetaEventRecorder({ ids, maxRetrySeconds: 1 }),
      metrics,
      metaEventsStored: () => {},
      released: () => {},
      duty: new Duty({ metrics, log: quietLog }, { duty: 'discard', retryInMs: 0 }),
    },
    { nowMs: Date.now() + 70 * DAY_MS, retentionMs: 30 * DAY_MS },
    new AbortController().signal,
  );
  expect(discarded).toBe(open?.count);
  expect(await rows('kind')).toEqual([]);
  expect((await deliveries()).map(({ status }) => status)).toEqual(['Discarded', 'Discarded']);
});
