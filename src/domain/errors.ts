/**
 * Every error that the API returns: a stable code, the HTTP status and the message. `{name}` in a message is
 * filled from the error's parameters. docs/errors.md lists the same table, and a test compares the two. Any
 * other error is a bug and reaches the caller only as `internal`.
 */
export const errorTable = {
  bad_json: { status: 400, message: 'The request body is not valid JSON: {detail}' },
  body_required: {
    status: 400,
    message: 'This request needs a JSON body. Send an object with Content-Type: application/json.',
  },
  validation_failed: { status: 400, message: '{fields}' },
  bad_query: { status: 400, message: 'Query parameter {name}: {detail}' },
  not_in_project: { status: 400, message: '{field}: there is no {resource} {id} in this project' },
  wrong_state: { status: 400, message: '{detail}' },
  verification_failed: { status: 400, message: 'The request could not be verified: {reason}' },
  bad_encoding: { status: 400, message: 'The request body cannot be decoded: {detail}' },
  project_required: {
    status: 400,
    message: 'The instance key belongs to no project. Use a project key or a portal token.',
  },
  unauthenticated: {
    status: 401,
    message:
      'Authentication required: send the API key in the Authorization header, bare or as "Bearer <key>", or sign in.',
  },
  key_rejected: { status: 401, message: 'This API key is unknown, expired or revoked.' },
  session_ended: { status: 401, message: 'This session has ended; sign in again.' },
  sign_in_refused: { status: 401, message: 'The e-mail address, the password or the code is wrong.' },
  code_required: {
    status: 401,
    message: 'This account has a second factor; send a code of the app, or a recovery code, as code.',
  },
  provider_refused: {
    status: 401,
    message: 'The sign-in at the provider was refused or took too long; begin again.',
  },
  provider_unverified: {
    status: 401,
    message: 'The provider gave no valid, confirmed e-mail address for this account.',
  },
  provider_domain: { status: 401, message: 'Addresses of {domain} may not sign in here.' },
  provider_no_account: {
    status: 401,
    message: 'There is no account with this address; ask an administrator for an invitation.',
  },
  link_rejected: {
    status: 401,
    message: 'This link is unknown, expired or already used; ask for a new one.',
  },
  project_forbidden: { status: 403, message: 'This caller has no access to project {project}.' },
  instance_key_required: {
    status: 403,
    message:
      'This operation needs the instance key, which is instance_key in credentials.json, or an administrator of the instance.',
  },
  role_required: { status: 403, message: 'This operation needs the role {role}; this caller is {own}.' },
  password_sign_in_off: {
    status: 403,
    message: 'Sign-in with a password is switched off; use one of the providers of GET /auth/providers.',
  },
  reset_off: {
    status: 403,
    message: 'Passwords are not reset by mail here; ask an administrator for a link.',
  },
  session_required: {
    status: 403,
    message: 'This operation is for a person who is signed in, not for a key.',
  },
  second_factor_required: {
    status: 403,
    message: 'A second factor is required here; set one up, or send a code to POST /auth/second-factor.',
  },
  cross_site: {
    status: 403,
    message:
      'This call does not come from a page of this service; send it from its own origin, with the header X-Posthorn-Csrf: 1.',
  },
  navigation_refused: {
    status: 403,
    message: 'This address takes webhooks from programs; a browser cannot open it as a page.',
  },
  source_disabled: { status: 403, message: 'This source is disabled and accepts no events.' },
  unknown_source: { status: 404, message: 'There is no source {mask}; check the URL.' },
  portal_forbidden: { status: 403, message: 'This portal link does not allow {what}.' },
  not_found: { status: 404, message: 'There is no {resource} {id} in this project.' },
  project_not_found: { status: 404, message: 'There is no project {id}.' },
  route_not_found: { status: 404, message: 'There is no {method} {path}; /docs lists every operation.' },
  method_not_allowed: { status: 405, message: '{method} is not allowed on {path}; allowed: {allowed}.' },
  name_taken: { status: 409, message: 'There is already a {resource} named {name}.' },
  person_deactivated: { status: 409, message: 'The account of {email} is deactivated; activate it first.' },
  person_unverified: {
    status: 409,
    message:
      'The address of the account {email} was never confirmed; an administrator of the instance has to add it.',
  },
  config_changed: {
    status: 412,
    message:
      'The config of the project has version {version}, not {wanted}. Nothing was changed; read the config again.',
  },
  body_too_large: {
    status: 413,
    message: 'The {part} is larger than {limit} bytes, the limit that {setting} sets.',
  },
  unsupported_media_type: {
    status: 415,
    message: 'Content-Type {type} is not supported here; send application/json.',
  },
  expectation_failed: {
    status: 417,
    message: 'Expect: {expectation} is not supported; send 100-continue, or no Expect header.',
  },
  upgrade_required: {
    status: 426,
    message: 'This address speaks WebSocket only. Connect with Upgrade: websocket.',
  },
  headers_too_large: {
    status: 431,
    message: 'The URL and the headers of the request together are larger than {limit} bytes.',
  },
  request_timeout: { status: 408, message: 'The request did not arrive in time; try again.' },
  bad_request: { status: 400, message: 'This is not a valid HTTP/1.1 request: {detail}' },
  rate_limited: {
    status: 429,
    message: 'The limit of {limit} per {duration} s is used up; try again in {retry} s.',
  },
  sign_in_throttled: { status: 429, message: 'Too many sign-ins have failed; try again in {retry} s.' },
  too_many: {
    status: 429,
    message: '{who} may have at most {limit} {what} at a time; try again in {retry} s.',
  },
  overloaded: {
    status: 429,
    message: 'The service is overloaded; try again in {retry} s.',
  },
  internal: {
    status: 500,
    message: 'An internal error occurred. Search the log for the request id {request}.',
  },
  secret_unreadable: {
    status: 500,
    message: 'A required secret cannot be decrypted: {detail}.',
  },
  row_damaged: {
    status: 500,
    message: 'The stored row cannot be shown: {detail}. Lists omit it. Other rows are not affected.',
  },
  search_timeout: {
    status: 504,
    message:
      'The search took more than {seconds} s. Narrow it with startDate and endDate or further filters.',
  },
  test_timeout: {
    status: 504,
    message: 'No attempt was made within {seconds} s. Check delivery {id} later.',
  },
  database_unavailable: {
    status: 503,
    message: 'The database cannot be reached. Nothing was changed; try again.',
  },
  provider_unavailable: { status: 503, message: 'The provider {provider} cannot be reached; try again.' },
  outcome_unknown: {
    status: 503,
    message: 'The database did not answer, so the outcome is unknown. {advice}',
  },
  stopping: { status: 503, message: 'This node is shutting down; nothing was stored, try again.' },
} as const satisfies Record<string, { status: number; message: string }>;

export type ErrorCode = keyof typeof errorTable;

/** One wrong field of a request. */
export interface FieldProblem {
  /** Its path, such as `filter_config.event_types`. Empty if the problem belongs to no field. */
  field: string;
  problem: string;
}

export class AppError extends Error {
  override readonly name = 'AppError';
  readonly code: ErrorCode;
  readonly status: number;
  /** Seconds for the Retry-After header, if a retry helps. */
  readonly retryAfterSeconds: number | undefined;
  /** Further data for the response. */
  readonly data: unknown;
  /** The wrong fields of a request. */
  readonly fields: readonly FieldProblem[];
  readonly params: Readonly<Record<string, string | number>>;

  constructor(
    code: ErrorCode,
    params: Record<string, string | number> = {},
    options?: ErrorOptions & { data?: unknown; fields?: readonly FieldProblem[] },
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
    this.fields = options?.fields ?? [];
    this.retryAfterSeconds = typeof params['retry'] === 'number' ? params['retry'] : undefined;
  }
}

/** Refuses an id that names nothing. */
export function found<T>(value: T | undefined, resource: string, id: string): T {
  if (value === undefined) throw new AppError('not_found', { resource, id });
  return value;
}

/** A 400 of the same form as a schema's own, for rules that a schema cannot say. */
export function invalid(field: string, problem: string): AppError {
  return invalidFields([{ field, problem }]);
}

/** The same for several fields. The response lists them, and its message names them all. */
export function invalidFields(fields: readonly FieldProblem[]): AppError {
  const text = fields
    .map(({ field, problem }) => (field === '' ? problem : `${field}: ${problem}`))
    .join('; ');
  return new AppError('validation_failed', { fields: text }, { fields });
}
