import type { SeenCertificates } from '../../domain/certificate.ts';
import type { ErrorCode } from '../../domain/delivery.ts';

/** The result of one exchange with an endpoint. A failure is a value; nothing is thrown to a caller. */

export type { ErrorCode };

/** Milliseconds with fractions. A reused connection has no `dnsMs`, `connectMs` and `tlsMs`. */
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
  /** It is the confirm of a broker, and has no status of HTTP. */
  isConfirm?: true;
  headers: Record<string, string[]>;
  body: Buffer;
  /** The response was longer than `maxResponseBytes`. Its beginning is kept. */
  truncated: boolean;
  address: string | null;
  /** The connection's certificates, null if none was open. All its exchanges share one object. */
  certificates: SeenCertificates | null;
  timings: Timings;
  /** By the monotonic clock. */
  startedMs: number;
}

export interface ErrorOutcome {
  kind: 'error';
  code: ErrorCode;
  /** A sentence for people. It never contains a secret. */
  message: string;
  /** The fault is on our side, so the attempt must not use up a retry. */
  ours: boolean;
  /**
   * The request was written to a kept-alive connection, which closed before the first byte of a response.
   * Most likely the endpoint closed it as idle at that moment. It may still have processed the request.
   */
  dropped: boolean;
  /** Whatever the code says: the client of a broker connects again by itself. Undefined: the code tells. */
  mayHaveArrived?: boolean;
  address: string | null;
  /** The connection's certificates, null if none was open. All its exchanges share one object. */
  certificates: SeenCertificates | null;
  timings: Timings;
  /** By the monotonic clock. */
  startedMs: number;
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
