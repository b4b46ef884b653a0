import { status } from '@grpc/grpc-js';
import { type Reason, worded } from '../module/broker-error.ts';
import { NO_ANSWER, networkReason } from '../module/network-error.ts';

/** Words an error of Google Pub/Sub or of the connection for the owner of the source. */
interface Answer extends Error {
  code?: unknown;
  details?: string;
}

const BY_STATUS: Readonly<Record<number, Reason>> = {
  [status.UNAUTHENTICATED]: [
    'sign_in_refused',
    'The broker refused the service account: its key may have been deleted.',
  ],
  [status.NOT_FOUND]: [
    'target_not_found',
    'The subscription does not exist: check project_id and subscription_id.',
  ],
  [status.DEADLINE_EXCEEDED]: NO_ANSWER,
  [status.RESOURCE_EXHAUSTED]: ['broker_refused', 'The broker says that it gets too many requests.'],
};
const MAX_TEXT = 300;
/** The service answers with the same status when it has no room for a request that it has. */
const NEVER_CONNECTED = /^No connection established/;

export const googleError = (error: unknown): Error =>
  worded(error, (parts) => {
    const { code, name } = error as Answer;
    if (typeof code === 'number') return answered(error as Answer, code);
    return name === 'AbortError' ? NO_ANSWER : networkReason(parts);
  });

function answered(error: Answer, code: number): Reason {
  const { details = '' } = error;
  const words = `The broker answered: ${details.slice(0, MAX_TEXT)}`;
  if (isStatus(error, status.PERMISSION_DENIED))
    return ['not_permitted', `The service account has no right to do this. ${words}`];
  if (!isStatus(error, status.UNAVAILABLE)) return BY_STATUS[code] ?? ['broker_refused', words];
  // A status has the error of the connection in its text only.
  const inText = Object.assign(new Error(details), { code: /\bE[A-Z]{4,}\b|\bERR_\w+/.exec(details)?.[0] });
  const network = networkReason([inText]);
  if (network !== undefined) return network;
  return NEVER_CONNECTED.test(details)
    ? ['unreachable', 'The broker cannot be reached.']
    : ['broker_refused', words];
}

export const isStatus = (error: unknown, ...codes: readonly number[]): boolean =>
  codes.includes((error as Answer).code as number);
