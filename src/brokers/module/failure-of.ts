import { BlockedAddress } from '../../dispatch/address/egress.ts';
import { type ErrorCode, ExchangeFailure } from '../../dispatch/connection/outcome.ts';
import { BrokerError } from './broker-module.ts';
import { nestedErrors } from './network-error.ts';
import { SendFailure } from './producer.ts';
import { WorkloadError } from './workload-access.ts';

const BY_CODE: Record<string, ErrorCode> = {
  ECONNREFUSED: 'connection_refused',
  ECONNRESET: 'connection_reset',
  EPIPE: 'connection_reset',
  ETIMEDOUT: 'timeout',
  EHOSTUNREACH: 'unreachable',
  ENETUNREACH: 'unreachable',
  EPROTO: 'tls_failed',
  CERT_HAS_EXPIRED: 'tls_failed',
  ERR_TLS_CERT_ALTNAME_INVALID: 'tls_failed',
};

/** For sentences of the modules, whose errors carry no code. */
const BY_TEXT: readonly (readonly [RegExp, ErrorCode])[] = [
  [/does not answer|did not answer/, 'timeout'],
  [/virtual host/, 'sign_in_refused'],
  [/no right/, 'not_permitted'],
  [/user name|password|access key|service account|authentication/i, 'sign_in_refused'],
  [/does not exist|was deleted/, 'target_not_found'],
  [/may not/, 'not_permitted'],
  [/closed the connection/, 'connection_reset'],
];

/** Any error of a module, in a word and a sentence. */
export function failureOf(error: unknown): ExchangeFailure {
  if (error instanceof ExchangeFailure) return error;
  const all = [...nestedErrors(error as Error & { code?: unknown })];
  const sent = all.find((one) => one instanceof SendFailure);
  if (sent !== undefined) return new ExchangeFailure(sent.code, sent.message);
  const unarmed = all.find((one) => one instanceof WorkloadError);
  if (unarmed !== undefined) return new ExchangeFailure('sign_in_refused', unarmed.message, true);
  const blocked = all.find((one) => one instanceof BlockedAddress);
  const said = all.find((one) => one instanceof BrokerError)?.message ?? 'The broker failed.';
  if (blocked !== undefined) return new ExchangeFailure(blocked.code, said, blocked.isOurs);
  return new ExchangeFailure(codeOf(all, said), said);
}

function codeOf(all: readonly (Error & { code?: unknown })[], said: string): ErrorCode {
  // A connection that is reset in a handshake is the fault of TLS.
  if (/certificate|TLS/.test(said)) return 'tls_failed';
  const known = all.map(({ code }) => (typeof code === 'string' ? BY_CODE[code] : undefined));
  return (
    known.find((code) => code !== undefined) ??
    BY_TEXT.find(([pattern]) => pattern.test(said))?.[1] ??
    'broker_refused'
  );
}
