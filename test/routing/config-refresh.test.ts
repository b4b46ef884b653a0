import { expect, test } from 'vitest';
import { asId, type ProjectId } from '../../src/domain/ids.ts';
import { Sealer } from '../../src/platform/sealer.ts';
import { ConfigCache } from '../../src/routing/config-cache.ts';
import { EndpointStore } from '../../src/store/config/endpoints.ts';
import { ProjectStore } from '../../src/store/config/projects.ts';
import { SourceStore } from '../../src/store/config/sources.ts';
import { Database } from '../../src/store/database/database.ts';
import { startTestApp, subscribe } from '../support/app.ts';
import { countStatements } from '../support/count-statements.ts';
import { atLeast, eventually } from '../support/eventually.ts';
import { quietLog } from '../support/quiet-log.ts';
import { shared } from '../support/shared.ts';

const SECRET_KEY = 'known to the cache of this test as well';
const app = await shared(startTestApp({ POSTHORN_SECRET_KEY: SECRET_KEY }));

test('a refresh rebuilds only changed parts: a project may have 100,000 subscriptions', async () => {
  const sealer = new Sealer([Buffer.from(SECRET_KEY)]);
  const cache = new ConfigCache({
    db: app.app.db,
    projects: new ProjectStore(sealer),
    endpoints: new EndpointStore(sealer),
    sources: new SourceStore(sealer),
    log: quietLog,
  });
  const { endpoint } = await subscribe(app.project, 'http://127.0.0.1:9/', { eventTypes: ['a'] });
  const before = await cache.refresh(asId(app.projectId));

  await app.project.put(`/endpoints/${endpoint.uid}/pause`, {});
  const paused = await cache.refresh(asId(app.projectId));
  expect(paused.version).toBeGreaterThan(before.version);
  expect(paused.endpoints.get(endpoint.uid)?.row.status).toBe('paused');
  expect(before.endpoints.get(endpoint.uid)?.row.status).toBe('active');
  expect(paused.subscriptions).toBe(before.subscriptions);
  expect(paused.hasSubscription(endpoint.uid)).toBe(true);

  await app.project.post('/subscriptions', {
    name: 'second',
    endpoint_id: endpoint.uid,
    filter_config: { event_types: ['b'] },
  });
  const more = await cache.refresh(asId(app.projectId));
  expect([before.subscriptions.size, more.subscriptions.size]).toEqual([1, 2]);
  expect(more.endpoints).toBe(paused.endpoints);
});

test('changes of a hundred projects at once are read a few at a time, and each is seen', async ({
  onTestFinished,
}) => {
  const PROJECTS = 100;
  const db = new Database({
    connection: { connectionString: app.database.url },
    connections: 14,
    log: quietLog,
  });
  onTestFinished(() => db.close());
  const sealer = new Sealer([Buffer.from(SECRET_KEY)]);
  const cache = new ConfigCache({
    db,
    projects: new ProjectStore(sealer),
    endpoints: new EndpointStore(sealer),
    sources: new SourceStore(sealer),
    log: quietLog,
  });
  const ids: ProjectId[] = [];
  for (let n = 0; n < PROJECTS; n += 1)
    ids.push((await app.instance.post('/projects', { name: `p ${n}`, type: 'outgoing' })).project.uid);
  let mostWaiting = 0;
  const watch = setInterval(() => {
    mostWaiting = Math.max(mostWaiting, db.pools().general.waiting);
  }, 0);
  onTestFinished(() => clearInterval(watch));
  const before = await Promise.all(ids.map((id) => cache.get(id)));
  // Eight loads ask five tables each; nine of those statements have a connection.
  expect(mostWaiting).toBeLessThan(40);
  for (let round = 1; round <= 2; round += 1) {
    await app.database.query('update projects set version = version + 1 where id = any($1)', [ids]);
    mostWaiting = 0;
    await Promise.all(ids.map((id) => cache.refreshQuietly(id)));
    expect(mostWaiting).toBeLessThan(20);
    expect(ids.map((id) => cache.peek(id)?.version)).toEqual(before.map(({ version }) => version + round));
  }
});

test('an idle node looks for changes and work once a second and asks little else; it runs a job without a notice', async () => {
  await app.project.post('/events/broadcast', { event_type: 'unmatched', data: {} });
  const job = await app.project.post('/eventdeliveries/batchretry', undefined, 200);
  const completed = () =>
    eventually(
      () => app.database.query('select status from jobs where id = $1', [job.uid]),
      [{ status: 'completed' }],
    );
  await completed();
  const looks = countStatements(/from change_stream_slots/);
  const all = countStatements(/./);
  await eventually(looks, atLeast(10));
  // A beat each two seconds and a sweep each five; the rest is for what happens once a minute. Each poll of its own
  // would add one.
  expect(all() / looks()).toBeLessThan(4);
  await app.database.query(
    `update jobs set status = 'queued', due_at = now(), finished_at = null where id = $1`,
    [job.uid],
  );
  await completed();
});
