import type { ErrorCode } from '../../domain/delivery.ts';
import { nestedErrors } from '../module/network-error.ts';
import { SendFailure } from '../module/producer.ts';
import { kafkaError } from './kafka-error.ts';

/** An error of a producer, in a word and a sentence for the owner of the endpoint. */
interface Nested extends Error {
  /** Only errors that the broker answered with have it. */
  apiId?: string;
  response?: unknown;
}

const TOO_LARGE = 'The message is larger than the broker or the topic allows.';

const BY_API: Record<string, readonly [ErrorCode, string]> = {
  MESSAGE_TOO_LARGE: ['message_too_large', TOO_LARGE],
  RECORD_LIST_TOO_LARGE: ['message_too_large', TOO_LARGE],
  TOPIC_AUTHORIZATION_FAILED: ['not_permitted', 'The user may not write to the topic.'],
  CLUSTER_AUTHORIZATION_FAILED: ['not_permitted', 'The user may not write to the cluster.'],
  UNKNOWN_TOPIC_OR_PARTITION: ['target_not_found', 'The topic does not exist.'],
  SASL_AUTHENTICATION_FAILED: ['sign_in_refused', 'The broker refused the user name or the password.'],
  NOT_ENOUGH_REPLICAS: ['broker_refused', 'Too few replicas of the partition are in sync.'],
  NOT_ENOUGH_REPLICAS_AFTER_APPEND: ['broker_refused', 'Too few replicas of the partition are in sync.'],
  INVALID_RECORD: ['broker_refused', 'The broker says that the message breaks a rule of the topic.'],
};

/** A batch fails for one of its messages. */
const ABOUT_MESSAGES = new Set([
  'MESSAGE_TOO_LARGE',
  'RECORD_LIST_TOO_LARGE',
  'INVALID_RECORD',
  'CORRUPT_MESSAGE',
]);

const answers = (error: unknown): Nested[] => [...nestedErrors(error as Nested)];

export const isAboutMessages = (error: unknown): boolean =>
  answers(error).some(({ apiId = '' }) => ABOUT_MESSAGES.has(apiId));

export function produceError(error: unknown): Error {
  const known = answers(error).find(({ apiId = '' }) => BY_API[apiId] !== undefined);
  const [code, text] = BY_API[known?.apiId ?? ''] ?? [];
  return code === undefined ? kafkaError(error) : new SendFailure(code, text ?? '', { cause: error });
}

interface ProduceAnswer {
  responses?: { partitionResponses?: { index: number; errorCode: number; baseOffset: bigint }[] }[];
}

/** The partitions that took their part of a request that failed as a whole, with the offset of its first message. */
export function producedIn(error: unknown): ReadonlyMap<number, bigint> {
  const parts = answers(error).flatMap(
    ({ response }) => (response as ProduceAnswer | undefined)?.responses ?? [],
  );
  const taken = parts
    .flatMap(({ partitionResponses = [] }) => partitionResponses)
    .filter(({ errorCode }) => errorCode === 0)
    .map(({ index, baseOffset }) => [index, baseOffset] as const);
  const others =
    (error as { produced?: { offsets?: { partition: number; offset: bigint }[] } }).produced?.offsets ?? [];
  return new Map([...others.map(({ partition, offset }) => [partition, offset] as const), ...taken]);
}
