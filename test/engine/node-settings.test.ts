import { readFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import { connect } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { httpSource, startTestApp, subscribe, type TestApp } from '../support/app.ts';
import { ApiClient, type Json } from '../support/client.ts';
import { eventually, every } from '../support/eventually.ts';
import { listen, listenTcp } from '../support/servers/loopback-server.ts';
import { Receiver } from '../support/servers/receiver.ts';
import { newestDelivery } from '../support/settled.ts';

/** Settings of a node (POSTHORN_*) that show in what it sends. */
async function started(env: Record<string, string> = {}): Promise<TestApp> {
  const app = await startTestApp(env);
  onTestFinished(app.stop);
  return app;
}

async function receiving(): Promise<Receiver> {
  const receiver = await Receiver.start();
  onTestFinished(() => receiver.stop());
  return receiver;
}

const send = (app: TestApp, count: number) =>
  Promise.all(
    Array.from({ length: count }, (_, n) =>
      app.project.post('/events/broadcast', { event_type: 'a', data: { n } }),
    ),
  );

const deliveries = async (app: TestApp): Promise<Json[]> =>
  (await app.project.get('/eventdeliveries?perPage=1000')).content;

const file = (name: string) => fileURLToPath(new URL(`../support/certificates/${name}`, import.meta.url));
const pem = (name: string) => readFileSync(file(name), 'utf8');

/** The most requests that were under way at once. They are answered a moment after as many are as may be. */
function countAtOnce(
  receiver: Receiver,
  { allowed, total }: { allowed: number; total: number },
): () => number {
  const open: ServerResponse[] = [];
  let most = 0;
  receiver.answerAlways((_request, response) => {
    open.push(response);
    most = Math.max(most, open.length);
    if (open.length !== allowed && receiver.requests.length < total) return;
    setTimeout(() => {
      for (const each of open.splice(0)) each.end();
    }, 50);
  });
  return () => most;
}

// proves Instance: POSTHORN_ENDPOINT_CONCURRENCY
test('an endpoint gets no more requests at once than POSTHORN_ENDPOINT_CONCURRENCY', async () => {
  const app = await started({ POSTHORN_ENDPOINT_CONCURRENCY: '3' });
  const receiver = await receiving();
  const most = countAtOnce(receiver, { allowed: 3, total: 30 });
  await subscribe(app.project, receiver.url);
  await send(app, 30);
  await receiver.received(30);
  expect(most()).toBe(3);
});

// proves Instance: POSTHORN_WINDOW
test('a node has no more deliveries in flight than POSTHORN_WINDOW, and the rest follow', async () => {
  const app = await started({ POSTHORN_WINDOW: '2' });
  const receiver = await receiving();
  const most = countAtOnce(receiver, { allowed: 2, total: 24 });
  for (const path of ['/a', '/b', '/c']) await subscribe(app.project, `${receiver.url}${path}`);
  await send(app, 8);
  await receiver.received(24);
  expect(most()).toBe(2);
});

// proves Instance: POSTHORN_MAX_RETRY_SECONDS
test('an exponential wait is at most POSTHORN_MAX_RETRY_SECONDS, and 20 % more at random', async () => {
  const app = await started({ POSTHORN_MAX_RETRY_SECONDS: '5' });
  const receiver = await receiving();
  receiver.answerAlways(500);
  await subscribe(app.project, receiver.url, {
    subscription: { retry_config: { type: 'exponential', interval_seconds: 1_000, retry_count: 3 } },
  });
  await send(app, 1);
  const { metadata, updated_at } = await newestDelivery(app.project, '', 'Retry');
  const waitMs = Date.parse(metadata.next_send_time) - Date.parse(updated_at);
  expect(waitMs).toBeGreaterThanOrEqual(5_000);
  expect(waitMs).toBeLessThanOrEqual(6_000);
});

// proves Instance: POSTHORN_EGRESS, POSTHORN_EGRESS_ALLOW, POSTHORN_EGRESS_DENY
test.each([
  { env: { POSTHORN_EGRESS: 'any' }, status: 'Success' },
  { env: { POSTHORN_EGRESS: 'public' }, status: 'Failure' },
  { env: { POSTHORN_EGRESS: 'public', POSTHORN_EGRESS_ALLOW: '127.0.0.0/8' }, status: 'Success' },
  { env: { POSTHORN_EGRESS: 'any', POSTHORN_EGRESS_DENY: '127.0.0.1' }, status: 'Failure' },
])('a delivery to a private address ends as $status with $env', async ({ env, status }) => {
  // The node that creates the endpoint allows any address. Only the delivering node has the tested setting.
  const app = await started({ POSTHORN_ROLES: 'api' });
  const receiver = await receiving();
  await subscribe(app.project, receiver.url, { subscription: { retry_config: { retry_count: 0 } } });
  await send(app, 1);
  await app.addNode({ POSTHORN_ROLES: 'deliver', ...env });
  expect((await newestDelivery(app.project, '', 'Success', 'Failure')).status).toBe(status);
  expect(receiver.requests).toHaveLength(status === 'Success' ? 1 : 0);
});

// proves Instance: POSTHORN_HTTP_PROXY
test('deliveries go through POSTHORN_HTTP_PROXY', async () => {
  const asked: string[] = [];
  const proxy = await listenTcp((socket) => {
    socket.once('data', (head) => {
      const [, host = '', port = ''] = /^CONNECT (\S+):(\d+) /.exec(head.toString()) ?? [];
      asked.push(`${host}:${port}`);
      const upstream = connect(Number(port), host, () => {
        socket.write('HTTP/1.1 200 OK\r\n\r\n');
        socket.pipe(upstream).pipe(socket);
      });
      socket.on('close', () => upstream.destroy());
    });
  });
  onTestFinished(() => proxy.close());
  const app = await started({ POSTHORN_HTTP_PROXY: `http://127.0.0.1:${proxy.port}` });
  const receiver = await receiving();
  await subscribe(app.project, receiver.url);
  await send(app, 1);
  await newestDelivery(app.project, '', 'Success');
  expect(asked).toEqual([new URL(receiver.url).host]);
});

// proves Endpoints: mtls_client_cert.client_cert, mtls_client_cert.client_key
// proves Instance: POSTHORN_CA_FILE
test('authorities of POSTHORN_CA_FILE are trusted, and an endpoint gets its client certificate', async () => {
  const names: unknown[] = [];
  const tls = { cert: pem('endpoint.pem'), key: pem('endpoint.key'), ca: pem('ca.pem') };
  const server = await listen(
    createServer({ ...tls, requestCert: true, rejectUnauthorized: true }, (request, response) => {
      names.push((request.socket as TLSSocket).getPeerCertificate().subject.CN);
      response.end();
    }),
  );
  onTestFinished(() => server.close());
  const certificate = { client_cert: pem('client.pem'), client_key: pem('client.key') };
  const deliver = async (env: Record<string, string>, endpoint: object) => {
    const app = await started(env);
    await subscribe(app.project, `https://localhost:${server.port}`, {
      endpoint,
      subscription: { retry_config: { retry_count: 0 } },
    });
    await send(app, 1);
    return newestDelivery(app.project, '', 'Success', 'Failure');
  };
  const trusting = { POSTHORN_CA_FILE: file('ca.pem') };
  expect(await deliver(trusting, { mtls_client_cert: certificate })).toMatchObject({ status: 'Success' });
  expect(await deliver(trusting, {})).toMatchObject({ status: 'Failure' });
  expect(await deliver({}, { mtls_client_cert: certificate })).toMatchObject({
    status: 'Failure',
    description: expect.stringContaining('authority'),
  });
  expect(names).toEqual(['client.example']);
});

// proves Instance: POSTHORN_ROLES
test('a node has only the roles of POSTHORN_ROLES, and others do the rest', async () => {
  const app = await started({ POSTHORN_ROLES: 'api' });
  const receiver = await receiving();
  const source = await httpSource(app.project);
  await subscribe(app.project, receiver.url);
  await send(app, 1);
  const ingest = async (base: string) =>
    (await fetch(`${base}/ingest/${source.mask_id}`, { method: 'POST', body: '{}' })).status;
  expect(await ingest(app.url)).toBe(404);

  const door = await app.addNode({ POSTHORN_ROLES: 'ingest' });
  expect(await ingest(door.url)).toBe(200);
  expect((await fetch(`${door.url}/openapi.json`)).status).toBe(404);
  const api = app.project.base.replace(app.url, door.url);
  expect((await new ApiClient(api, app.project.key).raw('GET', '/events')).status).toBe(404);

  await app.project.post('/events/batchreplay', undefined, 200);
  expect((await deliveries(app)).map(({ status }) => status)).toEqual(['Scheduled', 'Scheduled']);
  await app.addNode({ POSTHORN_ROLES: 'deliver' });
  await eventually(() => deliveries(app), every({ status: 'Success' }));
  // The replay is a job, and no node here runs it.
  expect(receiver.requests).toHaveLength(2);
  await app.addNode({ POSTHORN_ROLES: 'janitor' });
  await receiver.received(4);
});
