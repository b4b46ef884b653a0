import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { SendWindow, slackMs } from './rate-limit.ts';

const limitOf = fc.record({
  count: fc.integer({ min: 1, max: 8 }),
  durationMs: fc.integer({ min: 1, max: 5_000 }),
});

test('no interval of the duration contains more sends than allowed', () => {
  const steps = fc.array(fc.integer({ min: 0, max: 3_000 }), { maxLength: 200 });
  fc.assert(
    fc.property(limitOf, steps, (limit, pauses) => {
      const window = new SendWindow();
      const sends: number[] = [];
      let now = 1_000_000;
      for (const pause of pauses) {
        now = window.startAt(limit, 1, now + pause);
        const blocking = sends.at(-limit.count) ?? Number.NEGATIVE_INFINITY;
        const earliest = blocking + limit.durationMs + slackMs(limit.durationMs);
        expect(now).toBeGreaterThanOrEqual(earliest);
        window.add(limit, now);
        sends.push(now);
      }
    }),
  );
});

test('the start time of a later place assumes that every send before it starts as early as allowed', () => {
  fc.assert(
    fc.property(
      limitOf,
      fc.array(fc.integer({ min: 0, max: 2_000 }), { maxLength: 12 }),
      fc.integer({ min: 1, max: 40 }),
      (limit, pauses, place) => {
        const window = new SendWindow();
        let now = 1_000_000;
        for (const pause of pauses) {
          now = window.startAt(limit, 1, now + pause);
          window.add(limit, now);
        }
        const ahead = window.startAt(limit, place, now);
        let at = now;
        for (let n = 0; n < place; n++) {
          at = window.startAt(limit, 1, at);
          window.add(limit, at);
        }
        expect(ahead).toBeCloseTo(at, 3);
      },
    ),
  );
});

test('the whole count may start at once after a quiet time, and the next only when the interval has passed', () => {
  const limit = { count: 3, durationMs: 1_000 };
  const window = new SendWindow();
  for (let n = 0; n < 3; n++) {
    expect(window.startAt(limit, 1, 50)).toBe(50);
    window.add(limit, 50);
  }
  expect(window.startAt(limit, 1, 60)).toBe(50 + 1_000 + slackMs(1_000));
});

test('after a change of the limit the sends before it still count', () => {
  const window = new SendWindow();
  const was = { count: 4, durationMs: 1_000 };
  for (const at of [0, 100, 200, 300]) window.add(was, at);
  const apart = 1_000 + slackMs(1_000);
  expect(window.startAt({ count: 2, durationMs: 1_000 }, 1, 400)).toBe(200 + apart);
  expect(window.startAt({ count: 5, durationMs: 1_000 }, 1, 400)).toBe(400);
  expect(window.startAt({ count: 5, durationMs: 1_000 }, 2, 400)).toBe(apart);
});

test('sends passed to another node keep blocking there', () => {
  const limit = { count: 2, durationMs: 1_000 };
  const here = new SendWindow();
  for (const at of [0, 600, 900]) here.add(limit, at);
  const there = new SendWindow(here.ages(limit, 1_000).map((age) => 5_000 - age));
  expect(there.startAt(limit, 1, 5_000)).toBe(4_600 + 1_000 + slackMs(1_000));
});
