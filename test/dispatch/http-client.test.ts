import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import {
  brotliCompressSync,
  constants,
  deflateRawSync,
  deflateSync,
  gzipSync,
  zstdCompressSync,
} from 'node:zlib';
import { afterEach, describe, expect, test } from 'vitest';
import {
  HttpClient,
  type HttpClientOptions,
  type OutgoingRequest,
} from '../../src/dispatch/client/http-client.ts';
import type { ErrorOutcome, Outcome, ResponseOutcome } from '../../src/dispatch/connection/outcome.ts';
import { type LoopbackServer, listenHttp, listenTcp } from '../support/loopback-server.ts';

const open: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const thing of open.splice(0).toReversed()) await thing.close();
});

function client(options: Partial<HttpClientOptions> = {}): HttpClient {
  const made = new HttpClient({ egress: 'any', ...options });
  open.push(made);
  return made;
}

async function started(server: Promise<LoopbackServer>): Promise<LoopbackServer> {
  open.push(await server);
  return server;
}

function request(server: LoopbackServer | number, more: Partial<OutgoingRequest> = {}): OutgoingRequest {
  const port = typeof server === 'number' ? server : server.port;
  return {
    url: `http://127.0.0.1:${port}/hook?a=1`,
    headers: [['Content-Type', 'application/json']],
    body: Buffer.from('{"a":1}'),
    timeoutMs: 5_000,
    maxResponseBytes: 1_000,
    ...more,
  };
}

function answered(outcome: Outcome): ResponseOutcome {
  if (outcome.kind !== 'response') throw new Error(`expected an answer: ${outcome.message}`);
  return outcome;
}

function failed(outcome: Outcome): ErrorOutcome {
  if (outcome.kind !== 'error') throw new Error(`expected an error, got ${outcome.statusText}`);
  return outcome;
}

async function textOf(message: IncomingMessage): Promise<string> {
  let text = '';
  for await (const chunk of message) text += chunk;
  return text;
}

/** Answers every request with these bytes, as they are. */
function rawServer(answer: string, then: 'keep' | 'end' | 'reset' = 'keep'): Promise<LoopbackServer> {
  return started(
    listenTcp((socket) => {
      socket.on('data', () => {
        socket.write(answer, () => {
          if (then === 'end') socket.end();
          if (then === 'reset') socket.resetAndDestroy();
        });
      });
    }),
  );
}

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
    const before = Date.now();
    const outcome = answered(await client().send(request(server, { headers })));
    expect(outcome).toMatchObject({
      status: 201,
      statusText: '201 Made It',
      truncated: false,
      address: '127.0.0.1',
    });
    expect(outcome.body.toString()).toBe('grüße');
    expect(outcome.headers['x-two']).toEqual(['a', 'b']);
    expect(outcome.startedAt).toBeGreaterThanOrEqual(before);
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
    let release: (() => void) | undefined;
    const server = await started(
      listenHttp((_req, res) => {
        release = () => res.end('late');
      }),
    );
    const http = client({ connectionsPerOrigin: 1 });
    const first = http.send(request(server));
    const second = failed(await http.send(request(server, { timeoutMs: 50 })));
    expect(second).toMatchObject({ code: 'local_resource', ours: true });
    release!();
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

describe('a bounded answer', () => {
  test('of exactly the bound is whole and keeps the connection', async () => {
    const server = await started(listenHttp((_req, res) => res.end(Buffer.alloc(1_000, 'x'))));
    const http = client();
    for (let i = 0; i < 2; i++) {
      const outcome = answered(await http.send(request(server)));
      expect([outcome.body.length, outcome.truncated]).toEqual([1_000, false]);
    }
    expect(server.connections()).toBe(1);
  });

  test('that never ends is cut at the bound and its connection closed, no other', async () => {
    let endless: Promise<unknown> | undefined;
    const server = await started(
      listenHttp((req, res) => {
        if (req.url === '/small') {
          res.end('small');
          return;
        }
        endless = once(res, 'close');
        const write = (): void => {
          while (!res.destroyed && res.write(Buffer.alloc(65_536, 'x')));
        };
        res.on('drain', write);
        write();
      }),
    );
    const http = client();
    const url = `http://127.0.0.1:${server.port}/small`;
    const [cut, small] = await Promise.all([http.send(request(server)), http.send(request(server, { url }))]);
    const outcome = answered(cut);
    expect([outcome.status, outcome.body.toString(), outcome.truncated]).toEqual([
      200,
      'x'.repeat(1_000),
      true,
    ]);
    answered(small);
    await endless;
    answered(await http.send(request(server, { url })));
    expect(server.connections()).toBe(2);
  });

  test.each([
    ['gzip', gzipSync],
    ['x-gzip', gzipSync],
    ['deflate', deflateSync],
    ['deflate', deflateRawSync],
    ['br', brotliCompressSync],
    ['zstd', zstdCompressSync],
  ])('in %s is decoded', async (encoding, compress) => {
    const server = await started(
      listenHttp((_req, res) =>
        res.setHeader('Content-Encoding', encoding).end(compress('hello '.repeat(9))),
      ),
    );
    const outcome = answered(await client().send(request(server)));
    expect([outcome.body.toString(), outcome.truncated]).toEqual(['hello '.repeat(9), false]);
  });

  test.each([
    ['gzip', gzipSync],
    ['br', (input: Buffer) => brotliCompressSync(input, { params: { [constants.BROTLI_PARAM_QUALITY]: 4 } })],
    ['zstd', zstdCompressSync],
  ])('that is a %s bomb costs no more than the bound', async (encoding, compress) => {
    const bomb = compress(Buffer.alloc(10_000_000));
    const server = await started(
      listenHttp((_req, res) => res.setHeader('Content-Encoding', encoding).end(bomb)),
    );
    const before = process.memoryUsage().arrayBuffers;
    const outcome = answered(await client().send(request(server, { maxResponseBytes: 60_000 })));
    expect([outcome.body.length, outcome.truncated]).toEqual([60_000, true]);
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(5_000_000);
  });

  test('that does not decode is kept as received', async () => {
    const server = await started(
      listenHttp((_req, res) => res.setHeader('Content-Encoding', 'gzip').end('not gzip at all')),
    );
    expect(answered(await client().send(request(server))).body.toString()).toBe('not gzip at all');
  });

  test('with too many header bytes is refused', async () => {
    const server = await rawServer(`HTTP/1.1 200 OK\r\nX: ${'y'.repeat(20_000)}\r\n\r\n`);
    const outcome = failed(await client().send(request(server)));
    expect(outcome).toMatchObject({ code: 'invalid_response', ours: false });
    expect(outcome.message).toContain('16 KiB of headers');
  });

  test('with too many headers is refused', async () => {
    const server = await rawServer(
      `HTTP/1.1 200 OK\r\n${Array.from({ length: 300 }, (_, i) => `a${i}: 1\r\n`).join('')}\r\n`,
    );
    const outcome = failed(await client().send(request(server)));
    expect(outcome).toMatchObject({ code: 'invalid_response', ours: false });
    expect(outcome.message).toContain('too many headers');
  });
});

describe('a bad answer', () => {
  test.each([
    ['SSH-2.0-OpenSSH_9.6\r\n', 'keep'],
    ['\0\0\0\0\0\0', 'keep'],
    ['HTTP/1.1 abc\r\n\r\n', 'keep'],
    ['HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n', 'keep'],
    ['HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n', 'keep'],
    ['HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n', 'keep'],
    ['HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n', 'keep'],
  ] as const)('%j is invalid', async (bytes, then) => {
    const outcome = failed(await client().send(request(await rawServer(bytes, then))));
    expect(outcome).toMatchObject({ code: 'invalid_response', ours: false, address: '127.0.0.1' });
    expect(outcome.message).toMatch(/^127\.0\.0\.1:\d+ /);
  });

  test.each([
    ['HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nonly a part', 'end'],
    ['HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nonly a part', 'reset'],
    ['HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n', 'end'],
  ] as const)('%j then %s counts as failed although it said 200', async (bytes, then) => {
    const outcome = failed(await client().send(request(await rawServer(bytes, then))));
    expect(outcome).toMatchObject({ code: 'connection_reset', ours: false });
    expect(outcome.message).toContain('in the middle of its answer');
  });

  test('a reset instead of an answer is named', async () => {
    const server = await started(listenTcp((socket) => socket.on('data', () => socket.resetAndDestroy())));
    const outcome = failed(await client().send(request(server)));
    expect(outcome.code).toBe('connection_reset');
    expect(outcome.message).toBe(`127.0.0.1:${server.port} reset the connection before answering`);
  });

  test('a refused connection is named with its port', async () => {
    const server = await listenTcp(() => {});
    await server.close();
    const outcome = failed(await client().send(request(server)));
    expect(outcome).toMatchObject({
      code: 'connection_refused',
      message: `connection refused by 127.0.0.1:${server.port}`,
      ours: false,
      address: '127.0.0.1',
    });
  });
});

describe('the time limit', () => {
  test('covers an endpoint that accepts and never answers, and closes the connection', async () => {
    let closed: Promise<unknown> | undefined;
    const server = await started(
      listenTcp((socket) => {
        socket.resume();
        closed = once(socket, 'close');
      }),
    );
    const outcome = failed(await client().send(request(server, { timeoutMs: 200 })));
    expect(outcome).toMatchObject({ code: 'timeout', ours: false, address: '127.0.0.1' });
    expect(outcome.message).toBe(`127.0.0.1:${server.port} did not answer within 200 ms`);
    expect(outcome.timings.totalMs).toBeGreaterThanOrEqual(199);
    await closed;
  });

  test('covers an answer that drips', async () => {
    const server = await started(
      listenHttp((_req, res) => {
        const drip = setInterval(() => res.write('.'), 5);
        res.on('close', () => clearInterval(drip));
      }),
    );
    const outcome = failed(await client().send(request(server, { timeoutMs: 250 })));
    expect(outcome).toMatchObject({ code: 'response_too_slow', ours: false });
    expect(outcome.timings.firstByteMs).toBeDefined();
  });

  test('covers headers that drip, of an answer and of an interim one', async () => {
    const pieces = ['HTTP/1.1 103 Early Hints\r\nX: ', 'HTTP/1.1 200 OK\r\nX: '];
    const outcomes = await Promise.all(
      pieces.map(async (piece) => {
        const server = await started(
          listenTcp((socket) => {
            socket.once('data', () => {
              socket.write(piece);
              const drip = setInterval(() => socket.write('x'), 5);
              socket.on('close', () => clearInterval(drip));
            });
          }),
        );
        return failed(await client().send(request(server, { timeoutMs: 250 }))).code;
      }),
    );
    expect(outcomes).toEqual(['timeout', 'timeout']);
  });

  test('a time-out on one connection leaves the others alone', async () => {
    const server = await started(
      listenHttp((req, res) => {
        if (req.url !== '/hang') setTimeout(() => res.end('ok'), 300);
      }),
    );
    const http = client();
    const url = `http://127.0.0.1:${server.port}/hang`;
    const [hung, fine] = await Promise.all([
      http.send(request(server, { url, timeoutMs: 200 })),
      http.send(request(server)),
    ]);
    expect([failed(hung).code, answered(fine).status]).toEqual(['timeout', 200]);
  });
});

describe('what cannot be sent', () => {
  test.each([
    ['nonsense', 'bad_url'],
    ['ftp://127.0.0.1/', 'bad_url'],
    ['http://user:secret@127.0.0.1/', 'bad_url'],
    ['http://127.0.0.1:0/', 'bad_url'],
    ['http://169.254.169.254/latest/meta-data', 'address_blocked'],
    ['http://[fe80::1]/', 'address_blocked'],
  ])('%s is %s', async (url, code) => {
    const outcome = failed(await client().send(request(1, { url })));
    expect(outcome).toMatchObject({ code, ours: false, address: null });
    expect(outcome.message).not.toContain('secret');
  });

  test.each([
    [['Bad Name', 'x']],
    [['X-A', 'line\r\nbreak']],
    [['X-A', 'snow ☃']],
    [['Transfer-Encoding', 'chunked']],
    [['Content-Length', '3']],
  ] as [[string, string]][])('the header %j is refused without a connection', async (header) => {
    const server = await started(listenHttp((_req, res) => res.end()));
    const outcome = failed(await client().send(request(server, { headers: [header] })));
    expect(outcome).toMatchObject({ code: 'invalid_request', ours: false });
  });

  test('public egress refuses loopback by address and by name', async () => {
    const server = await started(listenHttp((_req, res) => res.end()));
    const http = client({ egress: 'public' });
    for (const host of ['127.0.0.1', 'localhost', '2130706433', '[::1]']) {
      const url = `http://${host}:${server.port}/`;
      expect(failed(await http.send(request(server, { url }))).code).toBe('address_blocked');
    }
    expect(server.connections()).toBe(0);
  });

  test('an allowed range opens loopback, the deny list closes it again', async () => {
    const server = await started(listenHttp((_req, res) => res.end()));
    const allow = ['127.0.0.0/8'];
    answered(await client({ egress: 'public', allow }).send(request(server)));
    const denied = client({ egress: 'public', allow, deny: ['127.0.0.1'] });
    expect(failed(await denied.send(request(server))).code).toBe('address_blocked');
  });
});

describe('giving up', () => {
  test('an aborted send ends at once as aborted, before or while it runs', async () => {
    const arrived = Promise.withResolvers<void>();
    const server = await started(listenHttp(() => arrived.resolve()));
    const http = client();
    const early = failed(await http.send(request(server), AbortSignal.abort()));
    const aborter = new AbortController();
    const running = http.send(request(server), aborter.signal);
    await arrived.promise;
    aborter.abort();
    expect([early, failed(await running)]).toMatchObject([
      { code: 'aborted', ours: true },
      { code: 'aborted', ours: true },
    ]);
  });

  test('close ends what runs and what waits, and leaves no socket and no timer', async () => {
    const arrived = Promise.withResolvers<void>();
    const server = await started(listenHttp(() => arrived.resolve()));
    const idleServer = await started(listenHttp((_req, res) => res.end('ok')));
    const http = client({ connectionsPerOrigin: 1 });
    answered(await http.send(request(idleServer)));
    const sends = [http.send(request(server)), http.send(request(server))];
    await arrived.promise;
    await http.close();
    const outcomes = await Promise.all(sends);
    expect(outcomes.map((outcome) => failed(outcome).code)).toEqual(['aborted', 'aborted']);
    expect(failed(await http.send(request(server)))).toMatchObject({ code: 'aborted', ours: true });
    await http.close();
    await Promise.all([...server.sockets, ...idleServer.sockets].map((socket) => once(socket, 'close')));
    expect(process.getActiveResourcesInfo().filter((name) => name === 'TCPSocketWrap')).toEqual([]);
  });
});
