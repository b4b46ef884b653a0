/** A process of its own that serves HTTP with a short limit on idle connections, and stands still for a while. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { closeIdlePatiently } from '../../src/api/close-idle-patiently.ts';

/** Longer than a connection may be idle: Node adds a second. */
const PAUSE_MS = 3_000;
const server = createServer({ keepAliveTimeout: 200 }, (request, response) => {
  response.end('ok');
  if (request.url !== '/still') return;
  process.stdout.write('still\n');
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, PAUSE_MS);
});
closeIdlePatiently(server);
server.listen(0, '127.0.0.1', () => {
  process.stdout.write(`${(server.address() as AddressInfo).port}\n`);
});
