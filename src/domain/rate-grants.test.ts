import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { nextFree, nextGrants, START_DELAY_MS } from './rate-grants.ts';

const limitOf = fc.record({
  count: fc.integer({ min: 1, max: 8 }),
  durationMs: fc.integer({ min: 1, max: 5_000 }),
});

test('no interval of the duration holds more sends than allowed, however late each starts', () => {
  fc.assert(
    fc.property(
      limitOf,
      fc.array(
        fc.record({ pause: fc.integer({ min: 0, max: 3_000 }), wanted: fc.integer({ min: 1, max: 12 }) }),
        { maxLength: 30 },
      ),
      fc.infiniteStream(fc.integer({ min: 0, max: START_DELAY_MS })),
      (limit, asks, lateness) => {
        let nowMs = 1_000_000;
        const grants: number[] = [];
        for (const { pause, wanted } of asks) {
          nowMs += pause;
          grants.push(...nextGrants([{ limit, grants }], { wanted, nowMs, untilMs: nowMs + 200 }));
        }
        const starts = grants.map((at) => at + (lateness.next().value ?? 0)).sort((a, b) => a - b);
        for (let i = limit.count; i < starts.length; i++) {
          expect((starts[i] ?? 0) - (starts[i - limit.count] ?? 0)).toBeGreaterThanOrEqual(limit.durationMs);
        }
      },
    ),
  );
});

test('two limits hold at once', () => {
  const wide = { count: 5, durationMs: 1_000 };
  const narrow = { count: 1, durationMs: 400 };
  const given = nextGrants(
    [
      { limit: wide, grants: [] },
      { limit: narrow, grants: [] },
    ],
    { wanted: 10, nowMs: 0, untilMs: 2 * (400 + START_DELAY_MS) },
  );
  const apart = 400 + START_DELAY_MS;
  expect(given).toEqual([0, apart, 2 * apart]);
});

test('the whole count is granted at once after a quiet time, and the next only when the window has passed', () => {
  const limit = { count: 3, durationMs: 1_000 };
  const grants = nextGrants([{ limit, grants: [] }], { wanted: 5, nowMs: 50, untilMs: 250 });
  expect(grants).toEqual([50, 50, 50]);
  expect(nextFree([{ limit, grants }], 60)).toBe(50 + 1_000 + START_DELAY_MS);
});
