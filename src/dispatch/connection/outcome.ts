import type { SeenCertificates } from '../../domain/certificate.ts';

/** What became of one exchange with an endpoint. A failure is a value; nothing here is thrown to a caller. */

export type ErrorCode =
  | 'timeout'
  | 'connection_refused'
  | 'connection_reset'
  | 'unreachable'
  | 'dns_not_found'
  | 'dns_failed'
  | 'tls_failed'
  | 'address_blocked'
  | 'invalid_request'
  | 'invalid_response'
  | 'response_too_slow'
  | 'bad_url'
  | 'proxy_failed'
  | 'client_certificate_invalid'
  | 'aborted'
  | 'local_resource';

/** Milliseconds with fractions. A reused connection has neither `dnsMs`, `connectMs` nor `tlsMs`. */
export interface Timings {
  dnsMs?: number;
  connectMs?: number;
  tlsMs?: number;
  firstByteMs?: number;
  totalMs: number;
}

export interface ResponseOutcome {
  kind: 'response';
  status: number;
  /** The status line without the version: `200 OK`. */
  statusText: string;
  headers: Record<string, string[]>;
  body: Buffer;
  /** The answer was longer than `maxResponseBytes`; what is kept is its beginning. */
  truncated: boolean;
  address: string | null;
  /** Of the connection; null where none was open. The same object for all exchanges on it. */
  certificates: SeenCertificates | null;
  timings: Timings;
  startedAt: number;
}

export interface ErrorOutcome {
  kind: 'error';
  code: ErrorCode;
  /** A sentence for people; never holds a secret. */
  message: string;
  /** The fault is on our side, so the attempt must not use up a retry. */
  ours: boolean;
  /**
   * The request was written to a kept connection, which closed before a byte of an answer. Most likely the endpoint
   * closed it as idle at that moment; it may have acted on the request all the same.
   */
  dropped: boolean;
  address: string | null;
  /** Of the connection; null where none was open. The same object for all exchanges on it. */
  certificates: SeenCertificates | null;
  timings: Timings;
  startedAt: number;
}

export type Outcome = ResponseOutcome | ErrorOutcome;

/** Carries a classified failure through code that only passes errors on (undici's callbacks). */
export class ExchangeFailure extends Error {
  override readonly name = 'ExchangeFailure';
  readonly code: ErrorCode;
  readonly ours: boolean;

  constructor(code: ErrorCode, message: string, ours = false) {
    super(message);
    this.code = code;
    this.ours = ours;
  }
}
