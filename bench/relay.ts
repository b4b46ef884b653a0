import type { AddressInfo } from 'node:net';
import { pino } from 'pino';
import { BodyRoom } from '../src/api/server/body-room.ts';
import { createServer } from '../src/api/server.ts';
import { HttpClient } from '../src/dispatch/client/http-client.ts';
import { IdFactory } from '../src/domain/ids.ts';
import { answer } from './child.ts';

/**
 * The relay floor, in a process of its own: our HTTP server and our HTTP client with nothing between them. It
 * takes a request, forwards its body, and responds after the response. This is the maximum for this machine.
 */
const TIMEOUT_MS = 10_000;
const MAX_RESPONSE_BYTES = 51_200;
const HEADERS = [['Content-Type', 'application/json']] as const;

async function start(url: string): Promise<string> {
  const http = new HttpClient({ egress: 'any' });
  const server = await createServer({
    ids: new IdFactory(Date.now),
    log: pino({ level: 'silent' }),
    maxBodyBytes: 1 << 20,
    bodies: new BodyRoom(1 << 20),
    jsonBounds: { depth: 100, names: 100_000 },
    trustedProxies: [],
  });
  server.post('/', async (request, reply) => {
    const outcome = await http.send({
      url,
      headers: HEADERS,
      body: request.body as Buffer,
      timeoutMs: TIMEOUT_MS,
      maxResponseBytes: MAX_RESPONSE_BYTES,
    });
    if (outcome.kind === 'error') throw new Error(outcome.message);
    return reply.code(201).send({ status: true });
  });
  await server.listen({ host: '127.0.0.1', port: 0 });
  return `http://127.0.0.1:${(server.server.address() as AddressInfo).port}/`;
}

answer({ start });
