import {
  ChangeMessageVisibilityBatchCommand,
  DeleteMessageBatchCommand,
  type Message,
  ReceiveMessageCommand,
  type SQSClient,
} from '@aws-sdk/client-sqs';
import type { Logger } from '../../platform/logger.ts';
import type { LeasedMessage, LeasedQueue } from '../module/leased-messages.ts';
import { LEASE_MS } from '../module/leased-messages.ts';
import type { Queue } from './sqs-client.ts';

/**
 * A queue of SQS. A lot is one long poll, and if that brought as many messages as it can, up to MORE_AT_ONCE further
 * receives, unless the messages are large. So a worker holds at most 2 × (1 + MORE_AT_ONCE) × 10 messages.
 *
 * Message ids are the keys: an id is never used twice in a queue. The order of a group of a FIFO queue is kept because
 * the queue gives no message of a group while one of it is held, and a lot is stored in the order of its messages.
 */
const AT_ONCE = 10;
const MORE_AT_ONCE = 4;
const LOT_BYTES = 1_048_576;
const LONG_POLL_S = 20;
const BATCH = 10;
const DELETE_TRIES = 3;
/** A broker that does not answer must not hold up a stop for long. */
const REQUEST_MS = 5_000;

export class SqsQueue implements LeasedQueue {
  readonly part: LeasedQueue['part'];
  readonly firstLeaseMs = LEASE_MS;
  readonly #client: SQSClient;
  readonly #url: string;
  readonly #log: Logger;

  constructor(client: SQSClient, { url, id, keepMs }: Queue, log: Logger) {
    this.part = { stream: id, order: { keepMs } };
    this.#client = client;
    this.#url = url;
    this.#log = log;
  }

  async receive(waits: boolean, signal: AbortSignal): Promise<LeasedMessage[]> {
    const first = await this.#receiveOnce(waits ? LONG_POLL_S : 0, signal);
    if (first.length < AT_ONCE || signal.aborted) return first;
    const bytes = first.reduce((sum, { body }) => sum + body.length, 0);
    const more = Math.min(MORE_AT_ONCE, Math.floor(LOT_BYTES / bytes) - 1);
    const others = Array.from({ length: Math.max(0, more) }, () => this.#receiveOnce(0, signal));
    const ends = await Promise.allSettled(others);
    return [...first, ...ends.flatMap((end) => this.#messagesOf(end))];
  }

  async acknowledge(receipts: readonly string[]): Promise<void> {
    await Promise.all(batches(receipts).map((batch) => this.#delete(batch)));
  }

  async lease(receipts: readonly string[], ms: number): Promise<readonly string[]> {
    const refused = batches(receipts).map(async (batch) => {
      const Entries = batch.map((entry) => ({ ...entry, VisibilityTimeout: ms / 1000 }));
      const { Failed: failed = [] } = await this.#client.send(
        new ChangeMessageVisibilityBatchCommand({ QueueUrl: this.#url, Entries }),
        { abortSignal: AbortSignal.timeout(REQUEST_MS) },
      );
      return failed.flatMap(({ Id, SenderFault }) =>
        SenderFault === true ? (batch[Number(Id)]?.ReceiptHandle ?? []) : [],
      );
    });
    return (await Promise.all(refused)).flat();
  }

  /** A failed receive is only logged here. A lasting fault also fails the next lot, which reports it. */
  #messagesOf(end: PromiseSettledResult<LeasedMessage[]>): LeasedMessage[] {
    if (end.status === 'fulfilled') return end.value;
    this.#log.debug({ err: end.reason }, 'SQS: one of several receives failed');
    return [];
  }

  async #receiveOnce(waitSeconds: number, signal: AbortSignal): Promise<LeasedMessage[]> {
    const { Messages: messages = [] } = await this.#client.send(
      new ReceiveMessageCommand({
        QueueUrl: this.#url,
        MaxNumberOfMessages: AT_ONCE,
        WaitTimeSeconds: waitSeconds,
        VisibilityTimeout: LEASE_MS / 1000,
        MessageAttributeNames: ['All'],
      }),
      { abortSignal: signal },
    );
    return messages.map(received);
  }

  /** A message whose deletion fails comes again, and is dropped as a repeat. */
  async #delete(batch: readonly Entry[]): Promise<void> {
    let left = batch;
    for (let tries = 1; left.length > 0 && tries <= DELETE_TRIES; tries++) {
      const { Failed: failed = [] } = await this.#client.send(
        new DeleteMessageBatchCommand({ QueueUrl: this.#url, Entries: [...left] }),
        { abortSignal: AbortSignal.timeout(REQUEST_MS) },
      );
      if (failed.length > 0) this.#log.debug({ failed }, 'SQS: messages could not be deleted');
      // A receipt that is refused stays refused.
      const again = new Set(failed.filter(({ SenderFault }) => SenderFault !== true).map(({ Id }) => Id));
      left = left.filter(({ Id }) => again.has(Id));
    }
  }
}

interface Entry {
  Id: string;
  ReceiptHandle: string;
}

function batches(receipts: readonly string[]): Entry[][] {
  const all: Entry[][] = [];
  for (let from = 0; from < receipts.length; from += BATCH)
    all.push(
      receipts.slice(from, from + BATCH).map((ReceiptHandle, n) => ({ Id: String(n), ReceiptHandle })),
    );
  return all;
}

function received({
  MessageId: id = '',
  ReceiptHandle: receipt = '',
  Body: body = '',
  MessageAttributes: given = {},
}: Message): LeasedMessage {
  const headers = Object.entries(given).map(([name, { StringValue: text, BinaryValue: bytes }]) => [
    name,
    // A header is text.
    text ?? Buffer.from(bytes ?? []).toString('base64'),
  ]);
  return { key: id, id, receipt, body: Buffer.from(body), headers: Object.fromEntries(headers) };
}
