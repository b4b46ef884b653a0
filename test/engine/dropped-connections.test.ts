import type { Socket } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { startTestApp, subscribe } from '../support/app.ts';
import type { Json } from '../support/client.ts';
import { atLeast, eventually } from '../support/eventually.ts';
import { type LoopbackServer, listenTcp } from '../support/servers/loopback-server.ts';
import { shared } from '../support/shared.ts';

/**
 * An endpoint with kept connections that reads a request and closes without an answer. It may have been an idle
 * connection that it closed just as we wrote, or it may have acted on the request: nothing tells which.
 */
const app = await shared(startTestApp());
const servers: LoopbackServer[] = [];

afterEach(async () => {
  for (const server of servers.splice(0)) await server.close();
});

const OK = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok';

/** Calls back for each request, with its number on its connection and its body. */
async function endpoint(
  onRequest: (socket: Socket, request: { onConnection: number; body: string }) => void,
): Promise<LoopbackServer> {
  const server = await listenTcp((socket) => {
    let onConnection = 0;
    let pending = '';
    socket.setEncoding('latin1').on('data', (text) => {
      pending += text;
      const length = /content-length: (\d+)/i.exec(pending);
      const end = pending.indexOf('\r\n\r\n');
      if (end === -1 || length === null || pending.length < end + 4 + Number(length[1])) return;
      const body = pending.slice(end + 4);
      pending = '';
      onConnection += 1;
      onRequest(socket, { onConnection, body });
    });
  });
  servers.push(server);
  return server;
}

interface Made {
  endpointId: string;
  send(data: object): Promise<void>;
  ended(count: number): Promise<Json[]>;
  attempts(delivery: Json): Promise<Json[]>;
}

async function subscribed(
  server: LoopbackServer,
  subscription: object = {},
  more: object = {},
): Promise<Made> {
  const eventType = `dropped.${server.port}`;
  const { endpoint: made } = await subscribe(app.project, `http://127.0.0.1:${server.port}/`, {
    eventTypes: [eventType],
    subscription: { retry_config: { type: 'linear', interval_seconds: 1, retry_count: 1 }, ...subscription },
    endpoint: more,
  });
  const list = async () =>
    (await app.project.get(`/eventdeliveries?endpointId=${made.uid}&sort=ASC`)).content as Json[];
  return {
    endpointId: made.uid,
    send: async (data) => {
      await app.project.post('/events/broadcast', { event_type: eventType, data });
    },
    ended: (count) =>
      eventually(
        list,
        (all) => all.filter(({ status }) => ['Success', 'Failure'].includes(status)).length >= count,
      ),
    attempts: (delivery) => app.project.get(`/eventdeliveries/${delivery.uid}/deliveryattempts`),
  };
}

/** Answers the first request of each connection and closes on the second. */
async function closesOnSecond(): Promise<{ server: LoopbackServer; bodies: string[] }> {
  const bodies: string[] = [];
  const server = await endpoint((socket, { onConnection, body }) => {
    bodies.push(body);
    if (onConnection === 1) socket.write(OK);
    else socket.destroy();
  });
  return { server, bodies };
}

test('at most once: a request that may have arrived is not repeated, and ends as Failure with the reason', async () => {
  const { server, bodies } = await closesOnSecond();
  const { send, ended, attempts } = await subscribed(server, { delivery_mode: 'at_most_once' });
  await send({ n: 1 });
  await ended(1);
  await send({ n: 2 });
  const [, second] = await ended(2);
  expect(second.status).toBe('Failure');
  expect(second.description).toContain('at most once');
  expect(await attempts(second)).toHaveLength(1);
  expect(bodies).toEqual(['{"n":1}', '{"n":2}']);
});

test('at least once: it is recorded and sent again at once, without using a retry', async () => {
  const { server, bodies } = await closesOnSecond();
  const { send, ended, attempts, endpointId } = await subscribed(server);
  await send({ n: 1 });
  await ended(1);
  await send({ n: 2 });
  const [, second] = await ended(2);
  expect(second).toMatchObject({ status: 'Success', metadata: { num_trials: 1 } });
  const made = await attempts(second);
  expect(made.filter(({ status }) => status)).toHaveLength(1);
  expect(made).toHaveLength(2);
  expect(made.find(({ status }) => !status).error).toContain('a connection kept from an earlier request');
  expect(bodies).toEqual(['{"n":1}', '{"n":2}', '{"n":2}']);
  const counted = await app.database.query(
    `select sum(first_attempts)::int as deliveries, sum(attempts)::int as attempts, sum(failed_attempts)::int as failures
     from recent_counts where endpoint_id = $1`,
    [endpointId],
  );
  expect(counted).toEqual([{ deliveries: 2, attempts: 2, failures: 0 }]);
});

test('there is one such second request per attempt: the next failure uses a retry', async () => {
  const bodies: string[] = [];
  const server = await endpoint((socket, { body }) => {
    bodies.push(body);
    if (body === '{"n":2}') socket.destroy();
    else socket.write(OK);
  });
  const { send, ended, attempts } = await subscribed(server, {
    retry_config: { type: 'linear', interval_seconds: 1, retry_count: 1 },
  });
  await send({ n: 1 });
  await ended(1);
  await send({ n: 2 });
  const [, second] = await ended(2);
  expect(second).toMatchObject({ status: 'Failure', metadata: { num_trials: 2 } });
  const sent = bodies.filter((body) => body === '{"n":2}').length;
  expect(await attempts(second)).toHaveLength(sent);
  // The first try on the kept connection and its second request, then one request on a new connection.
  expect(sent).toBe(3);
});

test('an endpoint that drops one delivery on each connection cannot cause endless requests', async () => {
  const bodies: string[] = [];
  const server = await endpoint((socket, { body }) => {
    bodies.push(body);
    if (body.includes('bad')) socket.destroy();
    else socket.write(OK);
  });
  const { send, ended, attempts } = await subscribed(server, {
    retry_config: { type: 'linear', interval_seconds: 1, retry_count: 2 },
  });
  // Others are answered all the time, so there always is a kept connection for the bad one.
  const over = new AbortController();
  const others = Array.from({ length: 4 }, async (_, n) => {
    for (let i = 0; !over.signal.aborted; i++) {
      await send({ good: `${n}.${i}` });
      await eventually(async () => bodies.length, atLeast(i + 1));
    }
  });
  await send({ bad: true });
  const bad = await eventually(
    async () => {
      const all = (await app.project.get(`/eventdeliveries?status=Failure&perPage=100`)).content as Json[];
      return all.find((delivery) => delivery.metadata.raw?.includes('bad'));
    },
    (delivery) => delivery !== undefined,
  );
  over.abort();
  await Promise.all(others);
  await ended(1);
  expect(bad.metadata.num_trials).toBe(3);
  const sent = bodies.filter((body) => body.includes('bad')).length;
  expect(await attempts(bad)).toHaveLength(sent);
  expect(sent).toBeLessThanOrEqual(6);
});

test('the second request takes a rate grant of its own', async () => {
  const at: number[] = [];
  const server = await endpoint((socket, { onConnection }) => {
    at.push(performance.now());
    if (onConnection === 1) socket.write(OK);
    else socket.destroy();
  });
  const { send, ended } = await subscribed(server, {}, { rate_limit: 2, rate_limit_duration: 2 });
  await send({ n: 1 });
  await ended(1);
  await send({ n: 2 });
  const [, second] = await ended(2);
  expect(second.status).toBe('Success');
  expect(at).toHaveLength(3);
  const [first = 0, , third = 0] = at;
  // Requests are counted where they start, a moment before they arrive.
  expect(third - first).toBeGreaterThan(1_800);
});
