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
