import { createSecureServer, type ServerHttp2Stream } from 'node:http2';
import type { Socket } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import { describe, expect, test } from 'vitest';
import { HttpClient } from '../../src/dispatch/client/http-client.ts';
import type { Outcome } from '../../src/dispatch/connection/outcome.ts';
import { pem } from '../support/certificates/pem.ts';
import { type LoopbackServer, listen, listenTcp } from '../support/servers/loopback-server.ts';
import { untilEnd } from '../support/servers/until-end.ts';

const endpointCertificate = { cert: pem('endpoint.pem'), key: pem('endpoint.key') };

const client = () => untilEnd(new HttpClient({ egress: 'any', caPem: pem('ca.pem') }));

const started = async (server: Promise<LoopbackServer>) => untilEnd(await server);

function send(http: HttpClient, server: LoopbackServer, scheme = 'http'): Promise<Outcome> {
  return http.send({
    url: `${scheme}://localhost:${server.port}/`,
    headers: [],
    body: Buffer.from('{}'),
    timeoutMs: 10_000,
    maxResponseBytes: 1_000,
  });
}

const CONTINUE = 'HTTP/1.1 100 Continue\r\n\r\n';
const PROCESSING = 'HTTP/1.1 102 Processing\r\n\r\n';
const HINTS = 'HTTP/1.1 103 Early Hints\r\nLink: </a>; rel=preload\r\nX-Odd: HTTP/1.1 100\r\n\r\n';
const FINAL = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok';

/** Answers each request with these pieces, each in a packet of its own. */
function inPieces(socket: Socket, pieces: readonly string[]): void {
  socket.setNoDelay(true);
  socket.on('data', () => {
    let rest = Promise.resolve();
    for (const piece of pieces) {
      rest = rest.then(() => new Promise((resolve) => socket.write(piece, () => setImmediate(resolve))));
    }
  });
}

const rows: [string, string[]][] = [
  ['a 100', [CONTINUE + FINAL]],
  ['a 100 with fields', [`HTTP/1.1 100 Go on\r\nX-Wait: no\r\n\r\n${FINAL}`]],
  ['a 102', [PROCESSING + FINAL]],
  ['a 103', [HINTS + FINAL]],
  ['several in a row', [CONTINUE + CONTINUE + HINTS + PROCESSING + CONTINUE + FINAL]],
  ['several in packets of their own', [CONTINUE, HINTS, CONTINUE, FINAL]],
  ['a 100 split in its status', ['HTTP/1.1 1', '0', '0 Continue\r', '\n\r', `\n${FINAL}`]],
  ['a 100 and a final answer byte by byte', (CONTINUE + FINAL).split('')],
  ['a 100 after empty lines', [`\r\n\r\n${CONTINUE}${FINAL}`]],
];

describe('interim answers', () => {
  test.each(rows)('%s before the response is skipped, and the connection is kept', async (_, pieces) => {
    const server = await started(listenTcp((socket) => inPieces(socket, pieces)));
    const http = client();
    for (let i = 0; i < 3; i++) {
      const outcome = await send(http, server);
      expect(outcome).toMatchObject({ kind: 'response', statusText: '200 OK' });
      expect(outcome.kind === 'response' && outcome.body.toString()).toBe('ok');
    }
    expect(server.connections()).toBe(1);
  });

  test('a body that looks like a 100 arrives as it is', async () => {
    const body = `${CONTINUE}HTTP/1.1 100 `;
    const answer = `${CONTINUE}HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\n\r\n`;
    const server = await started(listenTcp((socket) => inPieces(socket, [answer, body])));
    const outcome = await send(client(), server);
    expect(outcome.kind === 'response' && outcome.body.toString()).toBe(body);
  });

  test('a 100 over TLS is skipped', async () => {
    const tls = createTlsServer({ ...endpointCertificate, ALPNProtocols: ['http/1.1'] }, (socket) =>
      inPieces(socket, ['HTTP/1.1 10', `0 Continue\r\n\r\n${HINTS}`, FINAL]),
    );
    const server = await started(listen(tls));
    expect(await send(client(), server, 'https')).toMatchObject({ statusText: '200 OK' });
  });

  test('over HTTP/2 they are skipped too', async () => {
    const h2 = createSecureServer(endpointCertificate).on('stream', (stream: ServerHttp2Stream) => {
      stream.additionalHeaders({ ':status': 100 });
      stream.additionalHeaders({ ':status': 103, link: '</a>' });
      stream.respond({ ':status': 200 });
      stream.end('ok');
    });
    const server = await started(listen(h2));
    expect(await send(client(), server, 'https')).toMatchObject({ statusText: '200 OK' });
  });

  test.each([
    ['100', CONTINUE],
    ['103', HINTS],
  ])('a row of %s without end is cut off', async (_, head) => {
    let closed: Promise<void> | undefined;
    const server = await started(
      listenTcp((socket) => {
        closed = new Promise((resolve) => socket.on('close', () => resolve()));
        const flood = (): void => {
          while (!socket.destroyed && socket.write(head)) {}
        };
        socket.once('data', flood).on('drain', flood);
      }),
    );
    const outcome = await send(client(), server);
    expect(outcome).toMatchObject({
      kind: 'error',
      code: 'invalid_response',
      ours: false,
      message: expect.stringContaining('interim answers'),
    });
    await closed;
  });

  test.each([
    'HTTP/1.1 101 Switching Protocols\r\n\r\n',
    'HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n',
    `${CONTINUE}HTTP/1.1 101 Switching Protocols\r\n\r\n${FINAL}`,
  ])('an unrequested %j is a failure', async (answer) => {
    const server = await started(listenTcp((socket) => inPieces(socket, [answer])));
    expect(await send(client(), server)).toMatchObject({ kind: 'error', code: 'invalid_response' });
  });

  test('an interim response alone, then the end, is no response', async () => {
    const server = await started(listenTcp((socket) => socket.on('data', () => socket.end(CONTINUE))));
    expect(await send(client(), server)).toMatchObject({ kind: 'error', code: 'connection_reset' });
  });
});
