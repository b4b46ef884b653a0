import { setImmediate } from 'node:timers/promises';
import { StartupError } from '../platform/startup-error.ts';

/** Passes on what comes until Ctrl-C or SIGTERM, and then fails, so that a command takes away what it has begun. */
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
    // A signal that came together with the last part is told of after it.
    await setImmediate();
    check();
  } finally {
    process.off('SIGINT', onSignal);
    process.off('SIGTERM', onSignal);
  }
}
