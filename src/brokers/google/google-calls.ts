import { once } from 'node:events';
import { connect, isIP } from 'node:net';
import { checkServerIdentity } from 'node:tls';
import { callbackify } from 'node:util';
import { v1 } from '@google-cloud/pubsub';
import {
  type CallOptions,
  type ChannelCredentials,
  type ClientUnaryCall,
  credentials,
  Metadata,
} from '@grpc/grpc-js';
import type { GoogleSettings } from '../../domain/config/source.ts';
import type { NetworkContext } from '../module/broker-module.ts';
import { bareHost, endpointUrl } from '../module/endpoint-url.ts';
import { vettedAddresses, vettedLookup } from '../module/vetted-lookup.ts';
import { endpointOf, type Workload } from '../module/workload.ts';
import { ServiceAccount } from './service-account.ts';

/**
 * The calls to one subscription or topic. The library's own subscriber and publisher are not used: they hide a lost
 * connection, and their limits of memory are advisory. The calls go to the library's stub, without its retries: what fails
 * is said and tried again by our own rules.
 *
 * The stub gets an address that the egress rule allows instead of the name; the certificate is checked for the name.
 */
const HOST = 'pubsub.googleapis.com';
const TLS_PORT = 443;
/** The library always names the server in the handshake, and an address is no name. */
const UNNAMED = 'unnamed.invalid';
const CONNECT_MS = 10_000;
const KEEPALIVE_MS = 30_000;
/** An answer to a publish has ids alone. The library sets no limit by itself. */
const MAX_PUBLISH_ANSWER_BYTES = 4 * 1024 * 1024;

type Call = (
  request: object,
  metadata: Metadata,
  options: CallOptions,
  callback: (error: Error | null, answer: unknown) => void,
) => ClientUnaryCall;
type Stub<Method extends string> = Record<Method, Call> & { close(): void };

type GoogleAccess = Pick<GoogleSettings, 'project_id' | 'service_account' | 'endpoint' | 'credentials'>;
type Token = () => string | Promise<string>;

interface Made<Method extends string> {
  stub: Stub<Method>;
  address: string;
  place: GooglePlace;
  /** Null: the way is not encrypted, and none is sent. */
  token: Token | null;
}

/** The subscription or topic of the settings. */
interface GooglePlace {
  kind: 'subscription' | 'topic';
  name: string;
}

const CLIENTS = { subscription: 'SubscriberClient', topic: 'PublisherClient' } as const;

interface CallLimits {
  timeoutMs: number;
  signal?: AbortSignal | undefined;
}

export class GoogleCalls<Method extends string> {
  /** The address that was connected to. */
  readonly address: string;
  readonly #place: GooglePlace;
  readonly #stub: Stub<Method>;
  readonly #metadata = new Metadata();
  readonly #token: Token | null;

  private constructor({ stub, address, place, token }: Made<Method>) {
    this.#stub = stub;
    this.address = address;
    this.#place = place;
    this.#token = token;
    // By it the service finds where the subscription or topic is.
    this.#metadata.set('x-goog-request-params', `${place.kind}=${encodeURIComponent(place.name)}`);
  }

  /** The name of the subscription or topic. */
  get name(): string {
    return this.#place.name;
  }

  static async connect<Method extends string>(
    kind: GooglePlace['kind'],
    id: string,
    { settings, context }: { settings: GoogleAccess; context: NetworkContext },
  ): Promise<GoogleCalls<Method>> {
    const token = tokenOf(settings, context.workload);
    const { host, port, isSecure } = placeOf(endpointOf('google', settings, context.workload));
    const address = await reachableAddress(host, port, context);
    const sslCreds = isSecure ? secure(token, host, context) : credentials.createInsecure();
    const made = new v1[CLIENTS[kind]]({
      servicePath: address.includes(':') ? `[${address}]` : address,
      port,
      sslCreds,
      // Keeps the library from looking for credentials of this machine.
      universeDomain: 'googleapis.com',
      clientOptions: { universeDomain: 'googleapis.com' },
      'grpc.default_authority': `${host}:${port}`,
      ...(isSecure && { 'grpc.ssl_target_name_override': isIP(host) === 0 ? host : UNNAMED }),
      'grpc.enable_http_proxy': 0,
      'grpc.keepalive_time_ms': KEEPALIVE_MS,
      'grpc.keepalive_timeout_ms': KEEPALIVE_MS / 3,
      'grpc.use_local_subchannel_pool': 1,
      ...(kind === 'topic' && { 'grpc.max_receive_message_length': MAX_PUBLISH_ANSWER_BYTES }),
    } as ConstructorParameters<typeof v1.SubscriberClient>[0]);
    const stub = (await made.initialize()) as unknown as Stub<Method>;
    const place = { kind, name: `projects/${settings.project_id}/${kind}s/${id}` };
    return new GoogleCalls({ stub, address, place, token: isSecure ? token : null });
  }

  async call<Answer>(method: Method, request: object, limits: CallLimits): Promise<Answer> {
    await this.ready();
    return this.callNow(method, request, limits);
  }

  /** The token is there before a call: the library would hide why it is not. */
  async ready(): Promise<void> {
    await this.#token?.();
  }

  /** For those who have waited until it is `ready`. */
  callNow<Answer>(method: Method, request: object, { timeoutMs, signal }: CallLimits): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const options = { deadline: Date.now() + timeoutMs };
      const whole = { [this.#place.kind]: this.name, ...request };
      const call = this.#stub[method](whole, this.#metadata, options, (error, answer) => {
        signal?.removeEventListener('abort', cancel);
        if (error === null) resolve(answer as Answer);
        else reject(error);
      });
      const cancel = () => call.cancel();
      signal?.addEventListener('abort', cancel);
      if (signal?.aborted === true) cancel();
    });
  }

  close(): void {
    this.#stub.close();
  }
}

/** The library connects to one address. A name may have several, and some of them may not be reachable from here. */
async function reachableAddress(
  host: string,
  port: number,
  { egress, signal }: NetworkContext,
): Promise<string> {
  // No lookup is made for an address.
  await vettedAddresses(egress, host);
  const socket = connect({ host, port, lookup: vettedLookup(egress), autoSelectFamily: true });
  try {
    await once(socket, 'connect', { signal: AbortSignal.any([signal, AbortSignal.timeout(CONNECT_MS)]) });
    return socket.remoteAddress ?? host;
  } finally {
    socket.destroy();
  }
}

function tokenOf({ credentials: given, service_account }: GoogleAccess, workload: Workload): Token {
  if (given === 'workload') return () => workload.googleToken();
  const account = ServiceAccount.read(service_account);
  return () => account.token();
}

function secure(token: Token, host: string, { secureContext }: NetworkContext): ChannelCredentials {
  const withToken = async (): Promise<Metadata> => {
    const metadata = new Metadata();
    metadata.set('authorization', `Bearer ${await token()}`);
    return metadata;
  };
  const generate = callbackify(withToken);
  const calls = credentials.createFromMetadataGenerator((_, done) => {
    generate(done);
  });
  const channel = credentials.createFromSecureContext(secureContext(), {
    checkServerIdentity: (_, certificate) => checkServerIdentity(host, certificate),
  });
  return credentials.combineChannelCredentials(channel, calls);
}

function placeOf(endpoint: string): { host: string; port: number; isSecure: boolean } {
  if (endpoint === '') return { host: HOST, port: TLS_PORT, isSecure: true };
  const url = endpointUrl(endpoint);
  const isSecure = url.protocol === 'https:';
  const host = bareHost(url.hostname);
  return { host, port: Number(url.port) || (isSecure ? TLS_PORT : 80), isSecure };
}
