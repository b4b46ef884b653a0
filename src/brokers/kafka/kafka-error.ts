import { BrokerError } from '../module/broker-module.ts';
import { nestedErrors, networkReason } from '../module/network-error.ts';

/**
 * The errors of the client say little on top ("Cannot connect to any broker"); what happened is further down, among
 * the errors that an error is made of. Here it is put into a sentence for the owner of the source.
 */
interface Nested extends Error {
  code?: string;
  /** Only errors that the broker answered with have it. */
  apiId?: string;
}

type Texts = readonly (readonly [RegExp, string])[];

const BY_API: Record<string, string> = {
  SASL_AUTHENTICATION_FAILED: 'The broker refused the user name or the password.',
  UNSUPPORTED_SASL_MECHANISM:
    'The broker does not take this kind of authentication: check auth.type and auth.hash.',
  ILLEGAL_SASL_STATE: 'The broker does not take authentication on this port.',
  UNKNOWN_TOPIC_OR_PARTITION: 'The topic does not exist.',
  UNKNOWN_TOPIC_ID: 'The topic was deleted.',
  TOPIC_AUTHORIZATION_FAILED: 'The user may not read the topic.',
  GROUP_AUTHORIZATION_FAILED: 'The user may not use the consumer group.',
  CLUSTER_AUTHORIZATION_FAILED: 'The user may not use the cluster.',
  COORDINATOR_NOT_AVAILABLE: 'The broker is not ready yet: it has no coordinator for the consumer group.',
  INCONSISTENT_GROUP_PROTOCOL:
    'Other members of the consumer group use another protocol: give the source a group of its own.',
};

/** A reset connection is their cause, and says less. */
const ABOUT_TLS: Texts = [
  [/Broker requires TLS/, 'The broker wants TLS: set auth.tls.'],
  [/TLS handshake failed/, 'The broker does not speak TLS on this port: unset auth.tls or use another port.'],
];

const BY_TEXT: Texts = [
  [/^Unknown topic/, 'The topic does not exist.'],
  [/Connection closed/, 'The broker closed the connection: it may want authentication or TLS.'],
];

export function kafkaError(error: unknown): Error {
  const all = [...nestedErrors(error as Nested)];
  const own = all.find((one) => one instanceof BrokerError);
  if (own !== undefined) return own;
  const text =
    first(all, ({ apiId }) => BY_API[apiId ?? '']) ??
    first(all, ({ message }) => ofText(ABOUT_TLS, message)) ??
    networkReason(all) ??
    first(all, ({ code }) => (code === 'PLT_KFK_TIMEOUT' ? 'The broker does not answer.' : undefined)) ??
    first(all, ({ message }) => ofText(BY_TEXT, message));
  if (text !== undefined) return new BrokerError(text, { cause: error });
  const answered = all.find(({ apiId }) => apiId !== undefined);
  return answered === undefined
    ? (error as Error)
    : new BrokerError(`The broker answered: ${answered.message}`, { cause: error });
}

/** The broker gave the partitions to other members; the client joins again by itself. */
export function isRebalance(error: unknown): boolean {
  return [...nestedErrors(error as Nested)].some(
    (one) => (one as { needsRejoin?: boolean }).needsRejoin === true,
  );
}

const ofText = (texts: Texts, message: string): string | undefined =>
  texts.find(([pattern]) => pattern.test(message))?.[1];

function first(all: readonly Nested[], text: (one: Nested) => string | undefined): string | undefined {
  for (const one of all) {
    const found = text(one);
    if (found !== undefined) return found;
  }
  return undefined;
}
