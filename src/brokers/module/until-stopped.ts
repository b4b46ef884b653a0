import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from '../../platform/logger.ts';

/** A broker that does not answer must not hold up a stop. */
export async function unlessAborted<T>(signal: AbortSignal, work: Promise<T>): Promise<T> {
  // Its failure after an abort is of no interest, and must not end the process.
  work.catch(() => undefined);
  signal.throwIfAborted();
  const aborted = Promise.withResolvers<never>();
  const onAbort = () => aborted.reject(signal.reason);
  signal.addEventListener('abort', onAbort);
  try {
    return await Promise.race([work, aborted.promise]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}

const GOODBYE_MS = 5_000;

/** Waits until a connection is closed. One to a broker that does not answer is given up. */
export async function goodbye(closing: Promise<unknown>, log: Logger): Promise<void> {
  const closed = closing.catch((error: unknown) =>
    log.debug({ err: error }, 'the connection to a broker could not be closed'),
  );
  await Promise.race([closed, sleep(GOODBYE_MS, undefined, { ref: false })]);
}

/** Runs the workers of a source side by side, until all have ended. The end of one ends all: they start again together. */
export async function runWorkers(
  workers: number,
  signal: AbortSignal,
  run: (number: number, signal: AbortSignal) => Promise<void>,
): Promise<void> {
  const stop = new AbortController();
  const either = AbortSignal.any([stop.signal, signal]);
  const work = async (number: number) => {
    try {
      await run(number, either);
    } finally {
      stop.abort();
    }
  };
  const ends = await Promise.allSettled(Array.from({ length: workers }, (_, number) => work(number)));
  const failed = ends.find((end) => end.status === 'rejected');
  if (failed !== undefined && !signal.aborted) throw failed.reason;
}
