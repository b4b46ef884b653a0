import type { AuthResult, EndpointAuth } from '../../dispatch/client/endpoint-auth.ts';
import type { OutgoingRequest } from '../../dispatch/client/http-client.ts';
import { destinationUrl } from '../../domain/config/destination.ts';
import { timeoutSeconds, withQuery } from '../../domain/config/endpoint.ts';
import { DEFAULT_REQUEST_ID_HEADER, type ProjectConfig } from '../../domain/config/project-config.ts';
import type { LeasedDelivery } from '../../domain/delivery.ts';
import { isConnectionHeader } from '../../domain/http-header.ts';
import { VERSION } from '../../platform/version.ts';
import { type FunctionRequest, withRequest } from '../../routing/function-request.ts';
import type { RoutedEndpoint } from '../../routing/project-routing.ts';
import { HOPS_HEADER } from '../../signing/hops.ts';
import type { EndpointRow } from '../../store/config/endpoints.ts';
import { type TraceContext, traceparent } from '../../tracing/trace-context.ts';
import { enveloped } from './payload-envelope.ts';

/**
 * The request of one attempt. Headers are added in order of authority and the first of a name wins, in any
 * case: our own headers, then the endpoint's authentication and headers, then those of a function, then the event's. So
 * neither an event nor a function can replace a signature or a credential.
 */
export interface BuiltRequest {
  url: string;
  headers: [string, string][];
  body: Buffer;
  /** Values in the request that are never shown, besides those of credential headers. */
  secrets: readonly string[];
}

/** So much of a response is kept. */
export const MAX_RESPONSE_BYTES = 51_200;
/** In a message they mean nothing. */
const OF_HTTP = ['user-agent', 'accept-encoding', 'webhook-request-origin'];
const USER_AGENT = `Posthorn/${VERSION}`;

type Content = Pick<
  LeasedDelivery,
  'id' | 'eventId' | 'eventType' | 'isReplay' | 'body' | 'contentType' | 'idempotencyKey' | 'urlQueryParams'
>;

interface RequestContext {
  config: ProjectConfig;
  nowMs: number;
  authHeaders: readonly (readonly [string, string])[];
  /** The parts that a function set. Null: none. */
  made: FunctionRequest | null;
  /** Decrypted. */
  eventHeaders: Readonly<Record<string, readonly string[]>>;
  /** The span of this attempt, or the event's own trace if it is not recorded. Null: none. */
  trace: TraceContext | null;
  /** See src/signing/hops.ts. Null: none. */
  hops: string | null;
}

export function buildRequest(
  delivery: Content,
  endpoint: RoutedEndpoint,
  context: RequestContext,
): BuiltRequest {
  const { nowMs, made } = context;
  const id = webhookId(delivery, endpoint.row);
  const body = enveloped(delivery, endpoint.row, { ...context, id });
  const isMessage = endpoint.row.delivery === 'broker';
  const headers = new HeaderList(isMessage ? OF_HTTP : []);
  headers.put('Content-Type', delivery.contentType ?? 'application/json');
  headers.putAll(endpoint.signer.headers({ id, timestampSeconds: Math.floor(nowMs / 1000), nowMs, body }));
  putOurs(headers, delivery, context);
  const userAgent = endpoint.row.user_agent || context.config.user_agent;
  if (userAgent !== '') headers.put('User-Agent', userAgent);
  headers.putAll(Object.entries(endpoint.row.secret.reveal().headers ?? {}));
  if (made !== null) headers.putAll(Object.entries(made.headers));
  for (const [name, values] of Object.entries(context.eventHeaders)) headers.put(name, values.join(', '));
  headers.put('User-Agent', USER_AGENT);
  if (isMessage) headers.put('event-type', delivery.eventType);
  return {
    url: urlOf(endpoint.row, delivery, made),
    headers: headers.list,
    body,
    secrets: made?.secrets.flatMap(formsOf) ?? [],
  };
}

/** For a message it is the address of the broker, which neither an event nor a function changes. */
function urlOf(row: EndpointRow, { urlQueryParams }: Content, made: FunctionRequest | null): string {
  const { broker = null } = row.delivery === 'broker' ? row.secret.reveal() : {};
  if (broker !== null) return destinationUrl(broker);
  const url = withQuery(row.url, urlQueryParams);
  return made === null ? url : withRequest(url, made);
}

/** Our own headers but the signatures, and the credentials of the endpoint. */
function putOurs(headers: HeaderList, delivery: Content, context: RequestContext): void {
  const { config } = context;
  if (config.webhook_origin !== '') headers.put('WebHook-Request-Origin', config.webhook_origin);
  if (context.hops !== null) headers.put(HOPS_HEADER, context.hops);
  headers.putAll(context.authHeaders);
  if (delivery.idempotencyKey !== null && delivery.idempotencyKey !== '') {
    const name = config.request_id_header || DEFAULT_REQUEST_ID_HEADER;
    headers.put(name, headerText(delivery.idempotencyKey));
  }
  if (config.add_event_id_trace_headers) {
    headers.put('X-Convoy-Event-ID', delivery.eventId);
    headers.put('X-Convoy-EventDelivery-ID', delivery.id);
  }
  if (context.trace !== null) headers.put('traceparent', traceparent(context.trace));
  headers.put('Accept-Encoding', 'gzip');
}

/** The id of the event, if the endpoint wants that. A replay adds its own: a receiver would drop it as a repeat. */
export function webhookId(
  { id, eventId, isReplay }: Pick<LeasedDelivery, 'id' | 'eventId' | 'isReplay'>,
  { webhook_id }: EndpointRow,
): string {
  if (webhook_id === 'delivery') return id;
  return isReplay ? `${eventId}_${id}` : eventId;
}

/** A request with the limits and the certificate of its endpoint. */
export function toEndpoint(request: BuiltRequest, row: EndpointRow, config: ProjectConfig): OutgoingRequest {
  const certificate = row.secret.reveal().mtls_client_cert;
  return {
    ...request,
    timeoutMs: timeoutSeconds(row, config) * 1000,
    maxResponseBytes: MAX_RESPONSE_BYTES,
    ...(certificate !== null && {
      clientCertificate: { cert: certificate.client_cert, key: certificate.client_key },
    }),
  };
}

/** A value as it may stand in a header, a path or a query. */
const formsOf = (value: string): string[] => [
  value,
  encodeURI(value.toWellFormed()),
  encodeURIComponent(value.toWellFormed()),
  new URLSearchParams({ v: value }).toString().slice('v='.length),
];

/** Names, in lower case, of the headers in which a function put the value of a variable. */
export function secretHeaders(made: FunctionRequest | null): string[] {
  if (made === null || made.secrets.length === 0) return [];
  const { headers, secrets } = made;
  return Object.keys(headers)
    .filter((name) => secrets.some((secret) => headers[name]?.includes(secret)))
    .map((name) => name.toLowerCase());
}

/** The headers with the credentials of an endpoint. The credentials of a broker are no headers. */
export async function credentialsOf(
  auth: Pick<EndpointAuth, 'headers'>,
  row: EndpointRow,
): Promise<AuthResult> {
  const { authentication } = row.secret.reveal();
  return authentication === null || row.delivery === 'broker'
    ? { kind: 'headers', headers: [] }
    : auth.headers(row.id, authentication);
}

/** Names of the headers that hold credentials of an endpoint, in lower case: its authentication, and its own headers. */
export function credentialNames(
  row: EndpointRow,
  authHeaders: readonly (readonly [string, string])[],
): string[] {
  const own = Object.keys(row.secret.reveal().headers ?? {});
  return [...authHeaders.map(([name]) => name), ...own].map((name) => name.toLowerCase());
}

class HeaderList {
  readonly list: [string, string][] = [];
  readonly #seen: Set<string>;

  constructor(leftOut: readonly string[]) {
    this.#seen = new Set(leftOut);
  }

  put(name: string, value: string): void {
    const key = name.toLowerCase();
    if (isConnectionHeader(key) || this.#seen.has(key)) return;
    this.#seen.add(key);
    this.list.push([name, value]);
  }

  putAll(headers: Iterable<readonly [string, string]>): void {
    for (const [name, value] of headers) this.put(name, value);
  }
}

/**
 * A key may be any text. Text that a header cannot carry is percent-encoded, otherwise it could never be
 * delivered.
 */
function headerText(text: string): string {
  return /^[\x20-\x7e]*$/.test(text) ? text : encodeURIComponent(text.toWellFormed());
}
