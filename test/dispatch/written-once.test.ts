import { constants, createSecureServer, type ServerHttp2Stream } from 'node:http2';
import { expect, test } from 'vitest';
import { HttpClient } from '../../src/dispatch/client/http-client.ts';
import { fetchToken } from '../../src/dispatch/client/oauth2-token.ts';
import type { Outcome } from '../../src/dispatch/connection/outcome.ts';
import { pem } from '../support/certificates/pem.ts';
import { type LoopbackServer, listen, listenTcp } from '../support/servers/loopback-server.ts';
import { untilEnd } from '../support/servers/until-end.ts';

const client = () => untilEnd(new HttpClient({ egress: 'any', caPem: pem('ca.pem') }));

/** An HTTP/2 endpoint; `onStream` gets the number of each request. */
async function http2Endpoint(
  onStream: (stream: ServerHttp2Stream, number: number) => void,
): Promise<{ server: LoopbackServer; seen(): number }> {
  let seen = 0;
  const h2 = createSecureServer({ cert: pem('endpoint.pem'), key: pem('endpoint.key') })
    .on('stream', (stream: ServerHttp2Stream) => {
      stream.on('error', () => {});
      onStream(stream, ++seen);
    })
    .on('sessionError', () => {});
  const server = untilEnd(await listen(h2));
  return { server, seen: () => seen };
}

function send(http: HttpClient, server: LoopbackServer): Promise<Outcome> {
  return http.send({
    url: `https://localhost:${server.port}/`,
    headers: [],
    body: Buffer.from('{}'),
    timeoutMs: 10_000,
    maxResponseBytes: 1_000,
  });
}

const answer = (stream: ServerHttp2Stream): void => {
  stream.respond({ ':status': 200 });
  stream.end('ok');
};

test('an HTTP/2 stream that is refused is not opened again: the outcome is dropped', async () => {
  const { server, seen } = await http2Endpoint((stream, number) => {
    if (number === 2) stream.close(constants.NGHTTP2_REFUSED_STREAM);
    else answer(stream);
  });
  const http = client();
  expect(await send(http, server)).toMatchObject({ status: 200 });
  expect(await send(http, server)).toMatchObject({ code: 'connection_reset', ours: false, dropped: true });
  expect(seen()).toBe(2);
  expect(await send(http, server)).toMatchObject({ status: 200 });
  expect(seen()).toBe(3);
});

test('an HTTP/2 stream that a GOAWAY cuts off is not opened again', async () => {
  const { server, seen } = await http2Endpoint((stream, number) => {
    if (number === 2) stream.session?.goaway(constants.NGHTTP2_NO_ERROR, 1);
    else answer(stream);
  });
  const http = client();
  expect(await send(http, server)).toMatchObject({ status: 200 });
  expect(await send(http, server)).toMatchObject({ kind: 'error', dropped: true });
  expect(seen()).toBe(2);
  expect(await send(http, server)).toMatchObject({ status: 200 });
});

test('a token request on a dropped connection is repeated exactly once', async () => {
  let requests = 0;
  const body = JSON.stringify({ access_token: 'abc', expires_in: 60 });
  const server = await listenTcp((socket) => {
    let onConnection = 0;
    socket.on('data', () => {
      requests += 1;
      onConnection += 1;
      if (onConnection > 1) socket.destroy();
      else socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\n\r\n${body}`);
    });
  });
  untilEnd(server);
  const http = client();
  const config = {
    url: `http://127.0.0.1:${server.port}/token`,
    client_id: 'a',
    client_secret: 'b',
    authentication_type: 'shared_secret',
  } as const;
  for (let i = 0; i < 2; i++) {
    expect(await fetchToken(http, config)).toMatchObject({ kind: 'token', authorization: 'Bearer abc' });
  }
  expect(requests).toBe(3);
});
