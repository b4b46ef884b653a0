import { setImmediate } from 'node:timers/promises';
import { StartupError } from '../../platform/startup-error.ts';

/** Yields items until SIGINT or SIGTERM, then throws so that the command can clean up. */
export async function* untilInterrupted<T>(source: AsyncIterable<T>): AsyncGenerator<T> {
  let interrupted: string | undefined;
  const onSignal = (signal: string): void => {
    interrupted = signal;
  };
  const check = (): void => {
    if (interrupted !== undefined) throw new StartupError(`ended by ${interrupted}; nothing was changed`);
  };
  process.on('SIGINT', onSignal);
  process.on('SIGTERM', onSignal);
  try {
    for await (const part of source) {
      check();
      yield part;
    }
    // Lets a signal that arrived with the last item be handled before the last check.
    await setImmediate();
    check();
  } finally {
    process.off('SIGINT', onSignal);
    process.off('SIGTERM', onSignal);
  }
}
