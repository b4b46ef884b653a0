import { expect, test } from 'vitest';
import { quietLog } from '../../../test/support/quiet-log.ts';
import { NOON } from '../../../test/support/samples/leased-delivery.ts';
import { ManualClock } from '../../../test/support/samples/manual-clock.ts';
import { countTurns } from '../../../test/support/suite/count-turns.ts';
import { BATCH_LANE } from '../../domain/delivery.ts';
import { asId, type EndpointId, firstIdAt } from '../../domain/ids.ts';
import { createMetrics } from '../../metrics/metrics.ts';
import { type Clock, systemClock } from '../../platform/time/clock.ts';
import { RateGroup } from '../limits/rate-group.ts';
import { Claimer, type ClaimerDeps } from './claimer.ts';
import type { GateDecision } from './gates.ts';
import { Lease } from './lease.ts';

const openGate = ({ key }: { key: string }): GateDecision => ({
  open: true,
  endpointId: key,
  limits: [],
  isProbe: false,
  probeSeconds: 15,
  breakerChangedMs: 0,
});

function freshLease(clock: Clock): Lease {
  const lease = new Lease(clock);
  lease.confirmed(clock.now(), clock.elapsed());
  return lease;
}

const ROOM = { free: 100, projectRoom: () => 75, room: () => 50, isBusy: () => false };

/** A claimer whose claims `hot` answers. Every gate is open, and there is room. */
function claimerOn(
  hot: (name: string, text: string, values: unknown[]) => Promise<object[]>,
  deps: object = {},
) {
  const clock = systemClock;
  const usual = { nodeId: 'node', clock, dispatcher: ROOM, decideGate: openGate };
  return new Claimer({ ...usual, lease: freshLease(clock), db: { hot }, ...deps } as unknown as ClaimerDeps);
}

/** A claimer that never claims, because every gate is closed. The keys it checks show which ones it considers due. */
function claimerAsking(decideGate: (key: string) => void, deps: object = {}) {
  const closed = (key: string): GateDecision => ({ open: false, endpointId: key, againInMs: 60_000 });
  return new Claimer({
    clock: systemClock,
    ...deps,
    lease: freshLease(systemClock),
    dispatcher: { free: 100, projectRoom: () => 75 },
    decideGate: ({ key }: { key: string }) => {
      decideGate(key);
      return closed(key);
    },
  } as unknown as ClaimerDeps);
}

test('a key that becomes due while a round is choosing gets the next round, without a sweep', async () => {
  const asked: string[] = [];
  let nextDueAt = Number.POSITIVE_INFINITY;
  const answered = new Promise<void>((resolve) => {
    const claimer = claimerAsking((key) => {
      asked.push(key);
      // The round is still busy with another key at that moment.
      if (key === 'busy') while (performance.now() <= nextDueAt);
      else resolve(claimer.stop());
    });
    claimer.waiting({ projectId: 'project', key: asId<EndpointId>('busy'), lane: 0 }, 0);
    claimer.waiting({ projectId: 'project', key: asId<EndpointId>('next'), lane: 0 }, 20);
    nextDueAt = performance.now() + 20;
  });
  await answered;
  expect(asked[0]).toBe('busy');
});

test('a key behind a closed gate is checked once, however often others are due', async () => {
  const asked: string[] = [];
  let notified = (_key: string) => {};
  const claimer = claimerAsking((key) => {
    asked.push(key);
    notified(key);
  });
  const askedAbout = (wanted: string) =>
    new Promise<void>((resolve) => {
      notified = (key) => {
        if (key === wanted) resolve();
      };
    });
  const lastShut = askedAbout('shut 999');
  for (let n = 0; n < 1_000; n += 1)
    claimer.waiting({ projectId: 'project', key: asId<EndpointId>(`shut ${n}`), lane: 0 }, 0);
  await lastShut;
  for (let n = 0; n < 20; n += 1) {
    const next = askedAbout(`other ${n}`);
    claimer.waiting({ projectId: 'other', key: asId<EndpointId>(`other ${n}`), lane: 0 }, 0);
    claimer.waiting({ projectId: 'project', key: asId<EndpointId>('shut 7'), lane: 0 }, 0);
    claimer.roomFreed();
    await next;
  }
  expect(asked.length).toBe(1_020);
  const again = askedAbout('shut 7');
  claimer.reopen(['shut 7', 'unknown']);
  await again;
  expect(asked.length).toBe(1_021);
  await claimer.stop();
});

test('a round checks a bounded number of due keys, and later rounds the rest', async () => {
  let asked = 0;
  let askedInTurn = 0;
  let most = 0;
  const all = Promise.withResolvers<void>();
  const claimer = claimerAsking(() => {
    if (askedInTurn === 0)
      setImmediate(() => {
        askedInTurn = 0;
      });
    askedInTurn += 1;
    most = Math.max(most, askedInTurn);
    asked += 1;
    if (asked === 3_000) all.resolve();
  });
  for (let n = 0; n < 3_000; n += 1)
    claimer.waiting({ projectId: 'project', key: asId<EndpointId>(`key ${n}`), lane: 0 }, 0);
  await all.promise;
  expect(most).toBeLessThanOrEqual(500);
  await claimer.stop();
});

test('a key of one project does not wait behind thousands of another', async () => {
  const asked: string[] = [];
  const other = Promise.withResolvers<void>();
  const claimer = claimerAsking((key) => {
    asked.push(key);
    if (key === 'other') other.resolve();
  });
  for (let n = 0; n < 3_000; n += 1)
    claimer.waiting({ projectId: 'project', key: asId<EndpointId>(`key ${n}`), lane: 0 }, 0);
  claimer.waiting({ projectId: 'another', key: asId<EndpointId>('other'), lane: 0 }, 0);
  await other.promise;
  expect(asked.indexOf('other')).toBeLessThan(2);
  await claimer.stop();
});

test('a sweep of many keys leaves turns of the event loop to others', async () => {
  const rows = Array.from({ length: 20_000 }, (_, n) => ({
    project_id: 'project',
    key: `key ${n}`,
    lane: 0,
    due_in_ms: 60_000,
  }));
  const claimer = claimerAsking(() => undefined, { db: { hot: async () => rows } });
  const { turns } = await countTurns(() => claimer.sweep());
  expect(turns).toBeGreaterThanOrEqual(20);
  await claimer.stop();
});

test('claims go on while the probe of a half-open breaker is requested from a slow database', async () => {
  const claimed = Promise.withResolvers<unknown[]>();
  const probes = Promise.withResolvers<never[]>();
  const hot = async (_name: string, _text: string, values: unknown[]) => {
    claimed.resolve(values);
    return [];
  };
  const claimer = claimerOn(hot, {
    db: { query: () => probes.promise, hot },
    decideGate: (place: { key: string }) => ({ ...openGate(place), isProbe: place.key === 'half-open' }),
  });
  claimer.waiting({ projectId: 'project', key: asId<EndpointId>('half-open'), lane: 0 }, 0);
  claimer.waiting({ projectId: 'project', key: asId<EndpointId>('closed'), lane: 0 }, 0);
  const values = JSON.stringify(await claimed.promise);
  expect(values).toContain('closed');
  expect(values).not.toContain('half-open');
  probes.resolve([]);
  await claimer.stop();
});

test('a key of which large rows were left is claimed again at once, until none was left', async () => {
  const again = Promise.withResolvers<void>();
  let claims = 0;
  const claimer = claimerOn(async () => {
    claims += 1;
    if (claims === 2) again.resolve();
    return [{ n: 1, is_cut: claims === 1, next_due_in_ms: null, delivery_id: null }];
  });
  claimer.waiting({ projectId: 'project', key: asId<EndpointId>('large'), lane: 0 }, 0);
  await again.promise;
  await claimer.stop();
  expect(claims).toBe(2);
});

test('a key whose due rows others hold is claimed again at once, then later each time, and forgotten when none is left', async () => {
  const clock = new ManualClock();
  const lease = new Lease(clock);
  const claimedAt: number[] = [];
  const claims = async () => {
    claimedAt.push(clock.elapsed());
    return [
      { n: 1, is_cut: false, is_missed: claimedAt.length < 6, next_due_in_ms: null, delivery_id: null },
    ];
  };
  const claimer = claimerOn(claims, { clock, lease });
  claimer.waiting({ projectId: 'project', key: asId<EndpointId>('held'), lane: 0 }, 0);
  for (let ms = 0; ms < 2_000; ms += 10) {
    lease.confirmed(clock.now(), clock.elapsed());
    await clock.advance(10);
  }
  await claimer.stop();
  const waits = claimedAt.slice(1).map((at, n) => at - claimedAt[n]!);
  expect(waits).toEqual([20, 40, 80, 160, 320]);
});

test('a slow round lets more rows under a rate limit be claimed ahead', async () => {
  const clock = new ManualClock();
  const limits = [{ key: 'limited', limit: { count: 10, durationMs: 1_000 } }];
  const group = new RateGroup({ epoch: 1, quietMs: 0, sends: {} }, clock);
  const asked = Promise.withResolvers<void>();
  const answer = Promise.withResolvers<never[]>();
  const claims = () => {
    asked.resolve();
    return answer.promise;
  };
  const claimer = claimerOn(claims, {
    clock,
    lease: freshLease(clock),
    rateLeases: { groupOf: () => group },
    decideGate: (place: { key: string }) => ({ ...openGate(place), limits }),
  });
  claimer.waiting({ projectId: 'project', key: asId<EndpointId>('limited'), lane: 0 }, 0);
  await clock.advance(0);
  await asked.promise;
  expect(group.lookaheadMs).toBe(3_000);
  await clock.advance(2_000);
  answer.resolve([]);
  await claimer.stop();
  expect(group.lookaheadMs).toBe(6_000);
});

test('rows of a claim whose answer outlasts a silence of the node are released, not sent', async () => {
  const released = Promise.withResolvers<void>();
  const started: string[] = [];
  const dispatcher = {
    ...ROOM,
    silences: 0,
    has: () => false,
    reserveClaimed: () => true,
    start: ({ id }: { id: string }) => void started.push(id),
  };
  const row = {
    n: 1,
    next_due_in_ms: null,
    delivery_id: 'claimed',
    payload: Buffer.from('{}'),
    event_id: firstIdAt(NOON),
    retry_schedule: null,
    key: 'key',
    lane: 0,
  };
  const answers = async (name: string) => {
    if (name === 'release-rows') released.resolve();
    if (name !== 'claim-deliveries') return [];
    dispatcher.silences += 1;
    return [row];
  };
  const claimer = claimerOn(answers, { dispatcher, metrics: createMetrics().metrics, log: quietLog });
  claimer.waiting({ projectId: 'project', key: asId<EndpointId>('key'), lane: 0 }, 0);
  await released.promise;
  expect(started).toEqual([]);
  await claimer.stop();
});

test('those who make batches hear of each claim of batches, as it leaves room for more', async () => {
  const notified = Promise.withResolvers<string>();
  const row = {
    n: 1,
    next_due_in_ms: null,
    delivery_id: firstIdAt(NOON),
    delivery_ids: ['delivery'],
    key: 'key',
    lane: BATCH_LANE.formed,
  };
  const claimer = claimerOn(async () => [row], {
    dispatcher: { ...ROOM, reserveClaimed: () => true, start: () => undefined },
    metrics: createMetrics().metrics,
    batchesClaimed: notified.resolve,
  });
  claimer.waiting({ projectId: 'project', key: asId<EndpointId>('key'), lane: BATCH_LANE.formed }, 0);
  expect(await notified.promise).toBe('key');
  await claimer.stop();
});
