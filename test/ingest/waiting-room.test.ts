import { afterAll, beforeAll, expect, test } from 'vitest';
import type { DeliverySink } from '../../src/domain/delivery-sink.ts';
import { asId, IdFactory } from '../../src/domain/ids.ts';
import { InFlightIds } from '../../src/domain/in-flight-ids.ts';
import { EventAcceptor } from '../../src/ingest/accept-event.ts';
import { AcceptedCounts } from '../../src/metrics/accepted-counts.ts';
import { createMetrics } from '../../src/metrics/metrics.ts';
import { Sealer } from '../../src/platform/sealer.ts';
import { Turns } from '../../src/platform/turns.ts';
import { ConfigCache } from '../../src/routing/config-cache.ts';
import { Sandbox } from '../../src/sandbox/sandbox.ts';
import { EndpointStore } from '../../src/store/config/endpoints.ts';
import { ProjectStore } from '../../src/store/config/projects.ts';
import { SourceStore } from '../../src/store/config/sources.ts';
import { startTestApp } from '../support/app.ts';
import { quietLog } from '../support/quiet-log.ts';
import { shared } from '../support/shared.ts';
import { slowClock } from '../support/slow-clock.ts';

const app = await shared(startTestApp());
const db = app.database.open();
const sandbox = new Sandbox();
afterAll(() => sandbox.close());

/** Takes nothing: every delivery waits in the queue. */
const noRoom: DeliverySink = {
  reserve: () => false,
  unreserve: () => undefined,
  start: () => undefined,
  waiting: () => undefined,
  unsure: () => undefined,
} as unknown as DeliverySink;

/** No event waits too long on a slow machine. */
const clock = slowClock();
afterAll(() => clock.end());

let other: string;
let accept: (projectId: string, payload?: Buffer) => Promise<unknown>;

beforeAll(async () => {
  other = (await app.instance.post('/projects', { name: 'other', type: 'outgoing' })).project.uid;
  const sealer = new Sealer([Buffer.alloc(32)]);
  const cache = new ConfigCache({
    db,
    projects: new ProjectStore(sealer),
    endpoints: new EndpointStore(sealer),
    sources: new SourceStore(sealer),
    log: quietLog,
  });
  const ids = new IdFactory(Date.now);
  const acceptor = new EventAcceptor({
    db,
    cache,
    ids,
    inFlight: new InFlightIds(ids),
    now: Date.now,
    nodeId: 'node',
    sink: noRoom,
    makePartitions: () => Promise.resolve(),
    log: quietLog,
    maxRetrySeconds: 60,
    maxOrderedFanout: 1_000,
    largeTurns: new Turns(1),
    metrics: createMetrics().metrics,
    counts: new AcceptedCounts(),
    tracer: null,
    sandbox,
    sealer,
  });
  accept = (projectId, payload = Buffer.from('{}')) =>
    acceptor.accept({
      projectId: asId(projectId),
      target: { kind: 'broadcast' },
      eventType: 'a',
      payload,
      contentType: null,
      forwardedHeaders: null,
      credentials: [],
      trace: null,
      hops: 0,
      functionFailure: null,
      headers: {},
      idempotencyKey: null,
      sourceId: null,
      appId: null,
      acknowledgedAtMs: null,
      urlQueryParams: null,
      urlPath: null,
      metadata: null,
    });
  await Promise.all([app.projectId, other].map((projectId) => cache.get(asId(projectId))));
});

/** Nothing can be stored meanwhile. */
async function whileStuck<T>(work: () => T | Promise<T>): Promise<T> {
  await app.database.query('begin');
  await app.database.query('lock table events in exclusive mode');
  try {
    return await work();
  } finally {
    await app.database.query('commit');
  }
}

const flood = (projectId: string, count: number, payload?: Buffer) =>
  Promise.allSettled(Array.from({ length: count }, () => accept(projectId, payload)));

const refusals = (results: PromiseSettledResult<unknown>[], code: string) =>
  results.filter((result) => result.status === 'rejected' && result.reason.code === code);

test('a project that floods the service while the database is slow leaves room for others', async () => {
  const [flooding, waiting] = await whileStuck(() => [flood(app.projectId, 15_000), flood(other, 1_000)]);
  const refused = refusals((await flooding) ?? [], 'overloaded');
  expect(refused).toHaveLength(5_000);
  expect(refused[0]).toMatchObject({ reason: { code: 'overloaded', status: 429, retryAfterSeconds: 1 } });
  expect((await waiting)?.every((result) => result.status === 'fulfilled')).toBe(true);
  await expect(accept(app.projectId)).resolves.toMatchObject({ isDuplicate: false });
});

test('large payloads of one project fill half of the bytes that may wait, never all', async () => {
  const large = Buffer.from(JSON.stringify('x'.repeat(1024 * 1024 - 2)));
  const [flooding, waiting] = await whileStuck(() => [
    flood(app.projectId, 100, large),
    flood(other, 10, large),
  ]);
  const refused = refusals((await flooding) ?? [], 'overloaded');
  expect(refused).toHaveLength(36);
  expect(refused[0]).toMatchObject({ reason: { code: 'overloaded', status: 429, retryAfterSeconds: 1 } });
  expect((await waiting)?.every((result) => result.status === 'fulfilled')).toBe(true);
  // All have left: there is room for as much again.
  const again = await flood(other, 60, large);
  expect(again.every((result) => result.status === 'fulfilled')).toBe(true);
});

test('an event that waited too long is refused with a Retry-After, and not stored', async () => {
  const stored = async () => Number((await app.database.query('select count(*) from events'))[0]?.['count']);
  const before = await stored();
  const flooding = await whileStuck(async () => {
    const results = flood(app.projectId, 3_000);
    // All are matched and wait; then longer than anything may.
    await new Promise((resolve) => setImmediate(resolve));
    clock.pass(3_100);
    return [results];
  });
  const results = (await flooding[0]) ?? [];
  const refused = refusals(results, 'overloaded');
  expect(refused.length).toBeGreaterThan(1_000);
  expect(refused[0]).toMatchObject({ reason: { status: 429, retryAfterSeconds: 1 } });
  expect(await stored()).toBe(before + 3_000 - refused.length);
});

test('an event of another project does not wait behind a flood', async () => {
  const done: string[] = [];
  const note = (name: string) => () => done.push(name);
  const all = await whileStuck(() => {
    const many = Array.from({ length: 5_000 }, () => accept(app.projectId).then(note('flood')));
    return [Promise.all([...many, accept(other).then(note('other'))])];
  });
  await all[0];
  // Two batches were under way before it came, and it is in the next: of five hundred each.
  expect(done.indexOf('other')).toBeLessThan(1_500);
});
