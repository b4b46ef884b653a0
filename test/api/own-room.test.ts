import pg from 'pg';
import { expect, onTestFinished, test } from 'vitest';
import { Listener } from '../pull/listener.ts';
import { startTestApp, type TestApp } from '../support/app.ts';
import { ApiClient } from '../support/client.ts';
import { atLeast, containing, eventually } from '../support/eventually.ts';

test("one tenant's hanging statements take no connection from others' keys and events", async ({
  onTestFinished,
}) => {
  const app = await startTestApp();
  onTestFinished(() => app.stop());
  const other = await app.newProject();
  const send = (client: ApiClient) => client.post('/events/broadcast', { event_type: 'a', data: {} });
  await send(other);
  await app.project.get('/endpoints');
  const fresh = await app.instance.post(`/projects/${other.projectId}/keys`, { name: 'not used yet' });

  const holder = new pg.Client(app.database.url);
  await holder.connect();
  await holder.query('begin; lock table endpoints in access exclusive mode');
  const hanging = Array.from({ length: 40 }, () => app.project.raw('GET', '/endpoints/unknown'));
  await eventually(async () => app.app.db.pools().general, { idle: 0, waiting: atLeast(1) });
  const accepted = await send(new ApiClient(other.base, fresh.key));
  expect(accepted.uid).not.toBe('');
  expect(app.app.db.pools().general.waiting).toBeGreaterThan(0);
  await holder.query('rollback');
  await holder.end();
  await Promise.all(hanging);
});

/** The default project reads a list, `count` times at once, while its table is locked. */
async function whileListsHang(
  { count, table, list: path }: { count: number; table: string; list: string },
  work: (app: TestApp, other: ApiClient, lists: Promise<Response>[]) => Promise<void>,
): Promise<void> {
  const app = await startTestApp();
  onTestFinished(() => app.stop());
  const other = await app.newProject();
  for (const client of [app.project, other]) await client.get('/endpoints');
  const holder = new pg.Client(app.database.url);
  await holder.connect();
  await holder.query(`begin; lock table ${table} in access exclusive mode`);
  const hanging = Array.from({ length: count }, () => app.project.raw('GET', path));
  let ended = 0;
  for (const list of hanging)
    void list.then(() => {
      ended += 1;
    });
  await eventually(async () => app.app.db.pools().general, { busy: atLeast(2) });
  await work(app, other, hanging);
  // A list gives up after five seconds, and the next one hangs.
  expect(ended).toBeLessThan(count);
  await holder.query('rollback');
  await holder.end();
  await Promise.all(hanging);
}

const DELIVERIES = { table: 'event_deliveries', list: '/eventdeliveries' };

test.each([DELIVERIES, { table: 'portal_links', list: '/portal-links' }])(
  "one tenant's lists ($list) that hang take no connection from others' calls and lists",
  (hanging) =>
    whileListsHang({ count: 40, ...hanging }, async (app, other) => {
      expect((await other.raw('GET', '/endpoints')).status).toBe(200);
      expect((await other.raw('GET', '/events')).status).toBe(200);
      // Lists have half of the general connections, and those of a project half of that; one is the janitor's.
      const { busy, waiting } = app.app.db.pools().general;
      expect(busy).toBeLessThanOrEqual(4);
      expect(waiting).toBe(0);
    }),
);

test('more lists of a project than may wait are refused, and other projects have their own', () =>
  whileListsHang({ count: 150, ...DELIVERIES }, async (_app, other, lists) => {
    const statuses: number[] = [];
    for (const list of lists) void list.then(({ status }) => statuses.push(status));
    await eventually(async () => statuses, containing(429));
    expect((await other.raw('GET', '/events')).status).toBe(200);
  }));

test('a made-up token or ingest URL is refused however busy the connections for other calls are', async () => {
  const app = await startTestApp();
  onTestFinished(() => app.stop());
  await app.project.get('/endpoints');
  const holder = new pg.Client(app.database.url);
  await holder.connect();
  await holder.query('begin; lock table endpoints in access exclusive mode');
  const hanging = Array.from({ length: 40 }, () => app.project.raw('GET', '/endpoints/unknown'));
  await eventually(async () => app.app.db.pools().general, { idle: 0, waiting: atLeast(1) });
  const calls = ['made up', 'PRT.made-up'].flatMap((token) =>
    Array.from({ length: 20 }, () =>
      new ApiClient(app.url, token).raw('GET', '/portal-api/endpoints').then(({ status }) => status),
    ),
  );
  expect(new Set(await Promise.all(calls))).toEqual(new Set([401]));
  const ingest = await fetch(`${app.url}/ingest/madeup`, { method: 'POST', body: '{}' });
  const zero = await fetch(`${app.url}/ingest/made%00up`, { method: 'POST', body: '{}' });
  expect([ingest.status, zero.status]).toEqual([404, 404]);
  expect(app.app.db.pools().general.waiting).toBeGreaterThan(0);
  await holder.query('rollback');
  await holder.end();
  await Promise.all(hanging);
});

test("one tenant's config changes take turns on one connection, and others' changes go past them", async () => {
  const app = await startTestApp();
  onTestFinished(() => app.stop());
  const other = await app.newProject();
  const key = await app.instance.post(`/projects/${app.projectId}/keys`, { name: 'to be revoked' });
  const holder = new pg.Client(app.database.url);
  await holder.connect();
  await holder.query('begin');
  await holder.query('select from projects where id = $1 for no key update', [app.projectId]);

  const device = new Listener(app.project);
  await device.listen();
  const answers: { status: number; retryAfter: string | null; message: string }[] = [];
  const calls = Array.from({ length: 250 }, async (_, n) => {
    const body = n % 2 === 0 ? { name: `e${n}`, delivery: 'pull' } : { name: `type.${n}` };
    const answer = await app.project.raw('POST', n % 2 === 0 ? '/endpoints' : '/event-types', { body });
    const { message } = (await answer.json()) as { message: string };
    answers.push({ status: answer.status, retryAfter: answer.headers.get('retry-after'), message });
  });
  // The device and the calls: one has its turn, 200 wait.
  await eventually(async () => answers.length, 50);
  const refusal = 'A project may have at most 200 waiting config changes at a time; try again in 1 s.';
  expect(answers).toEqual(
    Array.from({ length: 50 }, () => ({ status: 429, retryAfter: '1', message: refusal })),
  );
  expect((await other.post('/endpoints', { name: 'past them', delivery: 'pull' })).name).toBe('past them');
  const neighbour = await Listener.start(other);
  // An attacker cannot keep its key by filling the line.
  await app.instance.delete(`/projects/${app.projectId}/keys/${key.uid}`);
  const [blocked] = await app.database.query(
    "select count(*)::int as count from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'",
  );
  expect(blocked).toEqual({ count: 1 });
  expect(answers).toHaveLength(50);

  await holder.query('rollback');
  await holder.end();
  await Promise.all(calls);
  expect(answers.filter(({ status }) => status === 201)).toHaveLength(200);
  await device.first('ready');
  await Promise.all([device.close(), neighbour.close()]);
});
