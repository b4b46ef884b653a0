import { nestedErrors, type Reason } from '../module/broker-error.ts';
import { kafkaError } from './kafka-error.ts';

const TOO_LARGE: Reason = ['message_too_large', 'The message is larger than the broker or the topic allows.'];
const TOO_FEW: Reason = ['broker_refused', 'Too few replicas of the partition are in sync.'];

/** Answers of the broker to one who sends. */
const BY_API: Readonly<Record<string, Reason>> = {
  MESSAGE_TOO_LARGE: TOO_LARGE,
  RECORD_LIST_TOO_LARGE: TOO_LARGE,
  TOPIC_AUTHORIZATION_FAILED: [
    'not_permitted',
    'The user may not write to the topic: give it the right Write.',
  ],
  CLUSTER_AUTHORIZATION_FAILED: [
    'not_permitted',
    'The user may not write to the cluster: give it the right IdempotentWrite.',
  ],
  NOT_ENOUGH_REPLICAS: TOO_FEW,
  NOT_ENOUGH_REPLICAS_AFTER_APPEND: TOO_FEW,
  INVALID_RECORD: ['broker_refused', 'The broker says that the message breaks a rule of the topic.'],
};

/** The part of a partition fails for one of its messages. Nothing of it is stored. */
const ABOUT_MESSAGES = new Set([
  'MESSAGE_TOO_LARGE',
  'RECORD_LIST_TOO_LARGE',
  'INVALID_RECORD',
  'CORRUPT_MESSAGE',
]);

/** Errors of single messages are below the place of their partition. */
const RECORD = /\/record_errors\/.*$/;

interface Part extends Error {
  /** Only errors that the broker answered with have it. */
  apiId?: string;
  /** The place in the answer that it is about. */
  path?: string;
  errors?: Part[];
  response?: Answer;
}

interface Answer {
  responses?: { partitionResponses?: PartitionAnswer[] }[];
}

interface PartitionAnswer {
  index: number;
  errorCode: number;
  baseOffset: bigint;
}

/**
 * The failure of a request to produce, by partition. The broker answers for each partition by itself: one may have refused
 * its part for a message that is too large while another one took its part, or has no leader.
 */
export class ProduceFailure {
  readonly #error: unknown;
  /** The errors of each partition, in the order of the client's tries. */
  readonly #ofPartition = new Map<number, Part[]>();
  /** The errors of the whole request, such as those of the connection. */
  readonly #ofAll: Part[];
  /** There may be thousands of errors, of as many brokers. */
  #reasonOfAll: Error | null = null;
  /** The partitions that took their part, with the offset of its first message. */
  readonly offsets = new Map<number, bigint>();

  constructor(error: unknown) {
    this.#error = error;
    const parts = [...nestedErrors(error as Part)];
    const others = (error as { produced?: { offsets?: { partition: number; offset: bigint }[] } }).produced;
    for (const { partition, offset } of others?.offsets ?? []) this.offsets.set(partition, offset);
    const known = new Set<Part>();
    for (const part of parts) for (const one of this.#read(part)) known.add(one);
    this.#ofAll = parts.filter((part) => !known.has(part));
  }

  /** Reads an answer. Returns the errors in it that are about one partition. */
  #read({ response, errors = [] }: Part): Part[] {
    const answers = new Map<string, PartitionAnswer>();
    for (const [topic, { partitionResponses = [] }] of (response?.responses ?? []).entries())
      for (const [place, answer] of partitionResponses.entries()) {
        answers.set(`/responses/${topic}/partition_responses/${place}`, answer);
        if (answer.errorCode === 0) this.offsets.set(answer.index, answer.baseOffset);
      }
    return errors.filter((one) => {
      const answer = answers.get((one.path ?? '').replace(RECORD, ''));
      if (answer === undefined) return false;
      this.#ofPartition.set(answer.index, [...(this.#ofPartition.get(answer.index) ?? []), one]);
      return true;
    });
  }

  /** The broker stored nothing of the partition, because of one of its messages. */
  isAboutMessages(partition: number): boolean {
    return ABOUT_MESSAGES.has(this.#ofPartition.get(partition)?.at(-1)?.apiId ?? '');
  }

  reasonOf(partition: number): Error {
    const own = this.#ofPartition.get(partition);
    if (own !== undefined) return kafkaError(this.#error, own, BY_API);
    this.#reasonOfAll ??= kafkaError(this.#error, this.#ofAll, BY_API);
    return this.#reasonOfAll;
  }
}

/** An error before anything was sent. */
export const produceError = (error: unknown): Error => kafkaError(error, undefined, BY_API);
