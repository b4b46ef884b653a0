import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { describe, expect, test } from 'vitest';
import { listenHttp, listenTcp } from '../support/servers/loopback-server.ts';
import { answered, exchangeScene, failed, request, textOf } from './exchange-scene.ts';

const { client, started, rawServer } = exchangeScene();

describe('a plain exchange', () => {
  test('sends method, path, headers in their casing and body, and returns the answer', async () => {
    const seen: Promise<unknown[]>[] = [];
    const server = await started(
      listenHttp((req, res) => {
        seen.push(textOf(req).then((text) => [req.method, req.url, req.rawHeaders, text]));
        res.writeHead(201, 'Made It', { 'X-Two': ['a', 'b'], 'Content-Type': 'text/plain' }).end('grüße');
      }),
    );
    const headers = [
      ['X-MiXed-Case', 'Va lue'],
      ['Content-Type', 'application/json'],
      ['X-Twice', '1'],
      ['X-Twice', '2'],
    ] as const;
    const before = performance.now();
    const outcome = answered(await client().send(request(server, { headers })));
    expect(outcome).toMatchObject({
      status: 201,
      statusText: '201 Made It',
      truncated: false,
      address: '127.0.0.1',
    });
    expect(outcome.body.toString()).toBe('grüße');
    expect(outcome.headers['x-two']).toEqual(['a', 'b']);
    expect(outcome.startedMs).toBeGreaterThanOrEqual(before);
    const [method, url, rawHeaders, text] = (await seen[0])!;
    expect([method, url, text]).toEqual(['POST', '/hook?a=1', '{"a":1}']);
    expect(rawHeaders).toEqual(expect.arrayContaining(['X-MiXed-Case', 'Va lue', 'X-Twice', '1', '2']));
  });

  test('GET without a body works, and an empty POST has length 0', async () => {
    const server = await started(
      listenHttp((req, res) => res.end(`${req.method} ${req.headers['content-length']}`)),
    );
    const http = client();
    const get = answered(await http.send(request(server, { method: 'GET', body: Buffer.alloc(0) })));
    const post = answered(await http.send(request(server, { body: Buffer.alloc(0) })));
    expect([get.body.toString(), post.body.toString()]).toEqual(['GET undefined', 'POST 0']);
  });

  test('a large body arrives whole', async () => {
    const server = await started(
      listenHttp((req, res) => void textOf(req).then((text) => res.end(String(text.length)))),
    );
    const outcome = answered(await client().send(request(server, { body: Buffer.alloc(3_000_000, 'x') })));
    expect(outcome.body.toString()).toBe('3000000');
  });

  test('times the first use of a connection in full, and a reused one without connecting', async () => {
    const server = await started(listenHttp((_req, res) => res.end('ok')));
    const http = client();
    const url = `http://localhost:${server.port}/`;
    const first = answered(await http.send(request(server, { url })));
    const second = answered(await http.send(request(server, { url })));
    expect(Object.keys(first.timings).sort()).toEqual(['connectMs', 'dnsMs', 'firstByteMs', 'totalMs']);
    expect(Object.keys(second.timings).sort()).toEqual(['firstByteMs', 'totalMs']);
    expect(first.timings.totalMs).toBeGreaterThanOrEqual(first.timings.firstByteMs!);
    expect(server.connections()).toBe(1);
  });

  test('an informational response before the real one is skipped', async () => {
    const answer =
      'HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok';
    const outcome = answered(await client().send(request(await rawServer(answer))));
    expect([outcome.statusText, outcome.body.toString()]).toEqual(['200 OK', 'ok']);
  });

  test('a redirect is the answer and is not followed', async () => {
    let requests = 0;
    const server = await started(
      listenHttp((_req, res) => {
        requests++;
        res.writeHead(307, { Location: '/elsewhere' }).end();
      }),
    );
    const outcome = answered(await client().send(request(server)));
    expect([outcome.status, outcome.headers['location'], requests]).toEqual([307, ['/elsewhere'], 1]);
  });

  test('a status without a text gets the usual one, an unknown one has none', async () => {
    const texts = await Promise.all(
      ['HTTP/1.1 404', 'HTTP/1.1 599'].map(async (line) => {
        const server = await rawServer(`${line}\r\nContent-Length: 0\r\n\r\n`);
        return answered(await client().send(request(server))).statusText;
      }),
    );
    expect(texts).toEqual(['404 Not Found', '599']);
  });
});

describe('connections', () => {
  test('are reused: many sends in turn need one, many at once no more than allowed', async () => {
    const server = await started(listenHttp((_req, res) => res.end('ok')));
    const http = client({ connectionsPerOrigin: 4 });
    for (let i = 0; i < 20; i++) answered(await http.send(request(server)));
    expect(server.connections()).toBe(1);
    const outcomes = await Promise.all(Array.from({ length: 50 }, () => http.send(request(server))));
    expect(outcomes.every((outcome) => outcome.kind === 'response')).toBe(true);
    expect(server.connections()).toBeLessThanOrEqual(4);
  });

  test('are bounded overall: idle ones of other origins give way, and no origin starves', async () => {
    const servers = await Promise.all(
      Array.from({ length: 6 }, () => started(listenHttp((_req, res) => res.end('ok')))),
    );
    const http = client({ connectionsPerOrigin: 2, maxConnections: 3 });
    const sends = servers.flatMap((server) => Array.from({ length: 5 }, () => http.send(request(server))));
    const outcomes = await Promise.all(sends);
    expect(outcomes.filter((outcome) => outcome.kind === 'response')).toHaveLength(30);
    for (const server of servers) answered(await http.send(request(server)));
    const openNow = servers.reduce((sum, server) => sum + server.sockets.size, 0);
    expect(openNow).toBeLessThanOrEqual(4); // one may be closing
  });

  test('a send that finds no free connection in time is our fault, and frees nothing it did not hold', async () => {
    const arrived = Promise.withResolvers<ServerResponse>();
    const server = await started(listenHttp((_req, res) => arrived.resolve(res)));
    const http = client({ connectionsPerOrigin: 1 });
    const first = http.send(request(server));
    const held = await arrived.promise;
    const second = failed(await http.send(request(server, { timeoutMs: 50 })));
    expect(second).toMatchObject({ code: 'local_resource', ours: true });
    held.end('late');
    answered(await first);
  });

  test('closed by the endpoint while idle cost nothing: the next send opens another', async () => {
    const server = await started(
      listenTcp((socket) => {
        socket.once('data', () => socket.write('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n'));
      }),
    );
    const http = client();
    answered(await http.send(request(server)));
    const [socket] = server.sockets;
    socket!.end();
    await once(socket!, 'close');
    const outcome = answered(await http.send(request(server)));
    expect(outcome.timings.connectMs).toBeDefined();
    expect(server.connections()).toBe(2);
  });

  test('closed by the endpoint just as we write are not retried: the outcome is dropped', async () => {
    let seen = 0;
    const server = await started(
      listenTcp((socket) => {
        let first = true;
        socket.on('data', () => {
          seen++;
          if (first) socket.write('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n');
          else socket.destroy();
          first = false;
        });
      }),
    );
    const http = client();
    answered(await http.send(request(server)));
    const outcome = failed(await http.send(request(server)));
    expect(outcome).toMatchObject({ code: 'connection_reset', ours: false, dropped: true });
    expect(outcome.message).toContain('a connection kept from an earlier request');
    expect([server.connections(), seen]).toEqual([1, 2]);
    const next = answered(await http.send(request(server)));
    expect(next.timings.connectMs).toBeDefined();
  });

  test('closed in the middle of a response do not count as dropped', async () => {
    const server = await started(
      listenTcp((socket) => {
        let first = true;
        socket.on('data', () => {
          if (first) socket.write('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n');
          else socket.end('HTTP/1.1 200 OK\r\n');
          first = false;
        });
      }),
    );
    const http = client();
    answered(await http.send(request(server)));
    expect(failed(await http.send(request(server)))).toMatchObject({
      code: 'connection_reset',
      dropped: false,
    });
  });

  test('are closed when idle before the endpoint closes them: by its Keep-Alive, else within five seconds', async () => {
    const [short, unsaid, long] = await Promise.all(
      ['Keep-Alive: timeout=2\r\n', '', 'Keep-Alive: timeout=60\r\n'].map((header) =>
        rawServer(`HTTP/1.1 200 OK\r\n${header}Content-Length: 0\r\n\r\n`),
      ),
    );
    const http = client();
    const closed: string[] = [];
    const closing = Object.entries({ short, unsaid, long }).map(async ([name, server]) => {
      answered(await http.send(request(server!)));
      const [socket] = server!.sockets;
      if (name !== 'long') await once(socket!, 'close');
      closed.push(name);
    });
    await Promise.all(closing);
    expect(closed).toEqual(['long', 'short', 'unsaid']);
    expect(long!.sockets.size).toBe(1);
  });

  test('that close on every new request are not tried again', async () => {
    const server = await started(listenTcp((socket) => socket.on('data', () => socket.destroy())));
    const outcome = failed(await client().send(request(server)));
    expect(outcome).toMatchObject({ code: 'connection_reset', ours: false, dropped: false });
    expect(outcome.message).toBe(`127.0.0.1:${server.port} closed the connection before answering`);
    expect(server.connections()).toBe(1);
  });

  test('an endpoint that asks for closing gets a new connection each time', async () => {
    const server = await rawServer('HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nbye', 'end');
    const http = client();
    for (let i = 0; i < 3; i++) {
      expect(answered(await http.send(request(server))).body.toString()).toBe('bye');
    }
    expect(server.connections()).toBe(3);
  });
});
