import { type Reason, worded } from '../module/broker-error.ts';
import { NO_ANSWER, networkReason } from '../module/network-error.ts';

/** Words an error of Amazon SQS or of the connection for the owner of the source. */
interface Nested extends Error {
  code?: unknown;
  /** Only errors that the server answered with have it. */
  $metadata?: { httpStatusCode?: number };
}

const WRONG_KEY: Reason = [
  'sign_in_refused',
  'The broker refused the access key: check access_key_id and secret_key.',
];
const NO_QUEUE: Reason = [
  'target_not_found',
  'The queue does not exist: check queue_name and default_region.',
];
const BUSY: Reason = ['broker_refused', 'The broker says that it gets too many requests.'];

const BY_NAME: Readonly<Record<string, Reason>> = {
  InvalidClientTokenId: WRONG_KEY,
  UnrecognizedClientException: WRONG_KEY,
  InvalidAccessKeyId: WRONG_KEY,
  InvalidSecurity: WRONG_KEY,
  SignatureDoesNotMatch: WRONG_KEY,
  InvalidSignatureException: WRONG_KEY,
  IncompleteSignature: WRONG_KEY,
  ExpiredToken: ['sign_in_refused', 'The access key has expired.'],
  QueueDoesNotExist: NO_QUEUE,
  'AWS.SimpleQueueService.NonExistentQueue': NO_QUEUE,
  RequestThrottled: BUSY,
  ThrottlingException: BUSY,
  OverLimit: ['broker_refused', 'Too many messages of the queue are in flight.'],
  AnswerTooLarge: ['broker_refused', 'The answer of the broker is too large.'],
  TimeoutError: NO_ANSWER,
};
const MAX_TEXT = 300;

export const sqsError = (error: unknown): Error =>
  worded(error, (parts: readonly Nested[]) => {
    const named = parts.map(({ name }) => BY_NAME[name]).find((reason) => reason !== undefined);
    return named ?? networkReason(parts) ?? answered(parts);
  });

/** Its own words name the right that is missing, or the key of the encryption that cannot be used. */
function answered(all: readonly Nested[]): Reason | undefined {
  const answer = all.find(({ $metadata }) => $metadata?.httpStatusCode !== undefined);
  if (answer === undefined) return undefined;
  const { name, message, $metadata } = answer;
  // The words of the library for an answer that names no error, such as one of another server at this address.
  const isUnnamed = message === 'UnknownError';
  const said = isUnnamed ? `status ${$metadata?.httpStatusCode}` : `${name}: ${message}`;
  const words = `The broker answered: ${said.slice(0, MAX_TEXT)}`;
  return /AccessDenied|NotAuthorized|AuthFailure/.test(name)
    ? ['not_permitted', `The access key has no right to do this. ${words}`]
    : ['broker_refused', words];
}
