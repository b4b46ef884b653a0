import { once } from 'node:events';
import { createSecureServer } from 'node:http2';
import { createServer } from 'node:https';
import type { Socket } from 'node:net';
import type { TLSSocket, TlsOptions } from 'node:tls';
import { describe, expect, test } from 'vitest';
import {
  HttpClient,
  type HttpClientOptions,
  type OutgoingRequest,
} from '../../src/dispatch/client/http-client.ts';
import { pem } from '../support/certificates/pem.ts';
import { type LoopbackServer, listen, listenHttp, listenTcp } from '../support/servers/loopback-server.ts';
import { untilEnd } from '../support/servers/until-end.ts';

const ca = pem('ca.pem');
const certificate = (name: string) => ({ cert: pem(`${name}.pem`), key: pem(`${name}.key`) });

const client = (options: Partial<HttpClientOptions> = {}) =>
  untilEnd(new HttpClient({ egress: 'any', caPem: ca, ...options }));

const started = async (server: Promise<LoopbackServer>) => untilEnd(await server);

function tlsServer(options: TlsOptions): Promise<LoopbackServer> {
  return started(
    listen(
      createServer(options, (req, res) => {
        const peer = (req.socket as TLSSocket).getPeerCertificate();
        res.end(`${req.httpVersion} ${String(peer.subject?.CN ?? 'anonymous')}`);
      }),
    ),
  );
}

function request(server: LoopbackServer, more: Partial<OutgoingRequest> = {}): OutgoingRequest {
  return {
    url: `https://localhost:${server.port}/hook`,
    headers: [],
    body: Buffer.from('{}'),
    timeoutMs: 5_000,
    maxResponseBytes: 1_000,
    ...more,
  };
}

describe('TLS', () => {
  test('with an own authority works by name and by address, times the handshake and keeps the connection', async () => {
    const server = await tlsServer(certificate('endpoint'));
    const http = client();
    const first = await http.send(request(server));
    const second = await http.send(request(server));
    const byAddress = await http.send(request(server, { url: `https://127.0.0.1:${server.port}/` }));
    expect([first, second, byAddress]).toMatchObject([
      { kind: 'response', status: 200, timings: { tlsMs: expect.any(Number) } },
      { kind: 'response', status: 200 },
      { kind: 'response', status: 200, timings: { tlsMs: expect.any(Number) } },
    ]);
    expect(second.timings.tlsMs).toBeUndefined();
    expect(server.connections()).toBe(2);
  });

  test('without that authority the certificate is not trusted', async () => {
    const server = await tlsServer(certificate('endpoint'));
    const http = untilEnd(new HttpClient({ egress: 'any' }));
    expect(await http.send(request(server))).toMatchObject({
      kind: 'error',
      code: 'tls_failed',
      message: 'certificate is not issued by an authority we trust (localhost)',
      ours: false,
    });
  });

  test.each([
    ['expired', 'certificate has expired (localhost)'],
    ['other', 'certificate is for other.example, not localhost'],
  ])('a certificate that is %s is named', async (name, message) => {
    const server = await tlsServer(certificate(name));
    expect(await client().send(request(server))).toMatchObject({
      kind: 'error',
      code: 'tls_failed',
      message,
      address: '127.0.0.1',
    });
  });

  test('a server that does not speak TLS, or only an old one, is named', async () => {
    const plain = await started(listenHttp((_req, res) => res.end()));
    const old = await tlsServer({
      ...certificate('endpoint'),
      minVersion: 'TLSv1',
      maxVersion: 'TLSv1.1',
      ciphers: 'DEFAULT@SECLEVEL=0',
    });
    const http = client();
    expect(await http.send(request(plain))).toMatchObject({
      code: 'tls_failed',
      message: `localhost:${plain.port} does not speak TLS`,
    });
    expect(await http.send(request(old))).toMatchObject({ kind: 'error', code: 'tls_failed' });
  });

  test('a server that closes during the handshake is named', async () => {
    const server = await started(listenTcp((socket) => socket.once('data', () => socket.destroy())));
    expect(await client().send(request(server))).toMatchObject({
      code: 'tls_failed',
      message: `localhost:${server.port} closed the connection during the TLS handshake`,
    });
  });

  test('a server that never finishes the handshake hits the time limit and is disconnected', async () => {
    const closed = Promise.withResolvers<void>();
    const server = await started(
      listenTcp((socket) => {
        socket.resume().on('close', () => closed.resolve());
      }),
    );
    const outcome = await client().send(request(server, { timeoutMs: 300 }));
    expect(outcome).toMatchObject({ kind: 'error', code: 'timeout', ours: false, address: '127.0.0.1' });
    expect((outcome as { message: string }).message).toContain('did not finish the TLS handshake');
    await closed.promise;
  });

  test('close while a handshake hangs leaves nothing behind', async () => {
    const connected = Promise.withResolvers<Socket>();
    const server = await started(listenTcp((socket) => connected.resolve(socket.resume())));
    const http = client();
    const sending = http.send(request(server));
    const closed = once(await connected.promise, 'close');
    await http.close();
    expect(await sending).toMatchObject({ kind: 'error', code: 'aborted', ours: true });
    await closed;
  });
});

describe('client certificates', () => {
  const demanding: TlsOptions = {
    ...certificate('endpoint'),
    ca,
    requestCert: true,
    rejectUnauthorized: true,
  };

  test('are presented, and connections are not shared with requests without one', async () => {
    const server = await tlsServer({ ...demanding, rejectUnauthorized: false });
    const http = client();
    const send = async (clientCertificate?: OutgoingRequest['clientCertificate']): Promise<string> => {
      const outcome = await http.send(request(server, clientCertificate && { clientCertificate }));
      return outcome.kind === 'response' ? outcome.body.toString() : outcome.message;
    };
    const client1 = certificate('client');
    const texts = [await send(client1), await send(), await send(client1), await send(certificate('other'))];
    expect(texts).toEqual(['1.1 client.example', '1.1 anonymous', '1.1 client.example', '1.1 other.example']);
    expect(server.connections()).toBe(3);
  });

  test('required but missing make the endpoint close, which is the failure', async () => {
    const server = await tlsServer(demanding);
    expect(await client().send(request(server))).toMatchObject({ code: 'connection_reset', ours: false });
    const clientCertificate = certificate('client');
    expect(await client().send(request(server, { clientCertificate }))).toMatchObject({ status: 200 });
  });

  test.each([
    [{ cert: 'nonsense', key: 'nonsense' }, /cannot be read/],
    [{ cert: certificate('client').cert, key: certificate('other').key }, /does not belong to its key/],
    [certificate('expired-client'), /expired on 2021-01-01/],
  ])('that cannot be used are refused before connecting (%#)', async (clientCertificate, message) => {
    const server = await tlsServer(demanding);
    const http = client();
    for (let i = 0; i < 2; i++) {
      const outcome = await http.send(request(server, { clientCertificate }));
      expect(outcome).toMatchObject({
        kind: 'error',
        code: 'client_certificate_invalid',
        message: expect.stringMatching(message),
        ours: false,
      });
      expect(JSON.stringify(outcome)).not.toContain('PRIVATE KEY');
    }
    expect(server.connections()).toBe(0);
  });
});

describe('HTTP/2', () => {
  function h2Server(handler: Parameters<typeof createSecureServer>[1]): Promise<LoopbackServer> {
    const secure = createSecureServer({ ...certificate('endpoint'), allowHTTP1: true }, handler);
    secure.on('sessionError', () => {});
    return started(listen(secure));
  }

  test('is used if the endpoint offers it; a burst shares one connection', async () => {
    const server = await h2Server((req, res) => {
      res.writeHead(200, { 'x-seen': req.headers['x-mixed'] ?? '' });
      req.on('data', () => {}).on('end', () => res.end(`${req.httpVersion} ${req.method} ${req.url}`));
    });
    const http = client();
    const sends = Array.from({ length: 40 }, () =>
      http.send(request(server, { headers: [['X-Mixed', 'v']] })),
    );
    for (const outcome of await Promise.all(sends)) {
      expect(outcome).toMatchObject({
        kind: 'response',
        status: 200,
        statusText: '200 OK',
        truncated: false,
      });
      if (outcome.kind !== 'response') continue;
      expect(outcome.body.toString()).toBe('2.0 POST /hook');
      expect(outcome.headers['x-seen']).toEqual(['v']);
      expect(Object.keys(outcome.headers).filter((name) => name.startsWith(':'))).toEqual([]);
    }
    expect(server.connections()).toBe(1);
  });

  test('carries a large body whole', async () => {
    const server = await h2Server((req, res) => {
      let bytes = 0;
      req.on('data', (chunk: Buffer) => {
        bytes += chunk.length;
      });
      req.on('end', () => res.end(String(bytes)));
    });
    const outcome = await client().send(request(server, { body: Buffer.alloc(1_000_000) }));
    expect(outcome.kind === 'response' && outcome.body.toString()).toBe('1000000');
  });

  test('cutting or timing out one answer leaves the other streams of the connection alone', async () => {
    const server = await h2Server((req, res) => {
      if (req.url === '/big') res.end(Buffer.alloc(1_000_000, 'x'));
      else if (req.url === '/slow') setTimeout(() => res.end('slow'), 400);
      else if (req.url !== '/hang') res.end('ok');
    });
    const http = client();
    const url = (path: string) => `https://localhost:${server.port}${path}`;
    await http.send(request(server, { url: url('/warm') }));
    const [big, slow, hang] = await Promise.all([
      http.send(request(server, { url: url('/big') })),
      http.send(request(server, { url: url('/slow') })),
      http.send(request(server, { url: url('/hang'), timeoutMs: 250 })),
    ]);
    expect(big).toMatchObject({ kind: 'response', truncated: true });
    expect(slow).toMatchObject({ kind: 'response', status: 200 });
    expect(hang).toMatchObject({ kind: 'error', code: 'timeout' });
    expect(server.connections()).toBe(1);
  });

  test('with few allowed streams, more connections carry the rest', async () => {
    const secure = createSecureServer(
      { ...certificate('endpoint'), settings: { maxConcurrentStreams: 2 } },
      (_req, res) => void setTimeout(() => res.end('ok'), 100),
    );
    const server = await started(listen(secure));
    const http = client();
    await http.send(request(server));
    const sends = Array.from({ length: 8 }, () => http.send(request(server)));
    for (const outcome of await Promise.all(sends)) expect(outcome).toMatchObject({ status: 200 });
    expect(server.connections()).toBeGreaterThanOrEqual(3);
  });

  test('a session the endpoint destroys in mid-answer is a failure, and the next send works', async () => {
    const server = await h2Server((req, res) => {
      if (req.url !== '/break') res.end('ok');
      else res.writeHead(200).write('begun', () => req.stream.session?.destroy());
    });
    const http = client();
    const broken = await http.send(request(server, { url: `https://localhost:${server.port}/break` }));
    expect(broken).toMatchObject({ kind: 'error', code: 'connection_reset', ours: false });
    expect(await http.send(request(server))).toMatchObject({ kind: 'response', status: 200 });
  });

  test('with too many header bytes is refused', async () => {
    const server = await h2Server((_req, res) => res.writeHead(200, { x: 'y'.repeat(30_000) }).end());
    expect(await client().send(request(server))).toMatchObject({ kind: 'error', code: 'invalid_response' });
  });
});
