/**
 * Why the database does not do what it is asked. Keys are codes for programs, texts follow "The database" in messages.
 * `full` and `read_only`: it can still be read. `refused`: the sign-in, a right or the certificate.
 */
export const DATABASE_FAULTS = {
  unreachable: 'cannot be reached',
  full: 'has no room left on its disk',
  read_only: 'takes no writes',
  refused: 'refuses this service: its sign-in, its rights or the certificate',
  busy: 'is busy',
} as const;

export type DatabaseFault = keyof typeof DATABASE_FAULTS;

/** The errors of one status. */
const refusals = <Code extends string>(status: number, messages: Readonly<Record<Code, string>>) =>
  Object.fromEntries(
    Object.entries(messages).map(([code, message]) => [code, { status, message }]),
  ) as Record<Code, { status: number; message: string }>;

/**
 * Every error that the API returns: a stable code, the HTTP status and the message. `{name}` in a message is
 * filled from the error's parameters, `{trouble}` from its reason. docs/errors.md lists the same table, and a test
 * compares the two. Any other error is a bug and reaches the caller only as `internal`.
 */
export const errorTable = {
  ...refusals(400, {
    bad_json: 'The request body is not valid JSON: {detail}',
    too_deep: 'The JSON nests deeper than {limit} levels, the limit that POSTHORN_MAX_JSON_DEPTH sets.',
    too_many_names:
      'The JSON has more than {limit} names of fields, or twice as many lists and objects. POSTHORN_MAX_JSON_NAMES sets the limit.',
    body_required: 'This request needs a JSON body. Send an object with Content-Type: application/json.',
    validation_failed: '{fields}',
    bad_query: 'Query parameter {name}: {detail}',
    not_in_project: '{field}: there is no {resource} {id} in this project',
    wrong_state: '{detail}',
    verification_failed: 'The request could not be verified: {reason}',
    ordered_fanout_too_large:
      'The {what} makes {count} ordered deliveries, and POSTHORN_MAX_ORDERED_FANOUT allows {limit}; split it into smaller ones, by owner, endpoint or event type.',
    bad_encoding: 'The request body cannot be decoded: {detail}',
    project_required: 'The instance key belongs to no project. Use a project key or a portal token.',
    bad_request: 'This is not a valid HTTP/1.1 request: {detail}',
  }),
  ...refusals(401, {
    unauthenticated:
      'Authentication required: send the API key in the Authorization header, bare or as "Bearer <key>", or sign in.',
    key_rejected: 'This API key is unknown, expired or revoked.',
    session_ended: 'This session has ended; sign in again.',
    sign_in_refused: 'The e-mail address, the password or the code is wrong.',
    code_required: 'This account has a second factor; send a code of the app, or a recovery code, as code.',
    provider_refused: 'The sign-in at the provider was refused or took too long; begin again.',
    provider_unverified: 'The provider gave no valid, confirmed e-mail address for this account.',
    provider_domain: 'Addresses of {domain} may not sign in here.',
    provider_no_account: 'There is no account with this address; ask an administrator for an invitation.',
    signature_refused: 'The request could not be verified: {reason}',
    link_rejected: 'This link is unknown, expired or already used; ask for a new one.',
  }),
  ...refusals(403, {
    project_forbidden: 'This caller has no access to project {project}.',
    instance_key_required:
      'This operation needs the instance key, which is instance_key in credentials.json, or an administrator of the instance.',
    role_required: 'This operation needs the role {role}; this caller is {own}.',
    password_sign_in_off:
      'Sign-in with a password is switched off; use one of the providers of GET /auth/providers.',
    reset_off: 'Passwords are not reset by mail here; ask an administrator for a link.',
    session_required: 'This operation is for a person who is signed in, not for a key.',
    second_factor_required:
      'A second factor is required here; set one up, or send a code to POST /auth/second-factor.',
    cross_site:
      'This call does not come from a page of this service; send it from its own origin, with the header X-Posthorn-Csrf: 1.',
    navigation_refused: 'This address takes webhooks from programs; a browser cannot open it as a page.',
    source_disabled: 'This source is disabled and accepts no events.',
    portal_forbidden: 'This portal link does not allow {what}.',
  }),
  ...refusals(404, {
    unknown_source: 'There is no source {mask}; check the URL.',
    not_found: 'There is no {resource} {id}{place}.',
    project_not_found: 'There is no project {id}.',
    route_not_found: 'There is no {method} {path}; /docs lists every operation.',
  }),
  ...refusals(405, {
    method_not_allowed: '{method} is not allowed on {path}; allowed: {allowed}.',
  }),
  ...refusals(408, {
    request_timeout: 'The request did not arrive in time; try again.',
  }),
  ...refusals(409, {
    idempotency_key_used:
      'Another request was made with this Idempotency-Key. Nothing was changed; use a new key for a new request.',
    older_nodes:
      '{field} needs that all nodes know it, and these are of an older version: {nodes}. Nothing was changed; update them first.',
    name_taken: 'There is already a {resource} named {name}.',
    person_deactivated: 'The account of {email} is deactivated; activate it first.',
    person_unverified:
      'The address of the account {email} was never confirmed; an administrator of the instance has to add it.',
  }),
  ...refusals(412, {
    config_changed:
      'The config of the project has version {version}, not {wanted}. Nothing was changed; read the config again.',
  }),
  ...refusals(413, {
    body_too_large: 'The {part} is larger than {limit} bytes, the limit that {setting} sets.',
  }),
  ...refusals(415, {
    unsupported_media_type: 'Content-Type {type} is not supported here; send application/json.',
  }),
  ...refusals(417, {
    expectation_failed: 'Expect: {expectation} is not supported; send 100-continue, or no Expect header.',
  }),
  ...refusals(426, {
    upgrade_required: 'This address speaks WebSocket only. Connect with Upgrade: websocket.',
  }),
  ...refusals(429, {
    rate_limited: 'The limit of {limit} per {duration} s is used up; try again in {retry} s.',
    sign_in_throttled: 'Too many sign-ins have failed; try again in {retry} s.',
    too_many: '{who} may have at most {limit} {what} at a time; try again in {retry} s.',
    overloaded: 'The service is overloaded; try again in {retry} s.',
  }),
  ...refusals(431, {
    headers_too_large: 'The URL and the headers of the request together are larger than {limit} bytes.',
  }),
  ...refusals(500, {
    internal: 'An internal error occurred. Search the log for the request id {request}.',
    secret_unreadable: 'A required secret cannot be decrypted: {detail}.',
    row_damaged: 'The stored row cannot be shown: {detail}. Lists omit it. Other rows are not affected.',
  }),
  ...refusals(503, {
    database_unavailable: 'The database {trouble}. Nothing was changed; try again.',
    cell_unavailable: 'A database of this instance {trouble}. Nothing was changed; try again in {retry} s.',
    home_unavailable:
      'The home database, which has people and the instance key, {trouble}. Calls with keys of projects go on; try again in {retry} s.',
    provider_unavailable: 'The provider {provider} cannot be reached; try again.',
    outcome_unknown: 'The database {trouble}, so the outcome is unknown. {advice}',
    project_moving: 'The project moves to another database. Nothing was changed; try again in {retry} s.',
    stopping: 'This node is shutting down; nothing was stored, try again.',
  }),
  ...refusals(504, {
    search_timeout:
      'The search took more than {seconds} s. Narrow it with startDate and endDate or further filters.',
    test_timeout: 'No attempt was made within {seconds} s. Check delivery {id} later.',
  }),
};

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
  /** The fault of the database, if that is why. */
  readonly reason: DatabaseFault | undefined;

  constructor(
    code: ErrorCode,
    params: Record<string, string | number> = {},
    options?: ErrorOptions & { data?: unknown; fields?: readonly FieldProblem[]; reason?: DatabaseFault },
  ) {
    const { status, message } = errorTable[code];
    const reason = message.includes('{trouble}') ? (options?.reason ?? 'unreachable') : undefined;
    const trouble = reason && DATABASE_FAULTS[reason];
    const values: Record<string, string | number | undefined> = { trouble, ...params };
    super(
      message.replace(/\{(\w+)\}/g, (_, name: string) => String(values[name] ?? '')),
      options,
    );
    this.code = code;
    this.reason = reason;
    this.status = status;
    this.params = params;
    this.data = options?.data;
    this.fields = options?.fields ?? [];
    this.retryAfterSeconds = typeof params['retry'] === 'number' ? params['retry'] : undefined;
  }
}

/** The project was deleted, or moves to another cell. Nothing is to be done for it here. */
export const isProjectAway = (error: unknown): boolean =>
  error instanceof AppError && (error.code === 'project_not_found' || error.code === 'project_moving');

/** Refuses an id that names nothing. The place is empty for what belongs to no project. */
export function found<T>(
  value: T | undefined,
  resource: string,
  id: string,
  place: '' | ' in this project' = ' in this project',
): T {
  if (value === undefined) throw new AppError('not_found', { resource, id, place });
  return value;
}

export const badQuery = (name: string, detail: string) => new AppError('bad_query', { name, detail });
export const wrongState = (detail: string) => new AppError('wrong_state', { detail });

/** A 400 of the same form as a schema's own, for rules that a schema cannot say. */
export function invalid(field: string, problem: string): AppError {
  return invalidFields([{ field, problem }]);
}

/** Names the fields of a refusal as parts of another one. */
export async function within<T>(field: string, work: () => T | Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    if (error.fields.length > 0)
      throw invalidFields(error.fields.map((one) => ({ ...one, field: `${field}.${one.field}` })));
    const { params } = error;
    throw 'field' in params
      ? new AppError(error.code, { ...params, field: `${field}.${params['field']}` })
      : error;
  }
}

/** Refuses several fields. The response lists them, and its message names them all. */
export function invalidFields(fields: readonly FieldProblem[]): AppError {
  const text = fields
    .map(({ field, problem }) => (field === '' ? problem : `${field}: ${problem}`))
    .join('; ');
  return new AppError('validation_failed', { fields: text }, { fields });
}
