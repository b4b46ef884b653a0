import type { Channel, ChannelModel, ConsumeMessage } from 'amqplib';
import type { Logger } from '../../platform/logger.ts';
import { BrokerError } from '../module/broker-error.ts';
import { type ConsumerContext, StoreAborted, type StoredMessages } from '../module/broker-module.ts';
import { goodbye, unlessAborted } from '../module/until-stopped.ts';
import { Prefetch } from './prefetch.ts';
import type { ReadGate } from './read-gate.ts';
import { received } from './received-message.ts';

/**
 * One channel with one consumer. It stores what has come as one lot, acknowledges it, and takes what came meanwhile. So
 * the broker sees at most `Prefetch.count` messages without an acknowledgement (twice that for a moment after the count
 * changed), and sends no more until some are stored.
 *
 *   running -> stopped: the lot under way is stored and acknowledged; closing the channel gives the others back.
 *   running -> failed:  messages of the channel cannot be acknowledged any more. The lot is given up, and the broker
 *                       delivers it again, to any consumer.
 */
export interface QueueWorkerDeps {
  model: ChannelModel;
  queue: string;
  stream: string;
  /** A message that can never be an event is stored and then rejected, so that the broker dead-letters it. */
  isDeadLettered: boolean;
  gate: ReadGate;
  context: Pick<ConsumerContext, 'store' | 'note' | 'connected'>;
  log: Logger;
  /** Aborts when the source is stopped, and when it has failed. */
  ended: AbortSignal;
  /** Aborts when the connection or a channel has failed. */
  failed: AbortSignal;
  fail(error: Error): void;
}

const MAX_LOT = 200;
/** A lost connection brings back what was stored and not acknowledged, as soon as there is another; and senders repeat. */
const KEEP_MS = 7 * 86_400_000;
const CANCELLED = 'The broker ended the consumer: the queue was deleted, or moved to another node.';
const WITHOUT_ID =
  'Some messages have no message_id: after a lost connection or a crash they may be stored twice.';

export class QueueWorker {
  readonly #deps: QueueWorkerDeps;
  readonly #prefetch = new Prefetch();
  readonly #waiting: ConsumeMessage[] = [];
  #consumerTag = '';
  #news = Promise.withResolvers<void>();

  constructor(deps: QueueWorkerDeps) {
    this.#deps = deps;
  }

  async run(): Promise<void> {
    const { model, ended, failed, fail, log } = this.#deps;
    const channel = await unlessAborted(ended, model.createChannel());
    // If the connection ended, its reason comes next, and is the one to give.
    const onClose = () => setImmediate(fail, new BrokerError('The broker closed the connection.'));
    const wake = () => this.#news.resolve();
    channel.on('error', fail).on('close', onClose);
    ended.addEventListener('abort', wake);
    try {
      await this.#takeAll(channel);
    } catch (error) {
      if (!ended.aborted) throw error;
    } finally {
      ended.removeEventListener('abort', wake);
      channel.off('close', onClose);
      // Acknowledgements are flushed before the connection ends.
      if (!failed.aborted) await goodbye(channel.close(), log);
    }
  }

  async #takeAll(channel: Channel): Promise<void> {
    const { ended, context } = this.#deps;
    await this.#consume(channel);
    context.connected();
    while (!ended.aborted) {
      this.#news = Promise.withResolvers();
      if (this.#waiting.length === 0) await this.#news.promise;
      else await this.#storeSome(channel);
    }
  }

  async #consume(channel: Channel): Promise<void> {
    const { queue, ended } = this.#deps;
    await unlessAborted(ended, channel.prefetch(this.#prefetch.count));
    const consuming = channel.consume(queue, (message) => this.#take(message));
    this.#consumerTag = (await unlessAborted(ended, consuming)).consumerTag;
  }

  #take(message: ConsumeMessage | null): void {
    if (message === null) return this.#deps.fail(new BrokerError(CANCELLED));
    this.#deps.gate.enter(message.content.length);
    this.#waiting.push(message);
    this.#news.resolve();
  }

  async #storeSome(channel: Channel): Promise<void> {
    const { gate, ended } = this.#deps;
    const messages = this.#waiting.splice(0, MAX_LOT);
    await this.#store(channel, messages);
    const sizes = messages.map(({ content }) => content.length);
    gate.leave(sizes.reduce((sum, size) => sum + size, 0));
    if (!this.#prefetch.note(sizes)) return;
    await unlessAborted(ended, channel.cancel(this.#consumerTag));
    await this.#consume(channel);
  }

  async #store(channel: Channel, messages: readonly ConsumeMessage[]): Promise<void> {
    const { context, stream, failed: signal } = this.#deps;
    const lot = messages.map(received);
    if (lot.some(({ key }) => key === null)) context.note(WITHOUT_ID);
    try {
      const stored = await context.store({ stream, order: { keepMs: KEEP_MS }, signal }, lot);
      this.#acknowledge(channel, messages, stored);
    } catch (error) {
      if (!(error instanceof StoreAborted)) throw error;
      this.#acknowledge(channel, messages.slice(0, error.count), error.stored);
    }
  }

  #acknowledge(channel: Channel, messages: readonly ConsumeMessage[], { unreadable }: StoredMessages): void {
    const { isDeadLettered, failed } = this.#deps;
    if (failed.aborted) return;
    const isRejected = (_: unknown, number: number) => isDeadLettered && unreadable.has(number);
    for (const message of messages.filter(isRejected)) channel.nack(message, false, false);
    const last = messages.findLast((message, number) => !isRejected(message, number));
    // With all before it that have no answer yet.
    if (last !== undefined) channel.ack(last, true);
  }
}
