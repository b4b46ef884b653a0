import { expect, test } from 'vitest';
import { latencyBucket, percentileMs, Traffic } from './traffic.ts';

const HOUR_MS = 3_600_000;

function counting(startMs = 10 * HOUR_MS) {
  let nowMs = startMs;
  const traffic = new Traffic(() => nowMs);
  return { traffic, advance: (ms: number) => (nowMs += ms) };
}

const outcome = {
  projectId: 'p',
  endpointId: 'e',
  sourceId: null,
  attempt: 'success',
  end: 'Success',
  latencyMs: 5,
} as const;

test('an event and its outcome count for the project, the source and the endpoint, per minute and hour', () => {
  const { traffic } = counting();
  traffic.accepted({ projectId: 'p', sourceId: 's' }, [{ endpointId: 'e' }, { endpointId: 'f' }]);
  traffic.finished({ ...outcome, sourceId: 's' as never });
  traffic.finished({ ...outcome, endpointId: 'f', attempt: 'failure', end: null, latencyMs: null });
  const seen = traffic
    .takeChanged(100)
    .filter(({ step }) => step === 'minute')
    .map(({ subjectId, accepted, delivered, attempts, failedAttempts }) => [
      subjectId,
      accepted,
      delivered,
      attempts,
      failedAttempts,
    ]);
  expect(seen.toSorted((a, b) => String(a[0]).localeCompare(String(b[0])))).toEqual([
    ['e', 1, 1, 1, 0],
    ['f', 1, 0, 1, 1],
    ['p', 1, 1, 2, 1],
    ['s', 1, 1, 1, 0],
  ]);
});

test('an entry is taken once until it changes, with its totals', () => {
  const { traffic } = counting();
  traffic.finished(outcome);
  expect(traffic.takeChanged(100)).toHaveLength(4);
  expect(traffic.takeChanged(100)).toEqual([]);
  traffic.finished(outcome);
  expect(traffic.takeChanged(100).map(({ delivered }) => delivered)).toEqual([2, 2, 2, 2]);
});

test('a new minute begins new entries, and the hour goes on', () => {
  const { traffic, advance } = counting();
  traffic.finished(outcome);
  advance(60_000);
  traffic.finished(outcome);
  const entries = traffic.takeChanged(100).filter(({ subjectId }) => subjectId === 'e');
  expect(entries.map(({ step, delivered }) => [step, delivered])).toEqual([
    ['minute', 1],
    ['hour', 2],
    ['minute', 1],
  ]);
  advance(HOUR_MS);
  traffic.finished(outcome);
  const later = traffic.takeChanged(100).filter(({ subjectId }) => subjectId === 'e');
  expect(later.map(({ step, delivered }) => [step, delivered])).toEqual([
    ['minute', 1],
    ['hour', 1],
  ]);
});

test('entries that could not be stored come again, once and with what was counted since', () => {
  const { traffic, advance } = counting();
  traffic.finished(outcome);
  const taken = traffic.takeChanged(100);
  traffic.finished(outcome);
  advance(60_000);
  traffic.giveBack(taken);
  const again = traffic.takeChanged(100);
  expect(new Set(again).size).toBe(4);
  expect(again.map(({ delivered }) => delivered)).toEqual([2, 2, 2, 2]);
});

test('with too many subjects in a minute only projects get new entries', () => {
  const { traffic } = counting();
  for (let n = 0; n < 60_000; n++) traffic.made('p', [{ endpointId: `e${n}` }]);
  traffic.accepted({ projectId: 'q', sourceId: null }, [{ endpointId: 'late' }]);
  const subjects = new Set(traffic.takeChanged(Number.POSITIVE_INFINITY).map(({ subjectId }) => subjectId));
  expect(subjects.size).toBe(50_001);
  expect([subjects.has('q'), subjects.has('late')]).toEqual([true, false]);
});

test('without a database the oldest entries are dropped', () => {
  const { traffic, advance } = counting();
  for (let minute = 0; minute < 5; minute++) {
    for (let n = 0; n < 50_000; n++) traffic.made('p', [{ endpointId: `e${n}` }]);
    traffic.giveBack(traffic.takeChanged(Number.POSITIVE_INFINITY));
    advance(60_000);
  }
  expect(traffic.takeDropped()).toBe(100_000);
  expect(traffic.takeDropped()).toBe(0);
  expect(traffic.takeChanged(Number.POSITIVE_INFINITY)).toHaveLength(200_000);
});

test('a percentile lies in the bucket of its value', () => {
  for (const ms of [0, 0.4, 1, 3, 40, 250, 10_000, 86_400_000]) {
    const found = percentileMs(new Map([[latencyBucket(ms), 10]]), 0.5) as number;
    expect(latencyBucket(found)).toBe(latencyBucket(ms));
  }
  expect(latencyBucket(Number.MAX_VALUE)).toBe(55);
  expect(percentileMs(new Map(), 0.5)).toBeNull();
  const mixed = new Map([
    [latencyBucket(10), 98],
    [latencyBucket(1_000), 2],
  ]);
  expect(percentileMs(mixed, 0.5)).toBeLessThan(16);
  expect(percentileMs(mixed, 0.99)).toBeGreaterThan(700);
});
