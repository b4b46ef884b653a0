import type { DatabaseFault, ErrorCode } from './generated/error-codes.ts';

/** One wrong field of a request. */
export interface FieldProblem {
  /** The path of the field, such as `filter_config.event_types`. Empty if the problem belongs to no field. */
  field: string;
  problem: string;
}

/**
 * The codes that the client adds to those of the server:
 * - `network`: there was no answer, or only a part of it.
 * - `timeout`: there was no answer in time.
 * - `bad_answer`: the answer is not from Posthorn, for example the error page of a proxy.
 */
export type ClientErrorCode = 'network' | 'timeout' | 'bad_answer';

interface Details {
  code: ErrorCode | ClientErrorCode;
  message: string;
  status: number;
  method: string;
  path: string;
  requestId: string;
  attempts: number;
  retryAfter?: number | undefined;
  fields?: readonly FieldProblem[] | undefined;
  data?: unknown;
  reason?: DatabaseFault | undefined;
  cause?: unknown;
}

/** A call that failed, after its last attempt. */
export class PosthornError extends Error {
  override readonly name = 'PosthornError';
  /** Stable and meant for programs. `message` is for people and may change. */
  readonly code: ErrorCode | ClientErrorCode;
  /** The HTTP status, or 0 if there was no answer. */
  readonly status: number;
  /** The wrong fields, if the code is `validation_failed`. */
  readonly fields: readonly FieldProblem[];
  /** The log of the server has the call under this id. */
  readonly requestId: string;
  readonly method: string;
  readonly path: string;
  /** How often the call was sent. */
  readonly attempts: number;
  /** Seconds that the server asks to wait, if it does. */
  readonly retryAfter: number | undefined;
  /** The fault of the server's database, if that is why. */
  readonly reason: DatabaseFault | undefined;
  /** Further data of the answer. */
  readonly data: unknown;

  constructor(details: Details) {
    super(details.message, { cause: details.cause });
    this.code = details.code;
    this.status = details.status;
    this.fields = details.fields ?? [];
    this.requestId = details.requestId;
    this.method = details.method;
    this.path = details.path;
    this.attempts = details.attempts;
    this.retryAfter = details.retryAfter;
    this.data = details.data;
    this.reason = details.reason;
  }
}
