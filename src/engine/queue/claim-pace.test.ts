import { expect, test } from 'vitest';
import { ClaimPace } from './claim-pace.ts';

/** A pace, with the busy share of the event loop and the time. */
function paceOf() {
  const node = { busyShare: 1, elapsed: 0, tookMs: 5 };
  const pace = new ClaimPace({ elapsed: () => node.elapsed }, () => node.busyShare);
  return {
    node,
    pace,
    round: (rows: number, ...of: string[]) => pace.claimed(rows, { of, tookMs: node.tookMs }),
  };
}

test('a backlog alone, or next to new events of its own project only, is not slowed down', () => {
  const { pace, round } = paceOf();
  expect(round(400, 'a')).toBe(0);
  pace.live('a');
  expect(round(400, 'a')).toBe(0);
  expect(pace.rows).toBe(Number.POSITIVE_INFINITY);
});

test('next to new events of another project rounds are small and wait by what they claimed', () => {
  const { pace, round } = paceOf();
  pace.live('b');
  const whole = round(25, 'a');
  expect(whole).toBeGreaterThan(0);
  expect(pace.rows).toBe(25);
  expect(round(5, 'a')).toBeCloseTo(whole / 5);
  expect(round(0, 'a')).toBe(0);
  // Its own new events do not hide those of the other.
  pace.live('a');
  pace.live('a');
  expect(round(25, 'a')).toBe(whole);
  // Two claimed projects are others to each other.
  expect(round(25, 'a', 'b')).toBe(whole);
});

test('an idle node goes faster and faster, a busy one slower, up to a bound', () => {
  const { node, pace, round } = paceOf();
  pace.live('b');
  const slowest = round(25, 'a');
  node.busyShare = 0.1;
  const waits = Array.from({ length: 100 }, () => round(25, 'a'));
  expect(waits).toEqual(waits.toSorted((one, other) => other - one));
  expect(waits.at(-1)).toBe(1);
  node.busyShare = 0.9;
  expect(round(25, 'a')).toBeGreaterThan(1);
  for (let n = 0; n < 20; n += 1) round(25, 'a');
  expect(round(25, 'a')).toBe(slowest);
});

test('a second without new events of others ends it', () => {
  const { node, pace, round } = paceOf();
  pace.live('b');
  expect(round(25, 'a')).toBeGreaterThan(0);
  node.elapsed = 1_001;
  expect(round(25, 'a')).toBe(0);
  expect(pace.rows).toBe(Number.POSITIVE_INFINITY);
});

test.each([0, 50, 200, 800])('with rounds of %i ms a node claims at least 250 rows per second', (tookMs) => {
  const { node, pace, round } = paceOf();
  node.tookMs = tookMs;
  pace.live('b');
  round(25, 'a');
  const { rows } = pace;
  expect(rows / (tookMs + round(rows, 'a'))).toBeGreaterThanOrEqual(0.25);
  expect(rows).toBeLessThanOrEqual(400);
});
