import type { SecureContext } from 'node:tls';
import type { Dispatcher } from 'undici';
import { isReceiver } from '../../domain/delivery.ts';
import { BoundedMap } from '../../platform/bounded-map.ts';
import { AddressGuard, hostOf } from '../address/address-guard.ts';
import { Egress } from '../address/egress.ts';
import { NameResolver } from '../address/name-resolver.ts';
import { ConnectionPools } from '../connection/connection-pool.ts';
import { Connector, type Target } from '../connection/connector.ts';
import { Exchange } from '../connection/exchange.ts';
import { type ErrorCode, ExchangeFailure, type Outcome } from '../connection/outcome.ts';
import { parseProxy } from '../connection/proxy-tunnel.ts';
import { type ClientCertificate, TlsSettings } from '../connection/tls-settings.ts';
import type { Turn } from '../connection/turn.ts';
import { receive } from './built-in-receiver.ts';

/**
 * Sends webhooks (and token requests) over kept-alive connections. It connects only to vetted addresses,
 * within one time limit, and reads a bounded response. It never follows a redirect: a redirect is a response
 * like any other.
 */

export interface OutgoingRequest {
  /** Final URL, query included. */
  url: string;
  /** Final list. The caller's casing is kept (HTTP/2 has lower case only). */
  headers: readonly (readonly [string, string])[];
  body: Buffer;
  /** For the whole exchange: DNS, connect, TLS, headers, body. */
  timeoutMs: number;
  /** This many bytes of the decoded response are kept. The connection is closed when more comes. */
  maxResponseBytes: number;
  clientCertificate?: ClientCertificate;
  method?: 'POST' | 'GET' | 'OPTIONS';
  /** Decides when the request may be written. Without one: as soon as possible. */
  turn?: Turn;
}

export interface HttpClientOptions {
  egress: 'any' | 'public';
  /** Addresses and CIDRs that are allowed even if the egress rule blocks them. */
  allow?: readonly string[];
  /** Addresses and CIDRs that are always blocked. */
  deny?: readonly string[];
  proxyUrl?: string;
  caPem?: string;
  connectionsPerOrigin?: number;
  maxConnections?: number;
  nameServers?: readonly string[];
}

interface Destination {
  readonly target: Target;
  readonly path: string;
}

const DEFAULT_PER_ORIGIN = 100;
const DEFAULT_MAX_CONNECTIONS = 1_000;
/** Parsing a URL and checking its host costs 2 µs of the 30 µs of a send, and most go to the same few. */
const MAX_DESTINATIONS = 4_096;
const MAX_KEPT_URL_CHARS = 512;

export class HttpClient {
  readonly guard: AddressGuard;
  readonly egress: Egress;
  readonly #resolver: NameResolver;
  readonly #tls: TlsSettings;
  readonly #pools: ConnectionPools;
  readonly #destinations = new BoundedMap<string, Destination>(MAX_DESTINATIONS);
  #closed = false;

  constructor(options: HttpClientOptions) {
    this.guard = new AddressGuard(options);
    this.#resolver = new NameResolver(options.nameServers && { nameServers: options.nameServers });
    this.egress = new Egress(this.guard, this.#resolver);
    this.#tls = new TlsSettings(options.caPem);
    const { proxyUrl } = options;
    const connector = new Connector({
      egress: this.egress,
      resolver: this.#resolver,
      proxy: proxyUrl === undefined ? null : parseProxy(proxyUrl, this.#tls.credentials(undefined).context),
    });
    this.#pools = new ConnectionPools(connector, {
      connectionsPerOrigin: options.connectionsPerOrigin ?? DEFAULT_PER_ORIGIN,
      maxConnections: options.maxConnections ?? DEFAULT_MAX_CONNECTIONS,
    });
  }

  /** With the authorities that deliveries trust, for TLS connections that others make. */
  secureContext(): SecureContext {
    return this.#tls.credentials(undefined).context;
  }

  /** Never rejects. */
  send(request: OutgoingRequest, signal?: AbortSignal): Promise<Outcome> {
    if (isReceiver(request.url) && !this.#closed) return this.#receive(request, signal);
    return new Promise((resolve) => {
      try {
        if (this.#closed) throw new ExchangeFailure('aborted', 'the HTTP client is closed', true);
        if (signal?.aborted) throw new ExchangeFailure('aborted', 'the request was aborted', true);
        this.#start(request, signal, resolve);
      } catch (error) {
        if (!(error instanceof ExchangeFailure)) throw error;
        resolve(errorBeforeStart(error));
      }
    });
  }

  async #receive(request: OutgoingRequest, signal: AbortSignal | undefined): Promise<Outcome> {
    try {
      return await receive(request, signal);
    } catch (error) {
      if (!(error instanceof ExchangeFailure)) throw error;
      return errorBeforeStart(error);
    }
  }

  /** Aborts running requests and leaves no socket or timer. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#resolver.close();
    await this.#pools.close();
  }

  #start(request: OutgoingRequest, signal: AbortSignal | undefined, done: (outcome: Outcome) => void): void {
    const { target, path } = this.#destination(request.url);
    const { clientCertificate } = request;
    const credentials = target.secure ? this.#tls.credentials(clientCertificate) : null;
    const options: Dispatcher.DispatchOptions = {
      path,
      method: request.method ?? 'POST',
      headers: request.headers.flat(),
      body: request.body,
    };
    const exchange = new Exchange({
      target,
      options,
      timeoutMs: request.timeoutMs,
      maxResponseBytes: request.maxResponseBytes,
      signal,
      turn: request.turn,
      resolverIsDown: () => this.#resolver.health.isDown,
      done,
    });
    const key =
      clientCertificate === undefined
        ? target.origin
        : `${target.origin} ${TlsSettings.fingerprint(clientCertificate)}`;
    this.#pools.run(key, exchange, () => credentials && { ...credentials, session: null, server: null });
  }

  #destination(url: string): Destination {
    const known = this.#destinations.get(url);
    if (known !== undefined) return known;
    const parsed = URL.parse(url);
    if (parsed === null) throw new ExchangeFailure('bad_url', 'the URL cannot be parsed');
    const verdict = this.guard.checkUrl(parsed);
    if (!verdict.allowed) throw new ExchangeFailure(codeOfVerdict(parsed), verdict.reason);
    const secure = parsed.protocol === 'https:';
    const target: Target = {
      origin: parsed.origin,
      secure,
      host: hostOf(parsed),
      port: Number(parsed.port || (secure ? 443 : 80)),
    };
    const destination = { target, path: `${parsed.pathname}${parsed.search}` };
    if (url.length <= MAX_KEPT_URL_CHARS) this.#destinations.set(url, destination);
    return destination;
  }
}

function codeOfVerdict(url: URL): ErrorCode {
  const isHttp = url.protocol === 'http:' || url.protocol === 'https:';
  return isHttp && url.username === '' && url.password === '' && url.port !== '0'
    ? 'address_blocked'
    : 'bad_url';
}

function errorBeforeStart(failure: ExchangeFailure): Outcome {
  const { code, message, ours } = failure;
  return {
    kind: 'error',
    code,
    message,
    ours,
    dropped: false,
    address: null,
    certificates: null,
    timings: { totalMs: 0 },
    startedMs: performance.now(),
  };
}
