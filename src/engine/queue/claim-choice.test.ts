import { expect, test } from 'vitest';
import { ManualClock } from '../../../test/support/samples/manual-clock.ts';
import { BATCH_LANE, LANE } from '../../domain/delivery.ts';
import { asId, type EndpointId } from '../../domain/ids.ts';
import { RateGroup } from '../limits/rate-group.ts';
import { ClaimChoice, LANE_SHARES } from './claim-choice.ts';
import { DueKeys } from './due-keys.ts';

type Deps = ConstructorParameters<typeof ClaimChoice>[0];

/** The choice of a key that is due now and under a limit of so many a second. */
async function chooseLimited(perSecond: number) {
  const clock = new ManualClock();
  await clock.advance(60_000);
  const keys = new DueKeys(clock);
  const key = asId<EndpointId>('endpoint');
  const dueAt = clock.elapsed();
  keys.add({ projectId: 'project', key, lane: 0, dueAt, notifiedAt: dueAt, isOwn: true, misses: 0 });
  const group = new RateGroup({ epoch: 1, quietMs: 60_000, sends: {} }, clock);
  const choice = new ClaimChoice({
    clock,
    keys,
    rateLeases: { groupOf: () => group },
    dispatcher: { free: 2_000, projectRoom: () => 1_500, room: () => 1_000, isBusy: () => true },
    decideGate: () => ({
      open: true,
      endpointId: key,
      limits: [{ key, limit: { count: perSecond, durationMs: 1_000 } }],
      isProbe: false,
      probeSeconds: 0,
      breakerChangedMs: 0,
    }),
    probesUnderWay: () => 0,
    probeAgainMs: 1_000,
    sweepMs: 5_000,
  } as unknown as Deps);
  const [chosen] = choice.choose().chosen;
  return { ...chosen?.want, moreInMs: (chosen?.limited?.moreAt ?? 0) - clock.elapsed() };
}

test('a key under a low limit is claimed some seconds ahead, and not again at once', async () => {
  const { count, places, moreInMs } = await chooseLimited(10);
  // Large rows may take all the room of the endpoint.
  expect([count, places]).toEqual([30, 1_000]);
  expect(moreInMs).toBeGreaterThan(100);
});

test('a key under a high limit, of which a round takes only a part, is claimed again at once', async () => {
  const { count, moreInMs } = await chooseLimited(1_000);
  expect(count).toBe(50);
  expect(moreInMs).toBeLessThanOrEqual(0);
});

/** A choice among keys without limits, each of an endpoint of its own. */
function choiceOf(
  due: readonly { key: string; lane: number }[],
  { free, room = 1_000 }: { free: number; room?: number },
): ClaimChoice {
  const clock = new ManualClock();
  const keys = new DueKeys(clock);
  for (const { key, lane } of due)
    keys.add({
      projectId: 'project',
      key: asId<EndpointId>(key),
      lane,
      dueAt: 0,
      notifiedAt: 0,
      isOwn: true,
      misses: 0,
    });
  return new ClaimChoice({
    clock,
    keys,
    dispatcher: { free, projectRoom: () => 1_500, room: () => room, isBusy: () => false },
    decideGate: ({ key }: { key: string }) => ({
      open: true,
      endpointId: key,
      limits: [],
      isProbe: false,
      probeSeconds: 0,
      breakerChangedMs: 0,
    }),
    probesUnderWay: () => 0,
    probeAgainMs: 1_000,
    sweepMs: 5_000,
  } as unknown as Deps);
}

test.each([
  [2_000, [20, 200, 120, 40, 20]],
  [100, [5, 50, 30, 10, 5]],
])('with room for %i rows each lane with many due rows gets its share of a round', (free, shares) => {
  const due = [...LANE_SHARES.keys()].flatMap((lane) =>
    Array.from({ length: 20 }, (_, n) => ({ key: `endpoint ${lane} ${n}`, lane })),
  );
  const { chosen } = choiceOf(due, { free }).choose();
  const taken = [...LANE_SHARES.keys()].map((lane) =>
    chosen.filter(({ want }) => want.lane === lane).reduce((sum, { want }) => sum + want.count, 0),
  );
  expect(taken).toEqual(shares);
});

test.each([10, 25, 29])('of small rounds of %i rows, too, each lane gets about its share', (rows) => {
  const due = [...LANE_SHARES.keys()].flatMap((lane) =>
    Array.from({ length: 20 }, (_, n) => ({ key: `endpoint ${lane} ${n}`, lane })),
  );
  const choice = choiceOf(due, { free: 2_000 });
  const taken = new Map<number, number>();
  for (let round = 0; round < 100; round += 1)
    for (const { want } of choice.choose(rows).chosen)
      taken.set(want.lane, (taken.get(want.lane) ?? 0) + want.count);
  for (const [lane, share] of LANE_SHARES)
    expect((taken.get(lane) ?? 0) / (rows * 100)).toBeGreaterThan(share * 0.7);
});

test.each([
  { keys: 1, free: 2_000, counts: [150] },
  { keys: 3, free: 2_000, counts: [133, 133, 133] },
  { keys: 8, free: 2_000, counts: Array(8).fill(50) },
  { keys: 1, free: 2_000, room: 70, counts: [70] },
  { keys: 2, free: 120, counts: [60, 60] },
])('a round of $keys keys gives them what is left of it', ({ keys, free, room, counts }) => {
  const due = Array.from({ length: keys }, (_, n) => ({ key: `endpoint ${n}`, lane: LANE.first }));
  const { chosen } = choiceOf(due, { free, ...(room !== undefined && { room }) }).choose();
  expect(chosen.map(({ want }) => want.count)).toEqual(counts);
});

test('a round does not take more batches of a key than before, nor more rows while others have new events', () => {
  const formed = [{ key: 'endpoint', lane: BATCH_LANE.formed }];
  expect(choiceOf(formed, { free: 2_000 }).choose().chosen[0]?.want.count).toBe(50);
  const first = [{ key: 'endpoint', lane: LANE.first }];
  expect(choiceOf(first, { free: 2_000 }).choose(25).chosen[0]?.want.count).toBe(25);
});

test('while keys wait that a round had no look at, it gives those that it chose no more', () => {
  const due = Array.from({ length: 8 }, (_, n) => ({ key: `endpoint ${n}`, lane: LANE.first }));
  const retry = { key: 'retries', lane: LANE.retry };
  const { chosen } = choiceOf([...due, retry], { free: 400 }).choose();
  expect(chosen.map(({ want }) => want.count)).toEqual([50, 50, 50, 50, 50]);
});
