import { nestedErrors, type Reason, worded } from '../module/broker-error.ts';
import { NO_ANSWER, networkReason } from '../module/network-error.ts';

/**
 * The errors of the client say little on top ("Cannot connect to any broker"); what happened is further down, among
 * the errors that an error is made of. Here it is put into a sentence for the owner of the source.
 */
interface Nested extends Error {
  code?: string;
  /** Only errors that the broker answered with have it. */
  apiId?: string;
}

type Reasons = readonly (readonly [RegExp, Reason])[];

const NO_LEADER: Reason = ['broker_refused', 'A partition has no leader now, or another one.'];

/** The broker sent what its protocol does not allow. */
export const NOT_KAFKA = 'The broker breaks the protocol of Kafka.';

const BY_API: Readonly<Record<string, Reason>> = {
  SASL_AUTHENTICATION_FAILED: [
    'sign_in_refused',
    'The broker refused the user name or the password: check auth.',
  ],
  UNSUPPORTED_SASL_MECHANISM: [
    'sign_in_refused',
    'The broker does not take this kind of authentication: check auth.type and auth.hash.',
  ],
  ILLEGAL_SASL_STATE: ['sign_in_refused', 'The broker does not take authentication on this port.'],
  UNKNOWN_TOPIC_OR_PARTITION: ['target_not_found', 'The topic does not exist: create it, or check its name.'],
  UNKNOWN_TOPIC_ID: ['target_not_found', 'The topic was deleted.'],
  TOPIC_AUTHORIZATION_FAILED: ['not_permitted', 'The user may not read the topic: give it the right Read.'],
  GROUP_AUTHORIZATION_FAILED: [
    'not_permitted',
    'The user may not use the consumer group: give it the right Read.',
  ],
  CLUSTER_AUTHORIZATION_FAILED: ['not_permitted', 'The user may not use the cluster.'],
  NOT_LEADER_OR_FOLLOWER: NO_LEADER,
  LEADER_NOT_AVAILABLE: NO_LEADER,
  COORDINATOR_NOT_AVAILABLE: [
    'broker_refused',
    'The broker is not ready yet: it has no coordinator for the consumer group.',
  ],
  INCONSISTENT_GROUP_PROTOCOL: [
    'broker_refused',
    'Other members of the consumer group use another protocol: give the source a group of its own.',
  ],
};

/** A reset connection is their cause, and says less. */
const ABOUT_TLS: Reasons = [
  [/Broker requires TLS/, ['tls_failed', 'The broker wants TLS: set auth.tls.']],
  [
    /TLS handshake failed/,
    ['tls_failed', 'The broker does not speak TLS on this port: unset auth.tls or use another port.'],
  ],
];

const BY_TEXT: Reasons = [
  [/^Unknown topic/, ['target_not_found', 'The topic does not exist: create it, or check its name.']],
  [/timed out/, NO_ANSWER],
  [/not available in the current cluster metadata/, NO_LEADER],
  [/unexpected response with correlation_id/, ['broker_refused', NOT_KAFKA]],
  [
    /Connection closed/,
    ['connection_reset', 'The broker closed the connection: it may want authentication or TLS.'],
  ],
];

/** `only`: the errors that count, of those that it is made of. `byApi`: the meaning of answers of the broker. */
export const kafkaError = (error: unknown, only?: readonly Nested[], byApi = BY_API): Error =>
  worded(
    error,
    (parts: readonly Nested[]) =>
      last(parts, ({ apiId }) => byApi[apiId ?? ''] ?? BY_API[apiId ?? '']) ??
      last(parts, ({ message }) => ofText(ABOUT_TLS, message)) ??
      networkReason(parts) ??
      last(parts, ({ message }) => ofText(BY_TEXT, message)) ??
      last(parts, ({ apiId, message }) =>
        apiId === undefined ? undefined : ['broker_refused', `The broker answered: ${message}`],
      ),
    only,
  );

/** The broker gave the partitions to other members; the client joins again by itself. */
export function isRebalance(error: unknown): boolean {
  return [...nestedErrors(error as Nested)].some(
    (one) => (one as { needsRejoin?: boolean }).needsRejoin === true,
  );
}

const ofText = (reasons: Reasons, message: string): Reason | undefined =>
  reasons.find(([pattern]) => pattern.test(message))?.[1];

/** The client tries again by itself: the last error is that of its last try. */
function last(parts: readonly Nested[], reasonOf: (part: Nested) => Reason | undefined): Reason | undefined {
  for (const part of parts.toReversed()) {
    const reason = reasonOf(part);
    if (reason !== undefined) return reason;
  }
  return undefined;
}
