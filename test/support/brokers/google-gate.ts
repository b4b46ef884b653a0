import { type KeyObject, verify } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import {
  connect,
  createSecureServer,
  type Http2SecureServer,
  type IncomingHttpHeaders,
  type ServerHttp2Stream,
} from 'node:http2';
import type { AddressInfo, Socket } from 'node:net';
import { join } from 'node:path';

/**
 * A way to a server of Pub/Sub over TLS that checks what Google checks and `pstest` does not: the token of each call, by
 * the public keys of service accounts, and what an account may do. Its answers have the statuses that Google gives.
 */
const CERTIFICATES = join(import.meta.dirname, '../certificates');
const AUDIENCE = 'https://pubsub.googleapis.com/';

export interface GoogleAccount {
  key: KeyObject;
  /** Methods that the account may not call, such as `Pull`. */
  denied?: readonly string[];
}

export class GoogleGate {
  readonly port: number;
  /** Methods that came through, in order. */
  readonly methods: string[] = [];
  readonly #server: Http2SecureServer;
  readonly #sockets = new Set<Socket>();

  private constructor(server: Http2SecureServer) {
    this.#server = server;
    this.port = (server.address() as AddressInfo).port;
  }

  /** `accounts`: by e-mail address. */
  static async start(target: number, accounts: Readonly<Record<string, GoogleAccount>>): Promise<GoogleGate> {
    const file = (name: string) => readFileSync(join(CERTIFICATES, name));
    const server = createSecureServer({ key: file('endpoint.key'), cert: file('endpoint.pem') });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const gate = new GoogleGate(server);
    server.on('connection', (socket: Socket) => {
      gate.#sockets.add(socket);
      socket.once('close', () => gate.#sockets.delete(socket));
    });
    server.on('stream', (stream: ServerHttp2Stream, headers) =>
      gate.#pass(stream, headers, { target, accounts }),
    );
    return gate;
  }

  close(): void {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
  }

  #pass(
    stream: ServerHttp2Stream,
    headers: IncomingHttpHeaders,
    { target, accounts }: { target: number; accounts: Readonly<Record<string, GoogleAccount>> },
  ): void {
    stream.on('error', () => stream.destroy());
    const method = String(headers[':path']).split('/').at(-1) ?? '';
    const problem = verdict(headers, method, accounts);
    if (problem !== null) {
      stream.respond(
        {
          ':status': 200,
          'content-type': 'application/grpc',
          'grpc-status': String(problem.status),
          'grpc-message': encodeURI(problem.text),
        },
        { endStream: true },
      );
      return;
    }
    this.methods.push(method);
    forward(stream, headers, target);
  }
}

function forward(stream: ServerHttp2Stream, headers: IncomingHttpHeaders, target: number): void {
  const session = connect(`http://127.0.0.1:${target}`);
  session.on('error', () => stream.destroy());
  const upstream = session.request({ ...headers, ':scheme': 'http', ':authority': `127.0.0.1:${target}` });
  upstream.on('error', () => stream.destroy());
  stream.on('close', () => session.destroy());
  let trailers: IncomingHttpHeaders = {};
  upstream.on('trailers', (given) => {
    trailers = given;
  });
  upstream.on('response', (answer, flags) => {
    const isWhole = (flags & 1) === 1;
    stream.respond(answer, isWhole ? { endStream: true } : { waitForTrailers: true });
    if (isWhole) return;
    stream.on('wantTrailers', () => stream.sendTrailers({ ...trailers }));
    upstream.pipe(stream);
  });
  stream.pipe(upstream);
}

const UNAUTHENTICATED = 16;
const PERMISSION_DENIED = 7;

function verdict(
  headers: IncomingHttpHeaders,
  method: string,
  accounts: Readonly<Record<string, GoogleAccount>>,
): { status: number; text: string } | null {
  const [head = '', body = '', signature = ''] = String(headers['authorization'])
    .replace('Bearer ', '')
    .split('.');
  const claims = JSON.parse(Buffer.from(body || 'e30', 'base64url').toString()) as Record<string, unknown>;
  const account = accounts[String(claims['iss'])];
  const isRight =
    account !== undefined &&
    claims['aud'] === AUDIENCE &&
    Number(claims['exp']) > Date.now() / 1000 &&
    verify('RSA-SHA256', Buffer.from(`${head}.${body}`), account.key, Buffer.from(signature, 'base64url'));
  if (!isRight) return { status: UNAUTHENTICATED, text: 'Request had invalid authentication credentials.' };
  if (account.denied?.includes(method) === true)
    return { status: PERMISSION_DENIED, text: `User not authorized to perform this action: ${method}.` };
  return null;
}
