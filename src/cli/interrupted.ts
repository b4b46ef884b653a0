import { StartupError } from '../domain/startup-error.ts';

/** Passes on what comes until Ctrl-C or SIGTERM, and then fails, so that a command takes away what it has begun. */
export async function* untilInterrupted<T>(source: AsyncIterable<T>): AsyncGenerator<T> {
  let interrupted: string | undefined;
  const onSignal = (signal: string): void => {
    interrupted = signal;
  };
  process.on('SIGINT', onSignal);
  process.on('SIGTERM', onSignal);
  try {
    for await (const part of source) {
      if (interrupted !== undefined) throw new StartupError(`ended by ${interrupted}; nothing was changed`);
      yield part;
    }
  } finally {
    process.off('SIGINT', onSignal);
    process.off('SIGTERM', onSignal);
  }
}
