import type { ConsumerContext } from './broker-module.ts';
import type { LeasedMessage, LeasedQueue } from './leased-messages.ts';
import { LeasedMessages } from './leased-messages.ts';

/** A receive that is under way at the end gets this long. The messages of an answer that is lost come back late. */
const LAST_RECEIVE_MS = 500;

/**
 * A worker: it receives a lot, stores it and acknowledges it. The next lot is received meanwhile, and no further one. At
 * the end it gives back what it holds.
 */
export async function runLeaseWorker(
  queue: LeasedQueue,
  context: Pick<ConsumerContext, 'signal' | 'log' | 'connected' | 'store'>,
): Promise<void> {
  const { signal, log } = context;
  const leased = new LeasedMessages(queue, log);
  const last = new AbortController();
  const end = () => setTimeout(() => last.abort(), LAST_RECEIVE_MS);
  signal.addEventListener('abort', end);
  const receive = async (waits: boolean): Promise<LeasedMessage[]> => {
    const messages = await queue.receive(waits, last.signal);
    leased.hold(
      messages.map(({ receipt }) => receipt),
      queue.firstLeaseMs,
    );
    return messages;
  };
  let next = Promise.resolve<LeasedMessage[]>([]);
  try {
    // Without waiting for messages: whether any may be received is known at once.
    next = Promise.resolve(await receive(false));
    context.connected();
    while (!signal.aborted) {
      const messages = await next;
      if (signal.aborted) break;
      next = receive(true);
      // It is looked at when this lot is done.
      next.catch(() => undefined);
      if (messages.length === 0) continue;
      const receipts = messages.map(({ receipt }) => receipt);
      await context.store(queue.part, messages);
      leased.drop(receipts);
      await queue.acknowledge(receipts);
    }
  } finally {
    signal.removeEventListener('abort', end);
    if (!signal.aborted) end();
    await next.catch(() => undefined);
    await leased.close();
  }
}
