import { once } from 'node:events';
import { createServer } from 'node:http';
import { describe, expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { listen, listenHttp, listenTcp } from '../support/servers/loopback-server.ts';
import { answered, exchangeScene, failed, request } from './exchange-scene.ts';

const { client, started } = exchangeScene();

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

  test('close ends what runs and what waits, and leaves no connection open', async () => {
    const arrived = Promise.withResolvers<void>();
    const server = await started(listenHttp(() => arrived.resolve()));
    // A client that forgets this connection keeps it open for a minute.
    const patient = createServer({ keepAliveTimeout: 300_000 }, (_req, res) => res.end('ok'));
    const idleServer = await started(listen(patient));
    const http = client({ connectionsPerOrigin: 1 });
    answered(await http.send(request(idleServer)));
    const sends = [http.send(request(server)), http.send(request(server))];
    await arrived.promise;
    await http.close();
    const outcomes = await Promise.all(sends);
    expect(outcomes.map((outcome) => failed(outcome).code)).toEqual(['aborted', 'aborted']);
    expect(failed(await http.send(request(server)))).toMatchObject({ code: 'aborted', ours: true });
    await http.close();
    await eventually(async () => server.sockets.size + idleServer.sockets.size, 0, 30_000);
  });
});
