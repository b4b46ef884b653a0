import { expect, it, vi } from 'vitest';
import { relativeIn } from '../../parts/relative-time.ts';
import { readClock } from './clock.ts';
import { relative } from './words.ts';

const HOUR = 3_600_000;

it('a time that is left is rounded, and one that has passed is not', () => {
  expect(relative(24 * HOUR - 400, 0)).toBe('in 24 h');
  expect(relative(0, 2 * HOUR - 400)).toBe('1 h ago');
  const german = relativeIn('de');
  expect(german(24 * HOUR - 400, 0)).toBe('in 24 Std.');
  expect(german(0, 2 * HOUR - 400)).toBe('vor 1 Std.');
});

it('the clock is right also after a while without times on the page', () => {
  vi.useFakeTimers();
  readClock();
  vi.setSystemTime(Date.now() + 46_000);
  expect(relative(Date.now(), readClock())).toBe('now');
  vi.useRealTimers();
});
