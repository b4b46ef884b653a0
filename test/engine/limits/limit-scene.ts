import { existsSync, readFileSync } from 'node:fs';
import { createServer } from 'node:https';
import { connect } from 'node:net';
import { join } from 'node:path';
import type { TestContext } from 'vitest';
import { stoodStillMs } from '../../../src/platform/time/patient-timer.ts';
import type { App } from '../../../src/start/app.ts';
import { startTestApp, type TestApp } from '../../support/app.ts';
import { ApiClient } from '../../support/client.ts';
import { atLeast, eventually } from '../../support/eventually.ts';
import { type DatabaseRelay, startDatabaseRelay } from '../../support/servers/database-relay.ts';
import { listen, listenTcp } from '../../support/servers/loopback-server.ts';
import { Receiver } from '../../support/servers/receiver.ts';

const CERTIFICATES = join(import.meta.dirname, '../../support/certificates');
const SCHEDULED = '/proc/self/schedstat';

export interface LimitScene {
  app: TestApp;
  relay: DatabaseRelay;
  receiver: Receiver;
  /** The nodes that deliver, and a caller of each. */
  nodes: App[];
  clients: ApiClient[];
}

/** Nodes that deliver, each behind the relay, and one that does not, for what the test itself does. */
export async function startScene({ onTestFinished }: TestContext, nodes: number): Promise<LimitScene> {
  const relay = await startDatabaseRelay();
  onTestFinished(() => relay.close());
  const app = await startTestApp({
    POSTHORN_ROLES: 'api,ingest,janitor',
    POSTHORN_CA_FILE: join(CERTIFICATES, 'ca.pem'),
  });
  onTestFinished(() => {
    relay.slow(0);
    return app.stop();
  });
  const receiver = await Receiver.start();
  onTestFinished(() => receiver.stop());
  const delivering: App[] = [];
  const clients: ApiClient[] = [];
  for (let n = 0; n < nodes; n++) {
    const node = await app.addNode({
      DATABASE_URL: relay.urlOf(app.database.name),
      POSTHORN_ROLES: 'api,ingest,deliver',
    });
    delivering.push(node);
    clients.push(new ApiClient(`${node.url}/api/v1/projects/${app.projectId}`, app.project.key));
  }
  return { app, relay, receiver, nodes: delivering, clients };
}

/** Sends events, in turn to each of the clients. */
export const broadcast = (clients: readonly ApiClient[], eventType: string, count: number) =>
  Promise.all(
    Array.from({ length: count }, (_, n) =>
      clients[n % clients.length]!.post('/events/broadcast', { event_type: eventType, data: { n } }),
    ),
  );

/** When each request of a path began, in order, once `count` have been recorded. */
export async function begun({ app }: LimitScene, path: string, count: number): Promise<number[]> {
  const rows = await eventually(
    () =>
      app.database.query(
        `select extract(epoch from requested_at)::float8 * 1000 as at from attempts a join endpoints e on e.id = a.endpoint_id
         where e.url like '%' || $1 order by 1`,
        [path],
      ),
    { length: atLeast(count) },
  );
  return rows.map((row) => Number(row['at']));
}

/** The shortest time in which one more than `count` began. */
export const tightest = (times: readonly number[], count: number): number =>
  Math.min(...times.slice(count).map((at, n) => at - (times[n] as number)));

/**
 * How long this process, and with it every node, has been held up: it stood still, or it could have run and other
 * programs had the CPU (Linux says how long). Only differences are meaningful.
 */
export function heldUpMs(): number {
  const [, waitedNs = 0] = existsSync(SCHEDULED)
    ? readFileSync(SCHEDULED, 'utf8').split(' ').map(Number)
    : [];
  return Math.max(stoodStillMs(), waitedNs / 1e6);
}

/**
 * The requests since the limit was first reached, as a share of those that it allows. `stillMs`: time in
 * which the nodes were held up.
 */
export function shareOfLimit(
  times: readonly number[],
  limit: { count: number; durationMs: number },
  stillMs = 0,
): number {
  // They may have been held up for longer than the span, by what they did before it.
  const spanMs = Math.max(0, (times.at(-1) as number) - (times[limit.count - 1] as number) - stillMs);
  return (((times.length - limit.count) / limit.count) * limit.durationMs) / spanMs;
}

/** An HTTPS endpoint whose every request needs a connection of its own, which takes `connectMs`. */
export async function slowToConnect(
  { onTestFinished }: TestContext,
  connectMs: number,
  arrived = () => {},
): Promise<string> {
  const file = (name: string) => readFileSync(join(CERTIFICATES, name));
  const server = createServer(
    { key: file('endpoint.key'), cert: file('endpoint.pem') },
    (request, response) => {
      arrived();
      request.resume().on('end', () => response.writeHead(200, { connection: 'close' }).end());
    },
  );
  const endpoint = await listen(server);
  onTestFinished(() => endpoint.close());
  const slow = await listenTcp((socket) => {
    setTimeout(() => {
      const upstream = connect(endpoint.port, '127.0.0.1');
      upstream.on('error', () => socket.destroy());
      socket.on('close', () => upstream.destroy());
      socket.pipe(upstream).pipe(socket);
    }, connectMs);
  });
  onTestFinished(() => slow.close());
  return `https://127.0.0.1:${slow.port}`;
}
