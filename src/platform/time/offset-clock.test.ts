import { expect, test } from 'vitest';
import { OffsetClock } from './offset-clock.ts';

/** A database clock that is 1,000 ms ahead, and round trips of a chosen length. */
function scene() {
  let now = 0;
  const clock = new OffsetClock({ now: () => now });
  return {
    error: () => clock.now() - now,
    /** The answer takes `thereMs` to the reading of the clock and `backMs` from it. */
    measure(thereMs: number, backMs: number, ahead = 1_000) {
      const sentAt = now;
      now += thereMs;
      const theirs = now + ahead;
      now += backMs;
      clock.measured(theirs, sentAt);
    },
    setClock: (ms: number) => (now = ms),
  };
}

test('the first measurement counts, however slow', () => {
  const { measure, error } = scene();
  measure(10, 190);
  expect(error()).toBe(910);
});

test('a shorter round trip replaces a longer one, and a longer one does not shift the clock', () => {
  const { measure, error } = scene();
  measure(10, 190);
  measure(1, 1);
  expect(error()).toBe(1_000);
  measure(1, 400);
  expect(error()).toBe(1_000);
});

test('a longer round trip moves the clock as far as it must', () => {
  const { measure, error } = scene();
  measure(1, 1);
  measure(10, 10, 1_500);
  expect(error()).toBe(1_490);
});

test('a drift is followed although every later round trip is a little longer than the shortest', () => {
  const { measure, error } = scene();
  measure(0, 1);
  for (let i = 1; i <= 100; i++) measure(1, 1, 1_000 + i * 0.1);
  expect(Math.abs(error() - 1_010)).toBeLessThanOrEqual(1);
});

test('a round trip in which our clock was set back says nothing', () => {
  const { measure, error, setClock } = scene();
  measure(1, 1);
  setClock(1_000);
  const before = error();
  measure(-500, 0);
  expect(error()).toBe(before);
});
