import { expect, test } from 'vitest';
import type { Accepted, ChaosLoad } from '../chaos-load.ts';
import type { Character } from '../characters.ts';
import type { Fault } from '../fault-injector.ts';
import { FAULT_KINDS, planFaults } from '../fault-schedule.ts';
import type { Receipt } from '../receiver/chaos-receiver.ts';
import type { Stored, StoredDelivery, StoredTry } from '../stored.ts';
import { calmStretches } from './calm.ts';
import { judgeLimits, STRICT } from './judge-limits.ts';
import { judgeOnce } from './judge-once.ts';
import { judgeOrder } from './judge-order.ts';
import { judgeTries } from './judge-tries.ts';
import { Problems } from './problems.ts';
import type { Seen } from './verdict.ts';

/** Constructed runs: each judge finds its own problem, and nothing else. Times are in milliseconds. */
interface Made {
  at: number;
  sent: number[];
}

const PID = 1;
const CALM: Fault = { kind: 'calm', node: 'all', pid: null, from: 0, to: 30_000, delayMs: 20 };

const delivery = (id: string, character: Character, state: Partial<StoredDelivery> = {}): StoredDelivery => ({
  id,
  event_id: id,
  event_type: character,
  endpoint_id: character,
  status: 'Success',
  description: null,
  num_trials: 1,
  succeeded: 1,
  ...state,
});

const receipt = (deliveryId: string, character: Character, at: number): Receipt => ({
  deliveryId,
  character,
  sender: { pid: PID },
  sentAt: Math.floor(at / 1000) * 1000,
  after: at,
  at,
  isAcknowledged: true,
});

const recorded = ({ deliveryId, sentAt, at }: Receipt): StoredTry => ({
  delivery_id: deliveryId,
  sent: sentAt / 1000,
  started: at,
  is_stale: false,
  is_answered: true,
  error: null,
});

/** A run in which each event was accepted and its requests arrived at the given times. */
function run(events: Partial<Record<Character, Made[]>>, faults: Fault[] = []) {
  const accepted = new Map<string, Accepted>();
  const deliveries: StoredDelivery[] = [];
  const receipts: Receipt[] = [];
  for (const [name, all] of Object.entries(events) as [Character, Made[]][]) {
    for (const [n, { at, sent }] of all.entries()) {
      const id = `${name}-${n}`;
      const orderingKey = name === 'ordered' ? 'a key' : undefined;
      accepted.set(id, { eventType: name, startedAt: at, at, orderingKey });
      deliveries.push(delivery(id, name));
      receipts.push(...sent.map((time) => receipt(id, name, time)));
    }
  }
  const stored: Stored = {
    events: [],
    deliveries,
    tries: receipts.map(recorded),
    queued: [],
    expansions: [],
  };
  const seen: Seen = {
    load: { accepted } as unknown as ChaosLoad,
    receipts,
    faults,
    tokenWaits: [],
    characterOf: (id) => id as Character,
    strictness: STRICT,
  };
  return { stored, seen, problems: new Problems() };
}

/** All accepted at the start, then sent at a steady rate per second. */
const steadily = (perSecond: number): Made[] =>
  Array.from({ length: 500 }, (_, n) => ({ at: 0, sent: [Math.floor((n * 1000) / perSecond)] }));

test('a limit that is met is neither exceeded nor starved, with the slack of each interval', () => {
  const bursts = Array.from({ length: 500 }, (_, n) => ({ at: 0, sent: [Math.floor(n / 10) * 1_012] }));
  const { stored, seen, problems } = run({ limited: bursts }, [CALM]);
  const [figures] = judgeLimits(stored, seen, problems);
  expect(problems.list).toEqual([]);
  expect(figures).toMatchObject({ most: 10, limit: 10, shares: { '20 ms': '280 of 280 (100 %)' } });
});

test('a stretch may lack the burst that comes just after its end, and no more', () => {
  const every = (periodMs: number) =>
    Array.from({ length: 500 }, (_, n) => ({ at: 0, sent: [500 + Math.floor(n / 10) * periodMs] }));
  for (const [periodMs, broken] of [
    [1_050, 0],
    [1_150, 1],
  ] as const) {
    const { stored, seen, problems } = run({ limited: every(periodMs) }, [CALM]);
    judgeLimits(stored, seen, problems);
    expect(problems.list.length).toBe(broken);
  }
});

test('a limited endpoint may get less only while the unlimited one waits as well', () => {
  const slow = Array.from({ length: 500 }, (_, n) => ({ at: 0, sent: [Math.floor(n / 10) * 2_000] }));
  for (const [waitedMs, broken] of [
    [10, 1],
    [29_000, 0],
  ] as const) {
    const healthy = [{ at: 0, sent: [waitedMs] }];
    const { stored, seen, problems } = run({ limited: slow, healthy }, [CALM]);
    judgeLimits(stored, seen, problems);
    expect(problems.list.length).toBe(broken);
  }
});

test('a delivery that arrives before the one before it was acknowledged has overtaken it', () => {
  const made = [
    { at: 0, sent: [10] },
    { at: 5, sent: [20] },
    { at: 6, sent: [15] },
  ];
  for (const [sent, broken] of [
    [[25], 0],
    [[15], 1],
  ] as const) {
    const { stored, seen, problems } = run({ ordered: made.with(2, { at: 6, sent: [...sent] }) });
    seen.receipts.sort((a, b) => a.at - b.at);
    judgeOrder(stored, seen, problems);
    expect(problems.list.length).toBe(broken);
  }
});

const burst = (from: number): Made[] => Array.from({ length: 6 }, (_, n) => ({ at: 0, sent: [from + n] }));

test('one request too many in an interval that spans two seconds is found', () => {
  const { stored, seen, problems } = run({ limited: [...burst(900), ...burst(1_500)] });
  judgeLimits(stored, seen, problems);
  expect(problems.list.map(({ promise }) => promise)).toEqual(['a limit is exact']);
});

test('requests that began apart and arrived together are within the limit', () => {
  const { stored, seen, problems } = run({ limited: [...burst(900), ...burst(1_500)] });
  for (const one of stored.tries) if (one.started < 1_500) one.started -= 600;
  judgeLimits(stored, seen, problems);
  expect(problems.list).toEqual([]);
});

test('a request that we may have noticed late does not count as over the limit', () => {
  const { stored, seen, problems } = run({ limited: steadily(10) });
  for (const one of seen.receipts) {
    one.at += one.at % 1000 === 0 ? 300 : 0;
  }
  judgeLimits(stored, seen, problems);
  expect(problems.list).toEqual([]);
});

test('an endpoint that gets nine tenths of its limit while work waits is starved', () => {
  const { stored, seen, problems } = run({ limited: steadily(9) }, [CALM]);
  judgeLimits(stored, seen, problems);
  expect(problems.list.map(({ promise }) => promise)).toEqual(['a limited endpoint gets what it may']);
});

test('an endpoint without work is not starved, and neither is one under a fault', () => {
  const idle = run({ limited: steadily(5).map(({ sent }) => ({ at: sent[0]! - 100, sent })) }, [CALM]);
  judgeLimits(idle.stored, idle.seen, idle.problems);
  const killed: Fault = { kind: 'kill node', node: 'node-0', pid: PID, from: 100, to: 14_500, delayMs: 0 };
  const under = run({ limited: steadily(5) }, [CALM, killed]);
  judgeLimits(under.stored, under.seen, under.problems);
  expect([...idle.problems.list, ...under.problems.list]).toEqual([]);
});

test('a delivery within its limit may wait for the handover and no longer', () => {
  const events = (waitMs: number) => ({
    healthy: [{ at: 5_000, sent: [5_040] }],
    sparse: [{ at: 5_000, sent: [5_000 + waitMs] }],
  });
  const [prompt, late] = [run(events(300), [CALM]), run(events(900), [CALM])];
  for (const { stored, seen, problems } of [prompt, late]) judgeLimits(stored, seen, problems);
  expect(prompt.problems.list).toEqual([]);
  expect(late.problems.list).toHaveLength(1);
});

test('at most once: a second arrival, and a failure after our answer, are found', () => {
  const twice = run({ once: [{ at: 0, sent: [100, 200] }] });
  judgeOnce(twice.stored, twice.seen, twice.problems);
  expect(twice.problems.list).toHaveLength(1);
  const failed = (faults: Fault[]) => {
    const made = run({ once: [{ at: 0, sent: [5_000] }] }, faults);
    made.stored.deliveries[0]!.status = 'Failure';
    judgeOnce(made.stored, made.seen, made.problems);
    return made.problems.list.length;
  };
  const fault = (kind: Fault['kind']): Fault => ({
    kind,
    node: 'node-0',
    pid: PID,
    from: 5_100,
    to: 9_000,
    delayMs: 0,
  });
  expect([failed([]), failed([fault('stall node')]), failed([fault('kill node')])]).toEqual([1, 1, 0]);
});

test('a request without an attempt, and a second try of an endpoint that answers, are found', () => {
  const silent = run({ closing: [{ at: 0, sent: [100, 200] }] });
  silent.stored.tries.pop();
  judgeTries(silent.stored, silent.seen, silent.problems);
  expect(silent.problems.list.map(({ promise }) => promise)).toEqual(['every request is recorded']);
  const tried = run({ healthy: [{ at: 0, sent: [100, 5_000] }], closing: [{ at: 0, sent: [100, 5_000] }] });
  for (const one of tried.stored.deliveries) one.num_trials = 2;
  judgeTries(tried.stored, tried.seen, tried.problems);
  expect(tried.problems.list.map(({ promise }) => promise)).toEqual(['our faults use no retry']);
});

test('a schedule repeats by its seed, has every kind in a round, and calm only after recovery', () => {
  const options = { nodes: 3, forMs: 300_000, pauseMs: 8_000, calmMs: 20_000, kinds: FAULT_KINDS };
  const plan = planFaults({ ...options, seed: 5 });
  expect(planFaults({ ...options, seed: 5 })).toEqual(plan);
  expect(planFaults({ ...options, seed: 6 })).not.toEqual(plan);
  const round = plan.slice(1, 1 + FAULT_KINDS.length).map(({ kind }) => kind);
  expect(new Set(round)).toEqual(new Set(FAULT_KINDS));
  const happened = plan.map(({ kind, afterMs, lastsMs, delayMs }) => ({
    kind,
    node: '',
    pid: null,
    from: afterMs,
    to: afterMs + lastsMs,
    delayMs,
  }));
  const calm = calmStretches(happened).map(({ from, to }) => to - from);
  expect(calm).toEqual(plan.filter(({ kind }) => kind === 'calm').map(() => options.calmMs - 1_000));
});
