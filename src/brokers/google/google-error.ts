import { status } from '@grpc/grpc-js';
import { BrokerError } from '../module/broker-module.ts';
import { nestedErrors, networkReason } from '../module/network-error.ts';

/** Words an error of Google Pub/Sub or of the connection for the owner of the source. */
interface Answer extends Error {
  code?: unknown;
  details?: string;
}

const NO_ANSWER = 'The broker does not answer.';
const BY_STATUS: Record<number, string> = {
  [status.UNAUTHENTICATED]: 'The broker refused the service account: its key may have been deleted.',
  [status.NOT_FOUND]: 'The subscription does not exist: check project_id and subscription_id.',
  [status.DEADLINE_EXCEEDED]: NO_ANSWER,
  [status.RESOURCE_EXHAUSTED]: 'The broker says that it gets too many requests.',
};
const MAX_TEXT = 300;

export function googleError(error: unknown): Error {
  const all = [...nestedErrors(error as Answer)];
  const own = all.find((one) => one instanceof BrokerError);
  if (own !== undefined) return own;
  const { code, details = '' } = error as Answer;
  if (typeof code !== 'number') {
    const text = (error as Error).name === 'AbortError' ? NO_ANSWER : networkReason(all);
    return text === undefined ? (error as Error) : new BrokerError(text, { cause: error });
  }
  // A status has the error of the connection in its text only.
  const inText = Object.assign(new Error(details), { code: /\bE[A-Z]{4,}\b|\bERR_\w+/.exec(details)?.[0] });
  const lost = isStatus(error, status.UNAVAILABLE)
    ? (networkReason([inText]) ?? 'The broker cannot be reached.')
    : undefined;
  const words = `The broker answered: ${details.slice(0, MAX_TEXT)}`;
  const denied = isStatus(error, status.PERMISSION_DENIED)
    ? `The service account has no right to do this. ${words}`
    : undefined;
  return new BrokerError(BY_STATUS[code] ?? lost ?? denied ?? words, { cause: error });
}

export const isStatus = (error: unknown, ...codes: readonly number[]): boolean =>
  codes.includes((error as Answer).code as number);
