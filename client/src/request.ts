/*
 * One call of the API: attempts, waits between them, and its end.
 *
 *   attempt -> success -> the answer
 *           -> refused -> PosthornError
 *           -> nothing was done (a code that says so, any other 429, no connection) -> wait -> attempt
 *           -> the outcome is unknown (the answer is lost, or a proxy's 502, 503 or 504)
 *                                                  -> wait -> attempt, if the call may be repeated
 *
 * A call may be repeated if a second execution changes nothing: reads, updates, deletions, tests that store
 * nothing, and calls with an idempotency key: events and everything that creates. Every other call is sent again only if
 * nothing was done.
 */
import { type FieldProblem, PosthornError } from './errors.ts';
import type { DatabaseFault, ErrorCode } from './generated/error-codes.ts';
import { delayBefore, onAbort, pause, retryAfterSeconds } from './wait.ts';

export interface ClientOptions {
  /** The address of the server, such as `https://posthorn.example.com`. */
  url: string;
  /** Milliseconds for each attempt, its answer included; 30,000 by default. */
  timeout?: number;
  /** Further attempts after the first; 5 by default. */
  retries?: number;
  /** Milliseconds before the first retry, doubled before each further one; 250 by default. */
  firstDelay?: number;
  /** Send `X-Posthorn-Strict: true`, so that an unknown field is an error; true by default. */
  strict?: boolean;
  /** Receives warnings of successful calls, for example about rows that a list omits. */
  onWarnings?: (warnings: readonly string[], requestId: string) => void;
  /** Another `fetch`, for example one with a proxy. */
  fetch?: typeof fetch;
}

/** Options of one call. */
export interface CallOptions {
  /** Ends the call, its waits included. The promise is then rejected with the reason of the signal. */
  signal?: AbortSignal;
  timeout?: number;
  retries?: number;
  /** The id of the request in the log of the server; a new one by default. */
  requestId?: string;
  /** The key under which a call creates once, for a day; a new one by default. Other calls ignore it. */
  idempotencyKey?: string;
  /** A change is made only on this version of the project's config, else refused with `config_changed`. */
  configVersion?: number;
}

export type Query = Readonly<
  Record<string, string | number | boolean | Date | readonly string[] | undefined>
>;

export interface Call {
  method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  path: string;
  query?: object | undefined;
  body?: unknown;
  /** A second execution changes nothing. */
  repeatable: boolean;
  /** It has an Idempotency-Key. */
  creates?: boolean;
  options?: CallOptions | undefined;
}

/** The JSON of a successful answer. */
export interface Answer {
  data: unknown;
  job?: unknown;
  warnings?: string[];
  /** The version of the project's config, where the answer has it. */
  configVersion?: number;
}

interface Failure {
  error: PosthornError;
  /** Sending the call again may help. `safe`: the server did nothing. `unknown`: it may have. */
  retry: 'no' | 'safe' | 'unknown';
}

/** Each of these says that nothing was done. */
const NOTHING_DONE: ReadonlySet<string> = new Set<ErrorCode>([
  'rate_limited',
  'overloaded',
  'stopping',
  'database_unavailable',
  'request_timeout',
]);
/** Errors of a connection that was never made. */
const NOT_CONNECTED: ReadonlySet<unknown> = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN']);
const GONE: ReadonlySet<string> = new Set<ErrorCode>(['not_found', 'project_not_found']);
const CONFIG_VERSION = 'x-posthorn-config-version';
const PROXY_STATUS: ReadonlySet<number> = new Set([502, 503, 504]);

export class Caller {
  readonly #url: string;
  /** Without a key the browser adds the cookie of the session. The header proves that a script of the page calls. */
  readonly #credentials: Record<string, string>;
  readonly #options: ClientOptions;

  constructor(key: string | undefined, options: ClientOptions) {
    const { origin, pathname, protocol } = new URL(options.url);
    if (protocol !== 'http:' && protocol !== 'https:') throw new TypeError('url must be http or https');
    this.#url = origin + pathname.replace(/\/+$/, '');
    // A key that cannot be a header fails here, and not as a network error of each call.
    this.#credentials =
      key === undefined
        ? { 'x-posthorn-csrf': '1' }
        : { authorization: new Headers({ authorization: `Bearer ${key}` }).get('authorization') ?? '' };
    this.#options = options;
  }

  async call(call: Call): Promise<Answer> {
    const { signal, retries = this.#options.retries ?? 5 } = call.options ?? {};
    const requestId = call.options?.requestId ?? crypto.randomUUID();
    const url = this.#url + call.path + queryText(call.query as Query | undefined);
    const request = { url, init: this.#request(call, requestId) };
    let outcomeIsUnknown = false;
    for (let attempts = 1; ; attempts++) {
      signal?.throwIfAborted();
      const result = await this.#attempt(call, request, { attempts, requestId });
      if (!('error' in result)) {
        if (result.warnings !== undefined) this.#options.onWarnings?.(result.warnings, requestId);
        return result;
      }
      const { error, retry } = result;
      // An earlier attempt has deleted it, and its answer was lost.
      if (outcomeIsUnknown && call.method === 'DELETE' && GONE.has(error.code)) return { data: null };
      outcomeIsUnknown ||= retry === 'unknown';
      const mayRetry = retry === 'safe' || (retry === 'unknown' && call.repeatable);
      const delay = delayBefore(attempts, error.retryAfter, this.#options.firstDelay);
      if (!mayRetry || attempts > retries || delay === undefined) throw error;
      await pause(delay, signal);
    }
  }

  /** The open answer of a stream. Throws a PosthornError if it is refused or no connection is made. */
  async stream(path: string, { lastId, signal }: { lastId: string; signal: AbortSignal }): Promise<Response> {
    const requestId = crypto.randomUUID();
    const call: Call = { method: 'GET', path, repeatable: true };
    const request = this.#request(call, requestId);
    const headers = { ...(request.headers as Record<string, string>), accept: 'text/event-stream' };
    if (lastId !== '') headers['last-event-id' as keyof typeof headers] = lastId;
    const response = await (this.#options.fetch ?? fetch)(this.#url + path, { ...request, headers, signal });
    if (response.ok) return response;
    const answer = readAnswer(call, response, await response.text(), { attempts: 1, requestId });
    throw 'error' in answer ? answer.error : new TypeError('the server answered without a stream');
  }

  #request({ method, body, creates, options }: Call, requestId: string): RequestInit {
    const headers: Record<string, string> = {
      accept: 'application/json',
      ...this.#credentials,
      'x-request-id': requestId,
    };
    if (creates === true) headers['idempotency-key'] = options?.idempotencyKey ?? crypto.randomUUID();
    if (options?.configVersion !== undefined) headers[CONFIG_VERSION] = String(options.configVersion);
    if (this.#options.strict ?? true) headers['x-posthorn-strict'] = 'true';
    if (body === undefined) return { method, headers, redirect: 'manual' };
    headers['content-type'] = 'application/json';
    return { method, headers, redirect: 'manual', body: JSON.stringify(body, checked) };
  }

  /** Throws only if the caller's signal ends it. */
  async #attempt(
    call: Call,
    { url, init }: { url: string; init: RequestInit },
    about: { attempts: number; requestId: string },
  ): Promise<Answer | Failure> {
    const { signal, timeout = this.#options.timeout ?? 30_000 } = call.options ?? {};
    const controller = new AbortController();
    let isLate = false;
    const timer = setTimeout(() => {
      isLate = true;
      controller.abort();
    }, timeout);
    const forget = onAbort(signal, () => controller.abort());
    try {
      const send = this.#options.fetch ?? fetch;
      const response = await send(url, { ...init, signal: controller.signal });
      return readAnswer(call, response, await response.text(), about);
    } catch (cause) {
      signal?.throwIfAborted();
      const message = isLate ? `no answer within ${timeout} ms` : `no complete answer: ${reasonOf(cause)}`;
      const code = isLate ? 'timeout' : 'network';
      const error = new PosthornError({ ...about, ...call, code, status: 0, message, cause });
      return { error, retry: wasNotSent(cause) ? 'safe' : 'unknown' };
    } finally {
      clearTimeout(timer);
      forget();
    }
  }
}

function readAnswer(
  { method, path }: Call,
  response: Response,
  text: string,
  about: { attempts: number; requestId: string },
): Answer | Failure {
  const { status, headers } = response;
  const answer = parse(text);
  if (answer?.status === true && status >= 200 && status < 300) {
    const version = headers.get(CONFIG_VERSION);
    return { ...(answer as unknown as Answer), ...(version !== null && { configVersion: Number(version) }) };
  }
  const requestId = headers.get('x-request-id') ?? about.requestId;
  const retryAfter = retryAfterSeconds(headers.get('retry-after'));
  const given = { method, path, status, requestId, attempts: about.attempts, retryAfter };
  if (answer?.status === false && typeof answer['code'] === 'string') {
    const { message, fields, data, reason } = answer as {
      message?: unknown;
      fields?: FieldProblem[];
      data?: unknown;
      reason?: DatabaseFault;
    };
    const code = answer['code'] as ErrorCode;
    const error = new PosthornError({ ...given, code, message: String(message), fields, data, reason });
    if (NOTHING_DONE.has(code)) return { error, retry: 'safe' };
    return { error, retry: code === 'outcome_unknown' ? 'unknown' : 'no' };
  }
  const message = `HTTP ${status} without an answer of Posthorn; check the url`;
  const error = new PosthornError({ ...given, code: 'bad_answer', message });
  if (status === 429) return { error, retry: 'safe' };
  // A cut answer has a good status.
  return { error, retry: PROXY_STATUS.has(status) || response.ok ? 'unknown' : 'no' };
}

function parse(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

function reasonOf(error: unknown): string {
  const { cause, message } = error as { cause?: unknown; message?: string };
  return cause instanceof Error && cause.message !== '' ? cause.message : (message ?? String(error));
}

function wasNotSent(error: unknown): boolean {
  const { cause } = error as { cause?: { code?: unknown } };
  return NOT_CONNECTED.has(cause?.code);
}

/** JSON has null for an invalid Date, and null may mean "never". */
function checked(this: unknown, name: string, value: unknown): unknown {
  const given = (this as Record<string, unknown>)[name];
  if (given instanceof Date && value === null) throw new RangeError(`${name} is an invalid Date`);
  return value;
}

/** A time as RFC 3339. An invalid Date throws a RangeError. */
const parameterText = (value: string | number | boolean | Date): string =>
  value instanceof Date ? value.toISOString() : String(value);

function queryText(query: Query = {}): string {
  const pairs = Object.entries(query).flatMap(([name, value]) =>
    value === undefined ? [] : [value].flat().map((one): [string, string] => [name, parameterText(one)]),
  );
  return pairs.length === 0 ? '' : `?${new URLSearchParams(pairs).toString()}`;
}
