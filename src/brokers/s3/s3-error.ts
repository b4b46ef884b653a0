import { type BrokerError, brokerError, type Reason, worded } from '../module/broker-error.ts';
import { networkReason } from '../module/network-error.ts';
import type { Answer } from './s3-connection.ts';

/** Words the answer of a server that did not store the object, for the owner of the endpoint. */
const MAX_TEXT = 300;

const WRONG_KEY = 'The broker refused the access key: check access_key_id and secret_key.';
const BUSY = 'The broker asks us to send more slowly.';
const TOO_LARGE = 'The message is larger than the broker takes.';
const DAMAGED = 'The object was damaged on its way to the broker.';

const BY_NAME: Readonly<Record<string, Reason>> = {
  NoSuchBucket: ['target_not_found', 'The bucket does not exist: check bucket, default_region and endpoint.'],
  InvalidBucketName: ['target_not_found', 'The broker has no buckets of such a name: check bucket.'],
  InvalidAccessKeyId: ['sign_in_refused', WRONG_KEY],
  SignatureDoesNotMatch: ['sign_in_refused', WRONG_KEY],
  InvalidSecurity: ['sign_in_refused', WRONG_KEY],
  InvalidToken: ['sign_in_refused', 'The broker refused the token of the access key.'],
  ExpiredToken: ['sign_in_refused', 'The access key has expired.'],
  TokenRefreshRequired: ['sign_in_refused', 'The access key has expired.'],
  RequestTimeTooSkewed: [
    'sign_in_refused',
    'The clocks of this machine and of the broker differ by too much, so it refuses the signature.',
  ],
  EntityTooLarge: ['message_too_large', TOO_LARGE],
  MaxMessageLengthExceeded: ['message_too_large', TOO_LARGE],
  SlowDown: ['broker_refused', BUSY],
  ServiceUnavailable: ['broker_refused', BUSY],
  TooManyRequests: ['broker_refused', BUSY],
  RequestLimitExceeded: ['broker_refused', BUSY],
  RequestTimeout: ['timeout', 'The broker did not get the whole object in time.'],
  BadDigest: ['broker_refused', DAMAGED],
  XAmzContentSHA256Mismatch: ['broker_refused', DAMAGED],
};

const BY_STATUS: Readonly<Record<number, Reason>> = {
  413: ['message_too_large', TOO_LARGE],
  429: ['broker_refused', BUSY],
  503: ['broker_refused', BUSY],
};

export function refusalOf(answer: Answer): BrokerError {
  return brokerError(reasonOf(answer), undefined);
}

function reasonOf(answer: Answer): Reason {
  const { status, text } = answer;
  const name = partOf(text, 'Code');
  const elsewhere = otherPlace(answer, name);
  if (elsewhere !== null) return ['target_not_found', elsewhere];
  const known = BY_NAME[name] ?? BY_STATUS[status];
  if (known !== undefined) return known;
  const words = [name, partOf(text, 'Message')].filter(Boolean).join(': ').slice(0, MAX_TEXT);
  const said = `The broker answered: ${words || `status ${status}`}`;
  // Its own words name the right that is missing, or the key of the encryption that cannot be used.
  if (status === 403 || /AccessDenied|^KMS/.test(name))
    return ['not_permitted', `The access key has no right to put objects into the bucket. ${said}`];
  if (name === 'AuthorizationHeaderMalformed') return ['sign_in_refused', `${WRONG_KEY} ${said}`];
  return ['broker_refused', said];
}

/** A redirect is not followed. It says where the bucket is. */
function otherPlace({ status, headers, text }: Answer, name: string): string | null {
  const isRedirect = status >= 300 && status < 400;
  const given = headers['x-amz-bucket-region'];
  const region = (typeof given === 'string' && given) || partOf(text, 'Region');
  if (!isRedirect && (name !== 'AuthorizationHeaderMalformed' || region === '')) return null;
  if (/^[\w-]{1,64}$/.test(region)) return `The bucket is in the region ${region}: set default_region to it.`;
  const place = partOf(text, 'Endpoint') || URL.parse(headers.location ?? '')?.host || '';
  const hint = /^[\w.:-]{1,200}$/.test(place) ? ` It names ${place}.` : '';
  return `The broker redirects to another address, which is not followed: check default_region and endpoint.${hint}`;
}

/** The text of an element in an answer. The answers are short and flat. */
export const partOf = (xml: string, element: string): string =>
  new RegExp(`<${element}>([^<]*)</${element}>`).exec(xml)?.[1]?.trim() ?? '';

/** An error of the connection. */
export const s3Error = (error: unknown): Error =>
  worded(error, (parts) => networkReason(parts) ?? (isNotHttp(parts) ? NOT_HTTP : undefined));

const NOT_HTTP: Reason = ['broker_refused', 'The server does not speak HTTP.'];

const isNotHttp = (all: readonly { code?: unknown }[]): boolean =>
  all.some(({ code }) => typeof code === 'string' && code.startsWith('HPE_'));
