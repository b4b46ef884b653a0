import { createSecureServer } from 'node:http2';
import type { Socket } from 'node:net';
import { expect, test } from 'vitest';
import { HttpClient } from '../../src/dispatch/client/http-client.ts';
import { pem } from '../support/certificates/pem.ts';
import { GIVE_UP_MS } from '../support/eventually.ts';
import { type LoopbackServer, listen, listenHttp, listenTcp } from '../support/servers/loopback-server.ts';

/** Answers, hangs, breaks off, resets, floods or talks nonsense, in an order that is the same in every run. */
function misbehave(turn: number, socket: Socket): void {
  switch (turn % 9) {
    case 0:
      socket.resetAndDestroy();
      break;
    case 1:
      socket.end();
      break;
    case 2:
      break;
    case 3:
      socket.end('HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nshort');
      break;
    case 4:
      socket.write(`HTTP/1.1 200 OK\r\nContent-Length: 99999\r\n\r\n${'x'.repeat(90_000)}`);
      break;
    case 5:
      socket.write('nonsense\r\n\r\n');
      break;
    case 6:
      socket.write('HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok');
      break;
    case 7:
      // An unrequested second response.
      socket.write('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\nHTTP/1.1 500 X\r\nContent-Length: 0\r\n\r\n');
      break;
    default:
      socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok');
  }
}

function startServers(): Promise<LoopbackServer[]> {
  let turn = 0;
  const bad = () => listenTcp((socket) => socket.on('data', () => misbehave(turn++, socket)));
  const good = () => listenHttp((_req, res) => res.end('ok'));
  const h2 = (): Promise<LoopbackServer> => {
    const server = createSecureServer({ cert: pem('endpoint.pem'), key: pem('endpoint.key') }, (req, res) => {
      if (turn++ % 5 === 0) req.stream.session?.destroy();
      else if (turn % 7 !== 0) res.end('ok');
    });
    return listen(server.on('sessionError', () => {}));
  };
  return Promise.all([bad(), bad(), bad(), bad(), good(), good(), h2(), h2()]);
}

/** Files before this one may have left some open. */
const openSockets = () => process.getActiveResourcesInfo().filter((name) => name === 'TCPSocketWrap').length;

test('with misbehaving endpoints every send ends, good endpoints are served and no resource leaks', async () => {
  const before = openSockets();
  const servers = await startServers();
  const http = new HttpClient({
    egress: 'any',
    caPem: pem('ca.pem'),
    connectionsPerOrigin: 3,
    maxConnections: 7,
  });
  const send = (index: number, timeoutMs: number, signal?: AbortSignal) => {
    const scheme = index >= 6 ? 'https' : 'http';
    const url = `${scheme}://localhost:${servers[index]!.port}/`;
    return http.send(
      { url, headers: [], body: Buffer.from('{}'), timeoutMs, maxResponseBytes: 1_000 },
      signal,
    );
  };
  const sends = Array.from({ length: 600 }, (_, i) =>
    send(i % 8, 20 + (i % 5) * 20, i % 11 === 0 ? AbortSignal.timeout(i % 40) : undefined),
  );
  const outcomes = await Promise.all(sends);
  expect(outcomes).toHaveLength(600);
  for (const outcome of outcomes) if (outcome.kind === 'error') expect(outcome.message).not.toBe('');
  // With the storm over, all of the bound is there again for endpoints that behave.
  const calm = await Promise.all(Array.from({ length: 60 }, (_, i) => send(4 + (i % 2), 5_000)));
  expect(calm.filter((outcome) => outcome.kind === 'response')).toHaveLength(60);
  await http.close();
  await Promise.all(servers.map((server) => server.close()));
  await expect.poll(openSockets, { timeout: GIVE_UP_MS }).toBeLessThanOrEqual(before);
});
