import type { Reason } from './broker-error.ts';

const NO_TLS: Reason = [
  'tls_failed',
  'The broker does not speak TLS on this port: check the port, or turn TLS off.',
];
const EXPIRED: Reason = ['tls_failed', "The broker's certificate has expired: it must be renewed."];
const CLOSED: Reason = ['connection_reset', 'The broker closed the connection.'];
const UNREACHABLE: Reason = ['unreachable', 'The broker cannot be reached.'];

export const NO_ANSWER: Reason = ['timeout', 'The broker does not answer.'];

const BY_CODE: Readonly<Record<string, Reason>> = {
  ECONNREFUSED: [
    'connection_refused',
    'The broker refused the connection: check the address and that it is running.',
  ],
  ECONNRESET: CLOSED,
  EPIPE: CLOSED,
  ETIMEDOUT: NO_ANSWER,
  EHOSTUNREACH: UNREACHABLE,
  ENETUNREACH: UNREACHABLE,
  EPROTO: NO_TLS,
  CERT_HAS_EXPIRED: EXPIRED,
  ERR_TLS_CERT_ALTNAME_INVALID: [
    'tls_failed',
    "The broker's certificate is for another name: use the name that is in it.",
  ],
};

/** For clients that give an error of the connection as a text only. */
const BY_TEXT: readonly (readonly [RegExp, Reason])[] = [
  [/wrong version number|packet length too long/i, NO_TLS],
  [/certificate has expired/i, EXPIRED],
  [
    /certificate/i,
    ['tls_failed', "The broker's certificate is not trusted: POSTHORN_CA_FILE may name its authority."],
  ],
];

/** Looks for a network error among an error and its causes. Undefined: there is none. */
export function networkReason(errors: readonly (Error & { code?: unknown })[]): Reason | undefined {
  const known = errors.map(({ code }) => (typeof code === 'string' ? BY_CODE[code] : undefined));
  return (
    known.find((reason) => reason !== undefined) ??
    BY_TEXT.find(([pattern]) => errors.some(({ message }) => pattern.test(message)))?.[1]
  );
}
