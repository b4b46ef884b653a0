import { setTimeout as sleep } from 'node:timers/promises';
import type { ConsumerContext } from '../module/broker-module.ts';

/**
 * One node reads a slot: waiting -> (the lease is free) holding -> (another node took it, after a silence of ours)
 * waiting again. It is given back when the work ends, so that another node begins at once. Should two nodes hold it for
 * a moment, events are stored once all the same: the position of the stream sees to that.
 */
const TRY_MS = 1_000;
const RENEW_MS = 4_000;

export async function whileLeased(
  context: ConsumerContext,
  work: (signal: AbortSignal) => Promise<void>,
): Promise<void> {
  const { signal } = context;
  while (!signal.aborted) {
    await taken(context);
    const over = new AbortController();
    const timer = setInterval(() => void renew(context, over), RENEW_MS);
    try {
      await work(AbortSignal.any([signal, over.signal]));
    } catch (error) {
      if (!over.signal.aborted) throw error;
    } finally {
      clearInterval(timer);
      // Work that failed may still be connecting. Those connections end with the signal.
      over.abort();
      await context.streams
        .giveBack(context.source.id)
        .catch((error: unknown) =>
          context.log.debug({ err: error }, 'failed to give back the lease of a slot'),
        );
    }
  }
}

/** Our own database may be away: then no node can begin. */
async function taken({ streams, source, signal, log }: ConsumerContext): Promise<void> {
  for (;;) {
    try {
      if (await streams.lease(source)) return;
    } catch (error) {
      log.debug({ err: error }, 'failed to take the lease of a slot; retrying in 1 s');
    }
    await sleep(TRY_MS, undefined, { signal });
  }
}

async function renew({ streams, source, log }: ConsumerContext, over: AbortController): Promise<void> {
  try {
    if (!(await streams.lease(source))) over.abort();
  } catch (error) {
    log.debug({ err: error }, 'failed to renew the lease of a slot');
  }
}
