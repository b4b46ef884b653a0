import { onTestFinished } from 'vitest';

/** Closes it when the test ends, before all that was made earlier. */
export function untilEnd<T extends { close(): Promise<void> }>(thing: T): T {
  onTestFinished(() => thing.close());
  return thing;
}
