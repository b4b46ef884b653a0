import { Batcher } from '../../platform/batcher.ts';
import type { BrokerMessageOut, Receipt } from './producer.ts';

interface MessageBatchesOptions {
  /** One receipt per message, in their order. A failure is that of all. */
  send(messages: readonly BrokerMessageOut[]): Promise<Promise<Receipt>[]>;
  weigh(message: BrokerMessageOut): number;
  maxWeight: number;
  maxInFlight: number;
}

/** Collects messages into requests. One whose time was over while it waited is not sent: it may be under way elsewhere. */
export function messageBatches({
  send,
  ...options
}: MessageBatchesOptions): Batcher<BrokerMessageOut, Receipt> {
  return new Batcher({ ...options, run: (messages) => sendOpen(messages, send), paceMs: 0 });
}

export async function sendOpen(
  messages: readonly BrokerMessageOut[],
  send: MessageBatchesOptions['send'],
): Promise<Promise<Receipt>[]> {
  const open = messages.filter(({ limit }) => !limit.isOver);
  const receipts = open.length === 0 ? [] : await send(open);
  const byMessage = new Map(open.map((message, index) => [message, receipts[index]]));
  return messages.map((message) => handled(byMessage.get(message) ?? notSent()));
}

export const notSent = (): Promise<never> => handled(Promise.reject(new Error('not sent')));

/** A caller may wait for it later, when other requests have ended. Until then Node would take it for a bug. */
function handled<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => undefined);
  return promise;
}

/**
 * For a broker that refuses a request as a whole for one of its messages: the halves are sent, down to the message that it
 * means. At once if they share a connection. Otherwise in turn, so that none waits for a connection under way by the clock.
 */
export async function sendHalves(
  messages: readonly BrokerMessageOut[],
  way: 'at once' | 'in turn',
  send: MessageBatchesOptions['send'],
): Promise<Promise<Receipt>[]> {
  for (const { limit } of messages) limit.begin(null);
  const half = Math.ceil(messages.length / 2);
  const sendPart = (part: readonly BrokerMessageOut[]) =>
    sendOpen(part, send).catch((error: unknown) => part.map(() => handled(Promise.reject<Receipt>(error))));
  const [first, second] = [messages.slice(0, half), messages.slice(half)];
  if (way === 'in turn') return [...(await sendPart(first)), ...(await sendPart(second))];
  return (await Promise.all([first, second].map(sendPart))).flat();
}
