import { BrokerError } from '../module/broker-module.ts';
import { nestedErrors, networkReason } from '../module/network-error.ts';

/** Words an error of Amazon SQS or of the connection for the owner of the source. */
interface Nested extends Error {
  code?: unknown;
  /** Only errors that the server answered with have it. */
  $metadata?: { httpStatusCode?: number };
}

const WRONG_KEY = 'The broker refused the access key: check access_key_id and secret_key.';
const NO_QUEUE = 'The queue does not exist: check queue_name and default_region.';
const BUSY = 'The broker says that it gets too many requests.';

const BY_NAME: Record<string, string> = {
  InvalidClientTokenId: WRONG_KEY,
  UnrecognizedClientException: WRONG_KEY,
  InvalidAccessKeyId: WRONG_KEY,
  InvalidSecurity: WRONG_KEY,
  SignatureDoesNotMatch: WRONG_KEY,
  InvalidSignatureException: WRONG_KEY,
  IncompleteSignature: WRONG_KEY,
  ExpiredToken: 'The access key has expired.',
  QueueDoesNotExist: NO_QUEUE,
  'AWS.SimpleQueueService.NonExistentQueue': NO_QUEUE,
  RequestThrottled: BUSY,
  ThrottlingException: BUSY,
  OverLimit: 'Too many messages of the queue are in flight.',
  AnswerTooLarge: 'The answer of the broker is too large.',
  TimeoutError: 'The broker does not answer.',
};
const MAX_TEXT = 300;

export function sqsError(error: unknown): Error {
  const all = [...nestedErrors(error as Nested)];
  const own = all.find((one) => one instanceof BrokerError);
  if (own !== undefined) return own;
  const named = all.map(({ name }) => BY_NAME[name]).find((text) => text !== undefined);
  const text = named ?? networkReason(all) ?? answered(all);
  return text === undefined ? (error as Error) : new BrokerError(text, { cause: error });
}

/** Its own words name the right that is missing, or the key of the encryption that cannot be used. */
function answered(all: readonly Nested[]): string | undefined {
  const answer = all.find(({ $metadata }) => $metadata?.httpStatusCode !== undefined);
  if (answer === undefined) return undefined;
  const words = `${answer.name}: ${answer.message}`.slice(0, MAX_TEXT);
  return /AccessDenied|NotAuthorized|AuthFailure/.test(answer.name)
    ? `The access key has no right to do this. The broker answered: ${words}`
    : `The broker answered: ${words}`;
}
