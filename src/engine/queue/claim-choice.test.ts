import { expect, test } from 'vitest';
import { ManualClock } from '../../../test/support/samples/manual-clock.ts';
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
  keys.add({ projectId: 'project', key, lane: 0, dueAt, notifiedAt: dueAt, isOwn: true });
  const group = new RateGroup({ epoch: 1, quietMs: 60_000, sends: {} }, clock);
  const choice = new ClaimChoice({
    clock,
    keys,
    rateLeases: { groupOf: () => group },
    dispatcher: {
      free: 2_000,
      projectRoom: () => 1_500,
      room: () => 1_000,
      share: 1_000,
      isBusy: () => true,
    },
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
  return { count: chosen?.want.count, moreInMs: (chosen?.limited?.moreAt ?? 0) - clock.elapsed() };
}

test('a key under a low limit is claimed some seconds ahead, and not again at once', async () => {
  const { count, moreInMs } = await chooseLimited(10);
  expect(count).toBe(30);
  expect(moreInMs).toBeGreaterThan(100);
});

test('a key under a high limit, of which a round takes only a part, is claimed again at once', async () => {
  const { count, moreInMs } = await chooseLimited(1_000);
  expect(count).toBe(400);
  expect(moreInMs).toBeLessThanOrEqual(0);
});

/** The rows that each of many due keys of the lanes gets. No endpoint has a limit. */
function chooseOf(lanes: Iterable<number>, keysPerLane: number, dispatcher: object) {
  const clock = new ManualClock();
  const keys = new DueKeys(clock);
  for (const lane of lanes)
    for (let n = 0; n < keysPerLane; n += 1)
      keys.add({
        projectId: 'project',
        key: asId<EndpointId>(`endpoint ${lane} ${n}`),
        lane,
        dueAt: 0,
        notifiedAt: 0,
        isOwn: true,
      });
  const choice = new ClaimChoice({
    clock,
    keys,
    dispatcher: {
      free: 2_000,
      share: 1_000,
      projectRoom: () => 1_500,
      room: () => 1_000,
      isBusy: () => false,
      ...dispatcher,
    },
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
  return choice.choose().chosen.map(({ want }) => want);
}

test.each([
  [2_000, [20, 200, 120, 40, 20]],
  [100, [5, 50, 30, 10, 5]],
])('with room for %i rows each lane with many due rows gets its share of a round', (free, shares) => {
  const wants = chooseOf(LANE_SHARES.keys(), 20, { free });
  const taken = [...LANE_SHARES.keys()].map((lane) =>
    wants.filter((want) => want.lane === lane).reduce((sum, { count }) => sum + count, 0),
  );
  expect(taken).toEqual(shares);
});

test.each([
  [1, [400]],
  [4, [100, 100, 100, 100]],
  [20, Array.from({ length: 8 }, () => 50)],
])('%i due keys share a round, and each gets fifty rows at least', (keys, counts) => {
  expect(chooseOf([0], keys, {}).map(({ count }) => count)).toEqual(counts);
});

test.each([
  { share: 1_000, room: 124, counts: [] },
  { share: 1_000, room: 125, counts: [125] },
  { share: 100, room: 12, counts: [] },
  { share: 100, room: 13, counts: [13] },
  { share: 1, room: 1, counts: [1] },
])(
  'a busy endpoint that may have $share places and has room for $room gets $counts',
  ({ share, room, counts }) => {
    const wants = chooseOf([0], 1, { share, room: () => room, isBusy: () => true });
    expect(wants.map(({ count }) => count)).toEqual(counts);
  },
);
