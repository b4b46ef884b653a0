export type Sent<Item, Result> =
  | { index: number; item: Item; ok: true; result: Result }
  | { index: number; item: Item; ok: false; error: unknown };

export interface SendAllOptions {
  /** Calls at the same time; 16 by default. */
  concurrency?: number;
  /** Ends the calls under way and the batch. */
  signal?: AbortSignal;
}

/**
 * Sends many items with a bounded number of calls at the same time. Outcomes come in the order in which calls
 * end, and a failed call does not end the others. Items are read only as fast as they are sent, so the source
 * may be larger than the memory. If the consumer stops early, the calls under way are aborted.
 *
 *     for await (const sent of sendAll(events, (event, options) => posthorn.events.broadcast(event, options)))
 *       if (!sent.ok) console.error(sent.item, sent.error);
 */
export async function* sendAll<Item, Result>(
  items: Iterable<Item> | AsyncIterable<Item>,
  send: (item: Item, options: { signal: AbortSignal }) => Promise<Result>,
  { concurrency = 16, signal }: SendAllOptions = {},
): AsyncGenerator<Sent<Item, Result>, void, undefined> {
  if (!(concurrency >= 1)) throw new RangeError('concurrency must be at least 1');
  const controller = new AbortController();
  const abort = () => controller.abort(signal?.reason);
  signal?.addEventListener('abort', abort, { once: true });
  const underWay = new Map<number, Promise<Sent<Item, Result>>>();
  const start = async (index: number, item: Item): Promise<Sent<Item, Result>> => {
    try {
      return { index, item, ok: true, result: await send(item, { signal: controller.signal }) };
    } catch (error) {
      return { index, item, ok: false, error };
    }
  };
  const nextEnded = async () => {
    const ended = await Promise.race(underWay.values());
    underWay.delete(ended.index);
    return ended;
  };
  try {
    let count = 0;
    for await (const item of items) {
      signal?.throwIfAborted();
      underWay.set(count, start(count, item));
      count += 1;
      if (underWay.size >= concurrency) yield await nextEnded();
    }
    while (underWay.size > 0) yield await nextEnded();
  } finally {
    signal?.removeEventListener('abort', abort);
    if (underWay.size > 0) controller.abort();
  }
}
