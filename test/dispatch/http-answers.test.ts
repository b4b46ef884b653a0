import { once } from 'node:events';
import {
  brotliCompressSync,
  constants,
  deflateRawSync,
  deflateSync,
  gzipSync,
  zstdCompressSync,
} from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { listenHttp, listenTcp } from '../support/servers/loopback-server.ts';
import { answered, exchangeScene, failed, request } from './exchange-scene.ts';

const { client, started, rawServer } = exchangeScene();

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
