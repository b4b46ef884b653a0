/** The work, or an error at the first signal to end, so that the processes of a run end with it. */
export async function untilSignal<T>(work: Promise<T>): Promise<T> {
  const { promise: stopped, reject } = Promise.withResolvers<never>();
  const stop = (signal: NodeJS.Signals) => reject(new Error(`stopped by ${signal}`));
  process.once('SIGINT', stop).once('SIGTERM', stop);
  // The work goes on until its processes have ended, and fails then.
  work.catch(() => undefined);
  try {
    return await Promise.race([work, stopped]);
  } finally {
    process.off('SIGINT', stop).off('SIGTERM', stop);
  }
}
