import { status } from '@grpc/grpc-js';
import { BrokerError, brokerError } from '../module/broker-error.ts';
import { messageBatches, sendHalves, sendOpen } from '../module/message-batches.ts';
import type { BrokerMessageOut, DestinationModule, Producer, Receipt } from '../module/producer.ts';
import { GoogleCalls } from './google-calls.ts';
import { googleError, isStatus } from './google-error.ts';

/**
 * Google Pub/Sub as a destination. The service takes a request as a whole or not at all, so the halves of one that it finds
 * invalid are sent, down to the message that it means. The ordering key is that of the delivery, and a request has messages
 * of one key.
 */
const MAX_BATCH_BYTES = 4_000_000;
/** The service takes 1,000 messages of a request. */
const LEAST_WEIGHT = MAX_BATCH_BYTES / 1_000;
const REQUEST_MS = 60_000;
const AT_ONCE = 4;
const MAX_TEXT = 300;

export const googleDestination: DestinationModule<'google'> = {
  // A connection is to one topic: the service finds its place by the name.
  connectionOf: ({ google }) => google,
  open: async ({ google: settings }, context) => {
    try {
      return new GoogleProducer(await GoogleCalls.connect('topic', settings.topic_id, { settings, context }));
    } catch (error) {
      throw googleError(error);
    }
  },
};

class GoogleProducer implements Producer {
  readonly #calls: GoogleCalls<'publish'>;
  readonly #end = new AbortController();
  readonly #batches = messageBatches({
    send: (messages) => this.#sendByKey(messages),
    weigh: ({ body, headers }) => Math.max(LEAST_WEIGHT, body.length + JSON.stringify(headers).length),
    maxWeight: MAX_BATCH_BYTES,
    maxInFlight: AT_ONCE,
  });

  constructor(calls: GoogleCalls<'publish'>) {
    this.#calls = calls;
  }

  get address(): string {
    return this.#calls.address;
  }

  send(message: BrokerMessageOut): Promise<Receipt> {
    return this.#batches.add(message);
  }

  async close(): Promise<void> {
    this.#end.abort();
    this.#calls.close();
  }

  async #sendByKey(messages: readonly BrokerMessageOut[]): Promise<Promise<Receipt>[]> {
    const groups = Map.groupBy(messages, ({ orderingKey }) => orderingKey);
    const sent = new Map<BrokerMessageOut, Promise<Receipt>>();
    for (const group of groups.values()) {
      const sending = this.#sendAll(group);
      group.forEach((message, index) => {
        const receipt = sending.then((receipts) => receipts[index] as Promise<Receipt>);
        receipt.catch(() => undefined);
        sent.set(message, receipt);
      });
    }
    // The batch ends with its last request, so that the limit of requests under way holds for batches.
    await Promise.allSettled(sent.values());
    return messages.map((message) => sent.get(message) as Promise<Receipt>);
  }

  async #sendAll(messages: readonly BrokerMessageOut[]): Promise<Promise<Receipt>[]> {
    await this.#calls.ready().catch((error: unknown) => Promise.reject(publishError(error)));
    // The time of some may be over meanwhile.
    return sendOpen(messages, (open) => this.#publish(open));
  }

  async #publish(messages: readonly BrokerMessageOut[]): Promise<Promise<Receipt>[]> {
    try {
      for (const { limit } of messages) limit.begin('connecting');
      const request = { messages: messages.map(toMessage) };
      const { messageIds } = await this.#calls.callNow<{ messageIds: string[] }>('publish', request, {
        timeoutMs: REQUEST_MS,
        signal: this.#end.signal,
      });
      if (messageIds.length !== messages.length)
        throw new BrokerError('The broker did not answer with an id for each message.');
      return messageIds.map(async (id) => ({ address: this.address, facts: { 'message-id': id } }));
    } catch (error) {
      if (messages.length === 1 || !isStatus(error, status.INVALID_ARGUMENT)) throw publishError(error);
      return sendHalves(messages, 'at once', (half) => this.#sendAll(half));
    }
  }
}

const toMessage = ({ body, headers, orderingKey }: BrokerMessageOut) => ({
  data: body,
  attributes: Object.fromEntries(headers),
  ...(orderingKey !== null && { orderingKey: orderingKey || '-' }),
});

function publishError(error: unknown): Error {
  const { details = '' } = error as { details?: string };
  if (isStatus(error, status.NOT_FOUND))
    return brokerError(
      ['target_not_found', 'The topic does not exist: check project_id and topic_id.'],
      error,
    );
  if (
    isStatus(error, status.INVALID_ARGUMENT, status.RESOURCE_EXHAUSTED) &&
    /too large|larger than/i.test(details)
  )
    return brokerError(['message_too_large', 'The message is larger than the topic allows.'], error);
  // The service limits the number of attributes, their lengths and their names.
  if (isStatus(error, status.INVALID_ARGUMENT) && /attribute|ordering.?key/i.test(details))
    return brokerError(
      ['message_unfit', `The topic cannot carry the message: ${details.slice(0, MAX_TEXT)}`],
      error,
    );
  return googleError(error);
}
