import {
  type BatchResultErrorEntry,
  GetQueueUrlCommand,
  SendMessageBatchCommand,
  type SendMessageBatchResultEntry,
  type SQSClient,
} from '@aws-sdk/client-sqs';
import type { Destination, SqsDestination } from '../../domain/config/destination.ts';
import { Batcher } from '../../platform/batcher.ts';
import { BrokerError } from '../module/broker-module.ts';
import {
  type BrokerMessageOut,
  type DestinationModule,
  type Producer,
  type Receipt,
  SendFailure,
} from '../module/producer.ts';
import { answeredFrom } from './limit-answers.ts';
import { connect } from './sqs-client.ts';
import { toEntry, weightOf } from './sqs-entry.ts';
import { sqsError } from './sqs-error.ts';

/**
 * Amazon SQS as a destination. Up to ten messages go in one request, and the answer says of each by itself whether the queue
 * has it. In a FIFO queue the ordering key is the group, and the `webhook-id` the id by which the queue drops repeats.
 */
const AT_ONCE = 8;
const MAX_ANSWER_BYTES = 1024 * 1024;
const MAX_TEXT = 300;

export const sqsDestination: DestinationModule = {
  connectionOf: (destination) => {
    const { queue_name: _, ...connection } = sqsOf(destination);
    return connection;
  },
  // A request that may have arrived is not repeated by the client: the delivery is tried again by our own rules.
  open: async (destination, context) =>
    new SqsProducer(
      await connect(sqsOf(destination), context, { maxAttempts: 1, maxAnswerBytes: MAX_ANSWER_BYTES }),
    ),
};

function sqsOf(destination: Destination): SqsDestination {
  if (destination.type !== 'sqs') throw new BrokerError('The settings are not those of Amazon SQS.');
  return destination.sqs;
}

class SqsProducer implements Producer {
  readonly #client: SQSClient;
  readonly #urls = new Map<string, Promise<string>>();
  readonly #queues = new Map<string, Batcher<BrokerMessageOut, Receipt>>();

  constructor(client: SQSClient) {
    this.#client = client;
  }

  get address(): string | null {
    return answeredFrom.get(this.#client) ?? null;
  }

  send(message: BrokerMessageOut): Promise<Receipt> {
    const { queue_name: name } = sqsOf(message.destination);
    let batches = this.#queues.get(name);
    if (batches === undefined) {
      batches = new Batcher({
        run: (messages) => this.#sendAll(name, messages),
        weigh: weightOf,
        maxWeight: 1,
        maxInFlight: AT_ONCE,
        paceMs: 0,
      });
      this.#queues.set(name, batches);
    }
    return batches.add(message);
  }

  async close(): Promise<void> {
    this.#client.destroy();
  }

  async #sendAll(name: string, messages: readonly BrokerMessageOut[]): Promise<Promise<Receipt>[]> {
    try {
      const url = await this.#urlOf(name);
      const entries = messages.map((message, index) => toEntry(message, index, url.endsWith('.fifo')));
      const sendable = entries.flatMap((entry) => (entry instanceof SendFailure ? [] : [entry]));
      const command = new SendMessageBatchCommand({ QueueUrl: url, Entries: sendable });
      const answer = sendable.length === 0 ? null : await this.#client.send(command);
      const taken = new Map((answer?.Successful ?? []).map((one) => [one.Id, one]));
      const refused = new Map((answer?.Failed ?? []).map((one) => [one.Id, one]));
      return entries.map(async (entry, index) => {
        if (entry instanceof SendFailure) throw entry;
        const receipt = taken.get(String(index));
        if (receipt === undefined) throw refusal(refused.get(String(index)));
        return receiptOf(receipt, this.address);
      });
    } catch (error) {
      this.#urls.delete(name);
      throw tooLarge(error, messages) ?? sqsError(error);
    }
  }

  #urlOf(name: string): Promise<string> {
    let url = this.#urls.get(name);
    if (url === undefined) {
      url = this.#client.send(new GetQueueUrlCommand({ QueueName: name })).then(({ QueueUrl }) => {
        if (QueueUrl === undefined) throw new BrokerError('The broker did not say the URL of the queue.');
        return QueueUrl;
      });
      this.#urls.set(name, url);
    }
    return url;
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

const TOO_LARGE = 'The message is larger than the queue allows.';

function refusal(failed: BatchResultErrorEntry | undefined): SendFailure {
  const words = `${failed?.Code ?? ''} ${failed?.Message ?? ''}`.trim().slice(0, MAX_TEXT);
  if (/shorter than|too long|TooLong/i.test(words)) return new SendFailure('message_too_large', TOO_LARGE);
  return new SendFailure(
    'broker_refused',
    `The queue did not take the message: ${words || 'it gave no reason'}.`,
  );
}

/** A large message goes alone, and the service refuses the whole request. */
function tooLarge(error: unknown, { length }: readonly BrokerMessageOut[]): SendFailure | null {
  const { name, message } = error as Error;
  const isMeant = /TooLong|shorter than|too long/i.test(`${name} ${message}`);
  return isMeant && length === 1 ? new SendFailure('message_too_large', TOO_LARGE, { cause: error }) : null;
}
