/**
 * Every error a caller of the API can meet: a stable machine word, the HTTP status and the message. `{name}` in
 * a message is filled from the error's parameters. docs/errors.md lists the same table; a test holds the two
 * together. What is not in this table is a bug and reaches the caller only as `internal`.
 */
export const errorTable = {
  bad_json: { status: 400, message: 'The request body is not valid JSON: {detail}' },
  body_required: {
    status: 400,
    message: 'This request needs a JSON body; send an object with Content-Type: application/json.',
  },
  validation_failed: { status: 400, message: '{fields}' },
  bad_query: { status: 400, message: 'Query parameter {name}: {detail}' },
  not_in_project: { status: 400, message: '{field}: there is no {resource} {id} in this project' },
  wrong_state: { status: 400, message: '{detail}' },
  verification_failed: { status: 400, message: 'The request could not be verified: {reason}' },
  bad_encoding: { status: 400, message: 'The request body cannot be decoded: {detail}' },
  project_required: {
    status: 400,
    message: 'The instance key belongs to no project; use a project key or a portal token here.',
  },
  unauthenticated: {
    status: 401,
    message:
      'Authentication required: send the API key in the Authorization header, bare or as "Bearer <key>".',
  },
  key_rejected: { status: 401, message: 'This API key is unknown, expired or revoked.' },
  project_forbidden: { status: 403, message: 'This API key does not belong to project {project}.' },
  instance_key_required: {
    status: 403,
    message: 'Only the instance key may do this; see instance_key in credentials.json.',
  },
  source_disabled: { status: 403, message: 'This source is disabled; it takes no events.' },
  unknown_source: { status: 404, message: 'There is no source {mask}; check the URL.' },
  portal_forbidden: { status: 403, message: 'This portal link does not allow {what}.' },
  not_found: { status: 404, message: 'There is no {resource} {id} in this project.' },
  project_not_found: { status: 404, message: 'There is no project {id}.' },
  route_not_found: { status: 404, message: 'There is no {method} {path}; /docs lists every operation.' },
  method_not_allowed: { status: 405, message: '{method} is not allowed on {path}; allowed: {allowed}.' },
  name_taken: { status: 409, message: 'There is already a {resource} named {name}.' },
  body_too_large: {
    status: 413,
    message: 'The {part} is larger than {limit} bytes, the limit that {setting} sets.',
  },
  unsupported_media_type: {
    status: 415,
    message: 'Content-Type {type} is not supported here; send application/json.',
  },
  headers_too_large: {
    status: 431,
    message: 'The headers and the address of the request together are larger than {limit} bytes.',
  },
  request_timeout: { status: 408, message: 'The request did not arrive in time; try again.' },
  bad_request: { status: 400, message: 'This is not a request of HTTP/1.1 that can be read: {detail}' },
  rate_limited: {
    status: 429,
    message: 'The limit of {limit} per {duration} s is used up; try again in {retry} s.',
  },
  overloaded: {
    status: 429,
    message: 'The service is taking in more than it can store right now; try again in {retry} s.',
  },
  internal: {
    status: 500,
    message: 'Something went wrong on our side; the request id {request} finds it in the log.',
  },
  secret_unreadable: {
    status: 500,
    message: 'A secret that this needs cannot be opened: {detail}.',
  },
  row_damaged: {
    status: 500,
    message:
      'What is stored of this cannot be shown: {detail}. Lists leave it out; nothing else is affected.',
  },
  search_timeout: {
    status: 504,
    message: 'This took more than {seconds} s; narrow it with startDate and endDate or further filters.',
  },
  test_timeout: {
    status: 504,
    message: 'No attempt was made within {seconds} s; delivery {id} shows what becomes of it.',
  },
  database_unavailable: {
    status: 503,
    message: 'The database cannot be reached right now; this was not done, try again.',
  },
  outcome_unknown: {
    status: 503,
    message: 'The database did not answer; this may or may not have been done. {advice}',
  },
  stopping: { status: 503, message: 'This node is shutting down; nothing was stored, try again.' },
} as const satisfies Record<string, { status: number; message: string }>;

export type ErrorCode = keyof typeof errorTable;

export class AppError extends Error {
  override readonly name = 'AppError';
  readonly code: ErrorCode;
  readonly status: number;
  /** Seconds for the Retry-After header, where trying again later helps. */
  readonly retryAfterSeconds: number | undefined;
  /** More about it, for the answer. */
  readonly data: unknown;
  readonly params: Readonly<Record<string, string | number>>;

  constructor(
    code: ErrorCode,
    params: Record<string, string | number> = {},
    options?: ErrorOptions & { data?: unknown },
  ) {
    const { status, message } = errorTable[code];
    super(
      message.replace(/\{(\w+)\}/g, (_, name: string) => String(params[name] ?? '')),
      options,
    );
    this.code = code;
    this.status = status;
    this.params = params;
    this.data = options?.data;
    this.retryAfterSeconds = typeof params['retry'] === 'number' ? params['retry'] : undefined;
  }
}
