import { describe, expect, it } from 'vitest';
import { ManualClock } from '../../../test/support/samples/manual-clock.ts';
import { slackMs } from '../../domain/config/rate-limit.ts';
import { RateGroup } from './rate-group.ts';

const LIMIT = { count: 10, durationMs: 1_000 };
const limits = [{ key: 'endpoint', limit: LIMIT }];
const NONE = new Map<string, number>();
const ask = (wanted: number) => ({ wanted, taken: NONE, endpointId: 'endpoint' });

function groupAt(clock: ManualClock, sends: Record<string, number[]> | null = {}) {
  return new RateGroup({ epoch: 1, quietMs: 0, sends }, clock);
}

/** The most sends in any interval of the limit's length. */
const most = (times: number[]) =>
  Math.max(...times.map((from) => times.filter((at) => at >= from && at - from < LIMIT.durationMs).length));

/** Takes whenever the group calls, from several waiters, until the time is over. */
async function takeAll(group: RateGroup, clock: ManualClock, waiters: number, forMs: number) {
  const times: number[] = [];
  const tryOne = () => {
    while (group.take(limits)) times.push(clock.elapsed());
    group.wait({ limits: () => limits, again: tryOne });
  };
  for (let n = 0; n < waiters; n += 1) tryOne();
  await clock.advance(forMs);
  return times;
}

describe('RateGroup', () => {
  it('lets no interval have more sends than the limit, and hardly fewer', async () => {
    const clock = new ManualClock();
    const times = await takeAll(groupAt(clock), clock, 5, 20_000);
    expect(most(times)).toBe(LIMIT.count);
    expect(times.length).toBeGreaterThan(0.98 * 20 * LIMIT.count);
  });

  it('counts the sends of the earlier holder, and waits one duration where they are unknown', async () => {
    const clock = new ManualClock();
    const before = [900, 900, 900, 100, 100];
    const times = await takeAll(groupAt(clock, { endpoint: before }), clock, 1, 3_000);
    const third = 100 + slackMs(LIMIT.durationMs);
    expect(times.slice(0, 8)).toEqual([...Array<number>(5).fill(0), ...Array<number>(3).fill(third)]);
    expect(most([...before.map((age) => -age), ...times])).toBe(LIMIT.count);
    const unknown = await takeAll(groupAt(clock, null), clock, 1, 3_000);
    expect(unknown[0]).toBeGreaterThanOrEqual(3_000 + LIMIT.durationMs);
  });

  it('lets three seconds of work be claimed ahead, before anything was measured', () => {
    const group = groupAt(new ManualClock());
    expect(group.allowance(limits, ask(1_000)).count).toBe(30);
    for (let n = 0; n < 30; n += 1) group.claimed(String(n), 'endpoint');
    expect(group.allowance(limits, ask(1_000)).count).toBe(0);
    expect(group.left('7')).toBe('endpoint');
    expect(group.allowance(limits, ask(1_000)).count).toBe(1);
  });

  it('lets more be claimed ahead while preparation is slow, at most ten seconds of it', async () => {
    const clock = new ManualClock();
    const group = groupAt(clock);
    const slow = group.preparing();
    await clock.advance(2_000);
    slow();
    slow();
    expect(group.lookaheadMs).toBe(7_000);
    const stuck = group.preparing();
    await clock.advance(60_000);
    stuck();
    expect(group.lookaheadMs).toBe(10_000);
    for (let n = 0; n < 200; n += 1) group.preparing()();
    expect(group.lookaheadMs).toBeLessThan(3_100);
  });

  it('lets more be claimed ahead while rounds of claims are slow, at most ten seconds of it', () => {
    const group = groupAt(new ManualClock());
    group.roundTook(900);
    expect(group.lookaheadMs).toBe(3_000);
    group.roundTook(2_000);
    expect(group.lookaheadMs).toBe(6_000);
    expect(group.allowance(limits, ask(1_000)).count).toBe(60);
    group.roundTook(60_000);
    expect(group.lookaheadMs).toBe(10_000);
    for (let n = 0; n < 200; n += 1) group.roundTook(5);
    expect(group.lookaheadMs).toBe(3_000);
  });
});
