import { createServer } from 'node:https';
import { connect, type Socket } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import { describe, expect, test } from 'vitest';
import { HttpClient, type HttpClientOptions } from '../../src/dispatch/client/http-client.ts';
import { pem } from '../support/certificates/pem.ts';
import { startDnsServer } from '../support/servers/dns-server.ts';
import { type LoopbackServer, listen, listenHttp, listenTcp } from '../support/servers/loopback-server.ts';
import { untilEnd } from '../support/servers/until-end.ts';

const started = async <T extends { close(): Promise<void> }>(thing: Promise<T>) => untilEnd(await thing);

const client = (options: Partial<HttpClientOptions>) =>
  untilEnd(new HttpClient({ egress: 'any', caPem: pem('ca.pem'), ...options }));

const send = (http: HttpClient, url: string, timeoutMs = 5_000) =>
  http.send({ url, headers: [], body: Buffer.from('{}'), timeoutMs, maxResponseBytes: 1_000 });

/** A CONNECT proxy; whatever name is asked for, it connects to loopback. */
function startProxy(asked: string[]): Promise<LoopbackServer> {
  return started(listenTcp(proxying(asked)));
}

function proxying(asked: string[]): (socket: Socket) => void {
  return (socket) => {
    socket
      .on('error', () => {})
      .once('data', (head) => {
        asked.push(head.toString('latin1'));
        const port = Number(/^CONNECT \S+:(\d+) /.exec(head.toString('latin1'))?.[1]);
        const upstream = connect(port, '127.0.0.1', () => {
          socket.write('HTTP/1.1 200 Connection established\r\nVia: test\r\n\r\n');
          socket.pipe(upstream).pipe(socket);
        });
        upstream.on('error', () => socket.end('HTTP/1.1 502 Bad Gateway\r\n\r\n'));
        socket.on('close', () => upstream.destroy());
      });
  };
}

describe('an outbound proxy', () => {
  test('is asked to connect for http and https, by name, and the tunnel is kept alive', async () => {
    const asked: string[] = [];
    const proxy = await startProxy(asked);
    const plain = await started(listenHttp((_req, res) => res.end('plain')));
    const secure = await started(
      listen(
        createServer({ cert: pem('endpoint.pem'), key: pem('endpoint.key') }, (_req, res) =>
          res.end('secure'),
        ),
      ),
    );
    const http = client({ proxyUrl: `http://us%65r:p%40ss@127.0.0.1:${proxy.port}` });
    for (let i = 0; i < 2; i++) {
      expect(await send(http, `http://localhost:${plain.port}/`)).toMatchObject({
        status: 200,
        address: null,
      });
      expect(await send(http, `https://localhost:${secure.port}/`)).toMatchObject({ status: 200 });
    }
    expect(asked).toHaveLength(2);
    expect(asked[0]).toContain(`CONNECT localhost:${plain.port} HTTP/1.1\r\n`);
    expect(asked[0]).toContain(
      `Proxy-Authorization: Basic ${Buffer.from('user:p@ss').toString('base64')}\r\n`,
    );
    expect(asked[1]).toContain(`CONNECT localhost:${secure.port} HTTP/1.1\r\n`);
  });

  test('does not lift the egress rule: the name is resolved and vetted before the proxy gets it', async () => {
    const asked: string[] = [];
    const proxy = await startProxy(asked);
    const dns = await started(
      startDnsServer((name) =>
        name === 'rebind.example' ? { addresses: ['169.254.169.254'] } : 'not_found',
      ),
    );
    const http = client({ proxyUrl: `http://127.0.0.1:${proxy.port}`, nameServers: [dns.address] });
    expect(await send(http, 'http://rebind.example/')).toMatchObject({ code: 'address_blocked' });
    expect(await send(http, 'http://169.254.169.254/')).toMatchObject({ code: 'address_blocked' });
    expect(await send(http, 'http://absent.example/')).toMatchObject({ code: 'dns_not_found' });
    expect(asked).toEqual([]);
  });

  test('may itself use TLS, with our own authority', async () => {
    const keys = { cert: pem('endpoint.pem'), key: pem('endpoint.key') };
    const proxy = await started(listen(createTlsServer(keys, proxying([]))));
    const secure = await started(listen(createServer(keys, (_req, res) => res.end('secure'))));
    const proxyUrl = `https://localhost:${proxy.port}`;
    expect(await send(client({ proxyUrl }), `https://localhost:${secure.port}/`)).toMatchObject({
      status: 200,
    });
    const untrusting = untilEnd(new HttpClient({ egress: 'any', proxyUrl }));
    expect(await send(untrusting, `https://localhost:${secure.port}/`)).toMatchObject({
      code: 'proxy_failed',
      ours: true,
    });
  });

  test('that cannot be reached is our fault', async () => {
    const gone = await listenTcp(() => {});
    await gone.close();
    const http = client({ proxyUrl: `http://127.0.0.1:${gone.port}` });
    expect(await send(http, 'http://127.0.0.1:9/')).toMatchObject({
      code: 'proxy_failed',
      ours: true,
      message: `the proxy 127.0.0.1:${gone.port} cannot be reached (ECONNREFUSED)`,
    });
  });

  test.each([
    ['HTTP/1.1 407 Proxy Authentication Required\r\n\r\n', true, /credentials/],
    ['HTTP/1.1 502 Bad Gateway\r\n\r\n', false, /did not connect to 127\.0\.0\.1:9 \(502\)/],
    ['HTTP/1.1 403 Forbidden\r\n\r\n', false, /\(403\)/],
    ['SSH-2.0-x\r\n\r\n', true, /did not answer in HTTP/],
    ['x'.repeat(20_000), true, /did not answer in HTTP/],
    ['', true, /closed the connection/],
  ])('answering %j', async (answer, ours, message) => {
    const proxy = await started(listenTcp((socket) => socket.once('data', () => socket.end(answer))));
    const http = client({ proxyUrl: `http://name:secret@127.0.0.1:${proxy.port}` });
    const outcome = await send(http, 'http://127.0.0.1:9/');
    expect(outcome).toMatchObject({ code: 'proxy_failed', ours, message: expect.stringMatching(message) });
    expect(JSON.stringify(outcome)).not.toContain('secret');
  });

  test('that never answers hits the time limit', async () => {
    const proxy = await started(listenTcp((socket) => void socket.resume()));
    const http = client({ proxyUrl: `http://127.0.0.1:${proxy.port}` });
    expect(await send(http, 'http://127.0.0.1:9/', 200)).toMatchObject({ kind: 'error', code: 'timeout' });
  });

  test.each(['socks5://127.0.0.1:1', 'nonsense'])(
    'URL %s is refused when the client is created',
    (proxyUrl) => {
      expect(() => new HttpClient({ egress: 'any', proxyUrl })).toThrow(TypeError);
    },
  );
});
