import { getEventListeners } from 'node:events';
import { describe, expect, it } from 'vitest';
import { delayBefore, pause, retryAfterSeconds } from './wait.ts';

describe('the wait before the next attempt', () => {
  it('doubles, with jitter, up to 8 s', () => {
    for (const [attempts, most] of [
      [1, 250],
      [2, 500],
      [4, 2000],
      [20, 8000],
    ] as const)
      for (let round = 0; round < 20; round++) {
        const delay = delayBefore(attempts, undefined)!;
        expect(delay).toBeGreaterThanOrEqual(most / 2);
        expect(delay).toBeLessThanOrEqual(most);
      }
  });

  it('is at least what Retry-After asks for, and none if that is too long', () => {
    expect(delayBefore(1, 7)).toBe(7000);
    expect(delayBefore(1, 61)).toBeUndefined();
  });

  it.each([
    [null, undefined],
    ['', undefined],
    ['soon', undefined],
    ['3', 3],
    ['Thu, 01 Jan 1970 00:00:20 GMT', 10],
    ['Thu, 01 Jan 1970 00:00:01 GMT', 0],
  ])('Retry-After %j asks for %j seconds', (header, seconds) => {
    expect(retryAfterSeconds(header, 10_000)).toBe(seconds);
  });

  it('ends with the reason of a signal', async () => {
    const controller = new AbortController();
    const waiting = pause(60_000, controller.signal);
    controller.abort(new Error('enough'));
    await expect(waiting).rejects.toThrow('enough');
    await expect(pause(60_000, controller.signal)).rejects.toThrow('enough');
  });

  it('leaves nothing at a signal that does not come', async () => {
    const { signal } = new AbortController();
    const waits = Array.from({ length: 12 }, () => pause(1, signal));
    expect(getEventListeners(signal, 'abort')).toHaveLength(1);
    await Promise.all(waits);
    expect(getEventListeners(signal, 'abort')).toHaveLength(0);
  });
});
