import { expect, test } from 'vitest';
import type { LeasedDelivery } from '../../src/domain/delivery.ts';
import { asId, type EndpointId } from '../../src/domain/ids.ts';
import { AttemptTemplates } from '../../src/store/attempts/attempt-templates.ts';
import { returnRateLeases, takeRateLeases } from '../../src/store/limits/rate-leases.ts';
import { claimDeliveries } from '../../src/store/queue/claim.ts';
import { finishDeliveries } from '../../src/store/queue/finish-deliveries.ts';
import { beat, freeInPages } from '../../src/store/queue/nodes.ts';
import {
  handOutDeliveries,
  putBackDeliveries,
  takeForConsumer,
} from '../../src/store/queue/pull-deliveries.ts';
import { markStarted } from '../../src/store/queue/release-rows.ts';
import { startTestApp, subscribe } from '../support/app.ts';
import { finishOf } from '../support/samples/finish-of.ts';
import { shared } from '../support/shared.ts';

/**
 * The counterexamples that TLC finds without a guard, step by step against the real statements. The app has no deliver
 * role: the test acts as the nodes, so that each order of events is exact. Names in brackets are those of model/README.md.
 */
const app = await shared(startTestApp({ POSTHORN_ROLES: 'api' }));
const { db } = app.app;
const ONE = 'node-one';
const TWO = 'node-two';
const templates = new AttemptTemplates();

let made = 0;
/** A delivery that waits, and its endpoint. */
async function waiting(endpoint: object = {}, subscription: object = {}) {
  made += 1;
  const eventType = `trace.${made}`;
  const subscribed = await subscribe(app.project, 'http://127.0.0.1:9/', {
    eventTypes: [eventType],
    endpoint,
    subscription,
  });
  await app.project.post('/events/broadcast', { event_type: eventType, data: {} });
  return asId<EndpointId>(subscribed.endpoint.uid);
}

const beats = (id: string) => beat(db, { id, roles: 'deliver', knows: '', sealKeys: [], inFlightFrom: '' });
const isSilent = (id: string, seconds = 11) =>
  app.database.query(
    "update nodes set beat_at = clock_timestamp() - $2 * interval '1 second' where id = $1",
    [id, seconds],
  );

async function claim(nodeId: string, key: EndpointId, lane = 0): Promise<LeasedDelivery | undefined> {
  await beats(nodeId);
  const [taken] = await claimDeliveries(db, { nodeId, wants: [{ key, lane, count: 1 }], free: 1_000 });
  return taken?.deliveries[0];
}

const leased = async (...args: Parameters<typeof claim>) => (await claim(...args)) as LeasedDelivery;

let attempts = 0;
const finish = async (nodeId: string, delivery: LeasedDelivery, status: 'Success' | 'Failure' | 'Retry') => {
  attempts += 1;
  const outcome = finishOf(delivery, `0000000000000000000000${String(attempts).padStart(4, '0')}`, status);
  return (await finishDeliveries(db, { nodeId, templates }, [outcome])).moved.size;
};

const stateOf = async ({ id }: { id: string }) =>
  (
    await app.database.query(
      'select d.status, q.node_id, q.fence is not null as queued from event_deliveries d left join delivery_queue q on q.delivery_id = d.id where d.id = $1',
      [id],
    )
  )[0];

test('a row that a node leases is claimed by no other [CLAIMS_FREE_ROWS]', async () => {
  const key = await waiting();
  expect(await claim(ONE, key)).toBeDefined();
  expect(await claim(TWO, key)).toBeUndefined();
});

test('a finish sent again after its delivery was claimed again by the same node moves nothing [CHECKS, FENCE_GROWS]', async () => {
  const key = await waiting();
  const first = await leased(ONE, key);
  expect(await finish(ONE, first, 'Retry')).toBe(1);
  const again = await leased(ONE, key, first.lane);
  expect(await finish(ONE, first, 'Failure')).toBe(0);
  expect(await stateOf(first)).toEqual({ status: 'Retry', node_id: ONE, queued: true });
  expect(await finish(ONE, again, 'Success')).toBe(1);
  expect(await stateOf(first)).toEqual({ status: 'Success', node_id: null, queued: false });
});

test('the outcome from before a cancel does not end the delivery that was resent [FENCE_GOES_ON]', async () => {
  const key = await waiting();
  const first = await leased(ONE, key);
  // As the job of a cancel does it.
  await app.database.query(
    `with gone as (delete from delivery_queue where delivery_id = $1 returning delivery_id)
     update event_deliveries set status = 'Discarded' where id in (select delivery_id from gone)`,
    [first.id],
  );
  await app.project.put(`/eventdeliveries/${first.id}/resend`, undefined, 200);
  const [row] = await app.database.query('select lane from delivery_queue where delivery_id = $1', [
    first.id,
  ]);
  const again = await leased(ONE, key, row?.['lane'] as number);
  expect(again.id).toBe(first.id);
  expect(await finish(ONE, first, 'Failure')).toBe(0);
  expect((await stateOf(first))?.['status']).toBe('Scheduled');
});

test('a claim of a silent node that commits after its rows were freed is freed by the next walk [REAPS_AGAIN]', async () => {
  const key = await waiting();
  const first = await leased(ONE, key);
  await beats(TWO);
  await isSilent(ONE);
  await freeInPages(db, 10, 0);
  expect(await stateOf(first)).toMatchObject({ node_id: null });
  const [late] = await claimDeliveries(db, { nodeId: ONE, wants: [{ key, lane: 0, count: 1 }], free: 1_000 });
  expect(late?.deliveries).toHaveLength(1);
  await freeInPages(db, 10, 0);
  expect(await stateOf(first)).toMatchObject({ node_id: null, queued: true });
});

test('a node that lost its row cannot begin an at-most-once delivery, and the next sees that it was begun [MARKS_STARTED, ENDS_STARTED]', async () => {
  const key = await waiting({}, { delivery_mode: 'at_most_once' });
  const first = await leased(ONE, key);
  await isSilent(ONE);
  await beats(TWO);
  await freeInPages(db, 10, 0);
  const second = await leased(TWO, key);
  expect([first.isStarted, second.isStarted]).toEqual([false, false]);
  expect([await markStarted(db, ONE, first), await markStarted(db, TWO, second)]).toEqual([false, true]);
  await beats(ONE);
  await isSilent(TWO);
  await freeInPages(db, 10, 0);
  expect((await leased(ONE, key)).isStarted).toBe(true);
});

test('a rate lease has one holder, which continues its own count alone [ONE_HOLDER, CHECKS_EPOCH, QUIET_AFTER_FRESH, WAITS_A_WINDOW]', async () => {
  const asked = [{ endpointId: 'limited', places: [] }];
  await beats(ONE);
  await beats(TWO);
  const [mine] = await takeRateLeases(db, ONE, asked);
  expect(await takeRateLeases(db, TWO, asked)).toEqual([]);
  expect(await takeRateLeases(db, ONE, asked)).toMatchObject([{ epoch: mine?.epoch }]);
  await isSilent(ONE);
  const [taken] = await takeRateLeases(db, TWO, asked);
  // 11 s of silence: the last send of the silent node began at most 8 s after its last beat, so 3 s ago.
  expect(taken).toMatchObject({ epoch: (mine?.epoch ?? 0) + 1, sends: null });
  expect(taken?.quietMs).toBeGreaterThanOrEqual(3_000);
  expect(taken?.quietMs).toBeLessThan(8_000);
  await beats(ONE);
  expect(await takeRateLeases(db, ONE, asked)).toEqual([]);
});

test('a holder that stops leaves its sends to the next [PASSES_SENDS]', async () => {
  const asked = [{ endpointId: 'stopping', places: [] }];
  await takeRateLeases(db, ONE, asked);
  await returnRateLeases(db, ONE, [{ endpointId: 'stopping', sends: { stopping: [700, 20] } }]);
  expect(await takeRateLeases(db, TWO, asked)).toMatchObject([{ sends: { stopping: [700, 20] } }]);
});

test('a pulled row is given and ended under its fence alone [FENCES_HAND_OUT, FENCES_RESULTS, UNTRIED_IF_NOT_GIVEN]', async () => {
  const key = await waiting({ delivery: 'pull' });
  const take = async () =>
    (await takeForConsumer(db, { wants: [{ key, lane: 0 }], max: 1, maxBytes: 1_000 }))[0] as LeasedDelivery;
  const give = (delivery: LeasedDelivery) =>
    handOutDeliveries(db, {
      leaseSeconds: 60,
      rows: [{ ...delivery, headers: '{}', body: null, functionRequest: null }],
    });
  const report = async (delivery: LeasedDelivery) => {
    const result = finishOf(delivery, '00000000000000000000009999', 'Success');
    return (await finishDeliveries(db, { nodeId: null, templates }, [result])).moved.size;
  };
  const slow = await take();
  await putBackDeliveries(db, [slow]);
  const current = await take();
  expect([(await give(slow)).size, (await give(current)).size]).toEqual([0, 1]);
  expect(await report(slow)).toBe(0);
  await app.database.query('update delivery_queue set due_at = now() where delivery_id = $1', [current.id]);
  expect(await report(current)).toBe(0);
  const [row] = await app.database.query('select lane from delivery_queue where delivery_id = $1', [
    current.id,
  ]);
  expect((await leased(ONE, key, row?.['lane'] as number)).pulled).not.toBeNull();
  expect((await stateOf(current))?.['status']).toBe('Scheduled');
});
