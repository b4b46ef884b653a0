import { isIP, type Socket } from 'node:net';
import { type SecureContext, type TLSSocket, connect as tlsConnect } from 'node:tls';
import type { SeenCertificate, SeenCertificates } from '../../domain/certificate.ts';
import { BlockedAddress, type Egress } from '../address/egress.ts';
import type { NameResolver } from '../address/name-resolver.ts';
import { connectFailure, hostPort, type Peer, tlsFailure } from './failure-text.ts';
import { ExchangeFailure } from './outcome.ts';
import { type Proxy, proxyTunnel } from './proxy-tunnel.ts';
import { tcpConnect } from './tcp-connect.ts';
import { seenCertificate } from './tls-settings.ts';

/**
 * Opens one connection to an endpoint: resolve, vet, connect, TLS. It connects to an address that the guard
 * has just allowed, never to a name, so a later DNS answer cannot move it. Only the allowed addresses of a
 * mixed answer are used. Each is vetted by itself and the connection is pinned to it, so a host with a public
 * and an internal address stays reachable.
 */

export interface Target extends Peer {
  /** Scheme, host and port. */
  readonly origin: string;
  readonly secure: boolean;
}

/** How far a connection has come. Read when a time limit strikes, and for the timings. */
export interface Progress {
  stage: 'dns' | 'connect' | 'proxy' | 'tls' | 'open';
  address: string | null;
  /** Null until the connection is open. */
  certificates: SeenCertificates | null;
  dnsMs?: number;
  connectMs?: number;
  tlsMs?: number;
}

export interface TlsOffer {
  readonly context: SecureContext;
  /** The certificate we present. */
  readonly client: SeenCertificate | null;
  /** The last TLS session of this origin, for a shorter handshake. */
  session: Buffer | null;
  /** The last certificate of the endpoint. A resumed handshake does not include it. */
  server: SeenCertificate | null;
}

export interface ConnectJob {
  readonly target: Target;
  readonly tls: TlsOffer | null;
  readonly progress: Progress;
  readonly signal: AbortSignal;
}

export interface ConnectorOptions {
  readonly egress: Egress;
  readonly resolver: NameResolver;
  readonly proxy: Proxy | null;
}

const NO_CERTIFICATES: SeenCertificates = { server: null, client: null };

export class Connector {
  readonly #egress: Egress;
  readonly #resolver: NameResolver;
  readonly #proxy: Proxy | null;
  #rotation = 0;

  constructor(options: ConnectorOptions) {
    this.#egress = options.egress;
    this.#resolver = options.resolver;
    this.#proxy = options.proxy;
  }

  /** @throws ExchangeFailure */
  async open(job: ConnectJob): Promise<Socket> {
    const { target, progress, signal } = job;
    const addresses = await this.#vettedAddresses(job);
    throwIfAborted(signal);
    let startedAt = performance.now();
    const socket =
      this.#proxy === null
        ? await connectDirectly(job, this.#rotated(addresses))
        : // The proxy opens the connection, so the vetted address cannot be pinned. It resolves the name again, and
          // its own rules must block an address that changed. The check above still blocks the address we
          // see.
          await this.#connectThroughProxy(this.#proxy, job);
    progress.connectMs = performance.now() - startedAt;
    if (job.tls === null) {
      progress.stage = 'open';
      progress.certificates = NO_CERTIFICATES;
      return socket;
    }
    progress.stage = 'tls';
    startedAt = performance.now();
    const secured = await secure(socket, target, job.tls, signal);
    progress.tlsMs = performance.now() - startedAt;
    progress.stage = 'open';
    const shown = secured.getPeerX509Certificate();
    if (shown !== undefined) job.tls.server = seenCertificate(shown);
    progress.certificates = { server: job.tls.server, client: job.tls.client };
    return secured;
  }

  async #vettedAddresses({ target, progress }: ConnectJob): Promise<string[]> {
    const startedAt = performance.now();
    try {
      return await this.#egress.addresses(target.host);
    } catch (error) {
      if (!(error instanceof BlockedAddress)) throw error;
      throw new ExchangeFailure(error.code, error.message, error.isOurs);
    } finally {
      if (isIP(target.host) === 0) progress.dnsMs = performance.now() - startedAt;
      progress.stage = 'connect';
    }
  }

  /** Spreads connections over the addresses of one family, and keeps the families in order. */
  #rotated(addresses: readonly string[]): string[] {
    const v4 = addresses.filter((address) => !address.includes(':'));
    const v6 = addresses.filter((address) => address.includes(':'));
    this.#rotation = (this.#rotation + 1) % 1_000_000;
    return [...rotate(v4, this.#rotation), ...rotate(v6, this.#rotation)];
  }

  async #connectThroughProxy(proxy: Proxy, job: ConnectJob): Promise<Socket> {
    job.progress.stage = 'proxy';
    const resolution = await this.#resolver.resolve(proxy.host);
    if (resolution.kind !== 'addresses')
      throw new ExchangeFailure('proxy_failed', `the proxy ${proxy.host} cannot be resolved`, true);
    const where = hostPort(job.target.host, job.target.port);
    return proxyTunnel(proxy, resolution.addresses, where, job.signal);
  }
}

async function connectDirectly(job: ConnectJob, addresses: readonly string[]): Promise<Socket> {
  const { target, progress, signal } = job;
  progress.address = addresses[0] ?? null;
  const result = await tcpConnect(addresses, target.port, signal);
  switch (result.kind) {
    case 'aborted':
      throw abandoned();
    case 'failed':
      progress.address = result.address;
      throw connectFailure(result.error, target, result.address);
    case 'connected':
      break;
  }
  progress.address = result.address;
  return result.socket;
}

function secure(socket: Socket, target: Target, offer: TlsOffer, signal: AbortSignal): Promise<TLSSocket> {
  return new Promise((resolve, reject) => {
    const tls = tlsConnect({
      socket,
      secureContext: offer.context,
      // Server Name Indication takes names only. An address is checked against the certificate through
      // `host`.
      servername: isIP(target.host) === 0 ? target.host : '',
      host: target.host,
      ALPNProtocols: ['h2', 'http/1.1'],
      ...(offer.session && { session: offer.session }),
    });
    const finish = (): void => {
      signal.removeEventListener('abort', onAbort);
      tls.off('error', onError);
    };
    const onAbort = (): void => {
      finish();
      tls.on('error', () => {}).destroy();
      reject(abandoned());
    };
    const onError = (error: NodeJS.ErrnoException): void => {
      finish();
      tls.on('error', () => {}).destroy();
      offer.session = null;
      reject(tlsFailure(error, target));
    };
    tls.on('error', onError);
    tls.on('session', (session) => {
      offer.session = session;
    });
    tls.once('secureConnect', () => {
      finish();
      resolve(tls);
    });
    signal.addEventListener('abort', onAbort);
    if (signal.aborted) onAbort();
  });
}

function rotate(items: readonly string[], by: number): string[] {
  const start = items.length === 0 ? 0 : by % items.length;
  return [...items.slice(start), ...items.slice(0, start)];
}

function abandoned(): ExchangeFailure {
  return new ExchangeFailure('aborted', 'the connection attempt was given up', true);
}

function throwIfAborted(signal: AbortSignal): void {
  if (signal.aborted) throw abandoned();
}
