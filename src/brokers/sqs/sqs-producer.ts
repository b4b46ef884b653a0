import {
  type BatchResultErrorEntry,
  SendMessageBatchCommand,
  type SendMessageBatchResultEntry,
  type SQSClient,
  type SQSServiceException,
} from '@aws-sdk/client-sqs';
import { BrokerError } from '../module/broker-error.ts';
import { messageBatches, sendHalves } from '../module/message-batches.ts';
import type { BrokerMessageOut, DestinationModule, Producer, Receipt } from '../module/producer.ts';
import { answeredFrom } from './limit-answers.ts';
import { connect, queueUrl } from './sqs-client.ts';
import { toEntry, weightOf } from './sqs-entry.ts';
import { sqsError } from './sqs-error.ts';

/**
 * Amazon SQS as a destination. Up to ten messages go in one request, and the answer says of each by itself whether the queue
 * has it. In a FIFO queue the ordering key is the group, and the `webhook-id` the id by which the queue drops repeats.
 *
 * The service refuses some messages together with their request. Then its halves are sent, down to the message that it means.
 */
const AT_ONCE = 8;
const MAX_ANSWER_BYTES = 1024 * 1024;
const MAX_TEXT = 300;

export const sqsDestination: DestinationModule<'sqs'> = {
  connectionOf: ({ sqs }) => sqs,
  // A request that may have arrived is not repeated by the client: the delivery is tried again by our own rules.
  open: async ({ sqs: settings }, context) => {
    const client = await connect(settings, context, { maxAttempts: 1, maxAnswerBytes: MAX_ANSWER_BYTES });
    return new SqsProducer(client, settings.queue_name);
  },
};

class SqsProducer implements Producer {
  readonly #client: SQSClient;
  readonly #name: string;
  readonly #batches = messageBatches({
    send: (messages) => this.#sendAll(messages),
    weigh: weightOf,
    maxWeight: 1,
    maxInFlight: AT_ONCE,
  });
  #url: Promise<string> | null = null;

  constructor(client: SQSClient, name: string) {
    this.#client = client;
    this.#name = name;
  }

  get address(): string | null {
    return answeredFrom.get(this.#client) ?? null;
  }

  send(message: BrokerMessageOut): Promise<Receipt> {
    return this.#batches.add(message);
  }

  async close(): Promise<void> {
    this.#client.destroy();
  }

  async #sendAll(messages: readonly BrokerMessageOut[]): Promise<Promise<Receipt>[]> {
    const url = await this.#findUrl();
    try {
      const entries = messages.map((message, index) => {
        if (message.limit.isOver) return new BrokerError('not sent');
        message.limit.begin('connecting');
        return toEntry(message, index, url.endsWith('.fifo'));
      });
      const sendable = entries.flatMap((entry) => (entry instanceof BrokerError ? [] : [entry]));
      const command = new SendMessageBatchCommand({ QueueUrl: url, Entries: sendable });
      const answer = sendable.length === 0 ? null : await this.#client.send(command);
      const taken = new Map((answer?.Successful ?? []).map((one) => [one.Id, one]));
      const refused = new Map((answer?.Failed ?? []).map((one) => [one.Id, one]));
      return entries.map(async (entry, index) => {
        if (entry instanceof BrokerError) throw entry;
        const receipt = taken.get(String(index));
        if (receipt === undefined) throw refusal(refused.get(String(index)));
        return receiptOf(receipt, this.address);
      });
    } catch (error) {
      const isMeant = isAboutMessage(error as SQSServiceException);
      if (isMeant && messages.length > 1)
        return sendHalves(messages, 'in turn', (half) => this.#sendAll(half));
      // The queue may have been made again.
      this.#url = null;
      throw isMeant ? refusal(error as Error) : sqsError(error);
    }
  }

  async #findUrl(): Promise<string> {
    try {
      this.#url ??= queueUrl(this.#client, this.#name);
      return await this.#url;
    } catch (error) {
      this.#url = null;
      throw sqsError(error);
    }
  }
}

const receiptOf = (
  { MessageId, SequenceNumber }: SendMessageBatchResultEntry,
  address: string | null,
): Receipt => ({
  address,
  facts: {
    'message-id': MessageId ?? '',
    ...(SequenceNumber !== undefined && { 'sequence-number': SequenceNumber }),
  },
});

const TOO_LARGE = /TooLong|shorter than|too long/i;
const UNFIT = /InvalidMessageContents|InvalidAttributeValue/;
const PARAMETER = /InvalidParameterValue/;
const REFUSED = 400;

/** An error of the connection, or of a gateway, may have any words. */
const isAboutMessage = ({ name, message, $metadata }: SQSServiceException): boolean =>
  $metadata?.httpStatusCode === REFUSED &&
  [TOO_LARGE, UNFIT, PARAMETER].some((pattern) => pattern.test(`${name} ${message}`));

/** An entry of an answer, or the refusal of a request with one message. */
function refusal(failed: BatchResultErrorEntry | Error | undefined): BrokerError {
  const [code, text] =
    failed instanceof Error ? [failed.name, failed.message] : [failed?.Code, failed?.Message];
  const words = `${code ?? ''} ${text ?? ''}`.trim().slice(0, MAX_TEXT);
  if (TOO_LARGE.test(words))
    return new BrokerError('The message is larger than the queue allows.', { code: 'message_too_large' });
  return new BrokerError(`The queue did not take the message: ${words || 'it gave no reason'}.`, {
    code: UNFIT.test(words) ? 'message_unfit' : 'broker_refused',
  });
}
