/** A process of its own: a server with a short limit for requests, which Node looks after often. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { excusePauses } from '../../src/api/server/excuse-pauses.ts';

const LIMIT_MS = 2_000;
const server = createServer({ connectionsCheckingInterval: 50 }, (request, response) => {
  process.stdout.write('received\n');
  request.resume().on('end', () => response.end());
});
excusePauses(server, LIMIT_MS);
server.listen(0, '127.0.0.1', () => {
  process.stdout.write(`listening at ${(server.address() as AddressInfo).port}\n`);
});
