import { vi } from 'vitest';

/**
 * The monotonic clock of this process runs a thousand times slower, so that no limit is met by accident on a busy
 * machine. It does not stand still: code that waits for a later time would wait for ever.
 */
export function slowClock(): { pass(ms: number): void; end(): void } {
  const now = performance.now.bind(performance);
  const startedAt = now();
  let passedMs = 0;
  const spy = vi
    .spyOn(performance, 'now')
    .mockImplementation(() => startedAt + passedMs + (now() - startedAt) / 1_000);
  return {
    pass: (ms) => {
      passedMs += ms;
    },
    end: () => spy.mockRestore(),
  };
}
