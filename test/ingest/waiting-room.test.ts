import { afterAll, beforeAll, expect, test } from 'vitest';
import type { DeliverySink } from '../../src/domain/delivery-sink.ts';
import { IdFactory } from '../../src/domain/ids.ts';
import { EventAcceptor } from '../../src/ingest/accept-event.ts';
import { createMetrics } from '../../src/platform/metrics.ts';
import { Sealer } from '../../src/platform/sealer.ts';
import { ConfigCache } from '../../src/routing/config-cache.ts';
import { Sandbox } from '../../src/sandbox/sandbox.ts';
import { Database } from '../../src/store/database.ts';
import { EndpointStore } from '../../src/store/endpoints.ts';
import { ProjectStore } from '../../src/store/projects.ts';
import { SourceStore } from '../../src/store/sources.ts';
import { startTestApp, type TestApp } from '../support/app.ts';
import { quietLog } from '../support/quiet-log.ts';

let app: TestApp;
let db: Database;
const sandbox = new Sandbox();

beforeAll(async () => {
  app = await startTestApp();
  db = new Database({ connection: { connectionString: app.database.url }, connections: 6, log: quietLog });
});

afterAll(async () => {
  await sandbox.close();
  await db?.close();
  await app?.stop();
});

/** Takes nothing: every delivery waits in the queue. */
const noRoom: DeliverySink = {
  reserve: () => false,
  unreserve: () => undefined,
  start: () => undefined,
  waiting: () => undefined,
  unsure: () => undefined,
} as unknown as DeliverySink;

test('a project that floods the door while the database is slow leaves room for the others', async () => {
  const other = await app.instance.post('/projects', { name: 'other', type: 'outgoing' });
  const sealer = new Sealer([Buffer.alloc(32)]);
  const cache = new ConfigCache({
    db,
    projects: new ProjectStore(sealer),
    endpoints: new EndpointStore(sealer),
    sources: new SourceStore(sealer),
    log: quietLog,
  });
  const acceptor = new EventAcceptor({
    db,
    cache,
    ids: new IdFactory(Date.now),
    now: Date.now,
    nodeId: 'node',
    sink: noRoom,
    makePartitions: () => Promise.resolve(),
    log: quietLog,
    maxRetrySeconds: 60,
    metrics: createMetrics().metrics,
    sandbox,
    sealer,
  });
  const accept = (projectId: string) =>
    acceptor.accept({
      projectId,
      target: { kind: 'broadcast' },
      eventType: 'a',
      payload: Buffer.from('{}'),
      contentType: null,
      forwardedHeaders: null,
      credentials: [],
      failure: null,
      headers: {},
      idempotencyKey: null,
      sourceId: null,
      appId: null,
      acknowledgedAtMs: null,
      urlQueryParams: null,
      urlPath: null,
      metadata: null,
    });
  await app.database.query('begin');
  await app.database.query('lock table events in exclusive mode');
  const flood = Promise.allSettled(Array.from({ length: 15_000 }, () => accept(app.projectId)));
  const others = Promise.allSettled(Array.from({ length: 1_000 }, () => accept(other.project.uid)));
  await app.database.query('commit');
  const [flooding, waiting] = [await flood, await others];
  const refused = flooding.filter((result) => result.status === 'rejected');
  expect(refused).toHaveLength(5_000);
  expect(refused[0]?.reason).toMatchObject({ code: 'overloaded', status: 429, retryAfterSeconds: 1 });
  expect(waiting.every((result) => result.status === 'fulfilled')).toBe(true);
  await expect(accept(app.projectId)).resolves.toMatchObject({ isDuplicate: false });
});
