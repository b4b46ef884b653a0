import { describe, expect, test } from 'vitest';
import { firstIdAt } from '../../src/domain/ids.ts';
import type { App } from '../../src/start/app.ts';
import { ensurePartitions } from '../../src/store/upkeep/partitions.ts';
import { httpSource, SECRET_KEY, startTestApp } from '../support/app.ts';
import { ApiClient, type Json } from '../support/client.ts';
import { eventually } from '../support/eventually.ts';
import { linesOf } from '../support/log-lines.ts';
import { freePort } from '../support/program.ts';
import { temporaryFolder } from '../support/samples/temporary-folder.ts';
import { serve } from '../support/servers/serve.ts';
import { shared } from '../support/shared.ts';

/** Settings that show in what the API answers. */
const written = linesOf('debug');
const app = await shared(startTestApp({}, written.log));

const DAY_MS = 86_400_000;
/** The project's calls to another node. */
const at = ({ url }: Pick<App, 'url'>) =>
  new ApiClient(app.project.base.replace(app.url, url), app.project.key);

// Only one address of the loopback network is there from the start on macOS.
// proves Instance: POSTHORN_HOST
test.skipIf(process.platform === 'darwin')('a node listens at POSTHORN_HOST and nowhere else', async () => {
  const port = String(await freePort());
  await app.addNode({ POSTHORN_HOST: '127.0.0.2', POSTHORN_PORT: port });
  expect((await fetch(`http://127.0.0.2:${port}/healthz`)).status).toBe(200);
  await expect(fetch(`http://127.0.0.1:${port}/healthz`)).rejects.toThrow('fetch failed');
});

// proves Instance: POSTHORN_PUBLIC_URL
test('links start with POSTHORN_PUBLIC_URL', async () => {
  const port = String(await freePort());
  await app.addNode({ POSTHORN_PUBLIC_URL: 'https://hooks.example.org/in/', POSTHORN_PORT: port });
  const client = at({ url: `http://127.0.0.1:${port}` });
  const source = await httpSource(client);
  expect(source.url).toBe(`https://hooks.example.org/in/ingest/${source.mask_id}`);
});

test.each([
  { env: { POSTHORN_EGRESS: 'any' }, status: 201 },
  { env: { POSTHORN_EGRESS: 'public' }, status: 400 },
  { env: { POSTHORN_EGRESS: 'public', POSTHORN_EGRESS_ALLOW: '127.0.0.0/8' }, status: 201 },
  { env: { POSTHORN_EGRESS: 'any', POSTHORN_EGRESS_DENY: '127.0.0.1' }, status: 400 },
])('an endpoint at a private address is answered $status with $env', async ({ env, status }) => {
  const node = await app.addNode(env);
  await at(node).post('/endpoints', { name: 'e', url: 'http://127.0.0.1:9' }, status);
});

// proves Instance: POSTHORN_DATABASE_CONNECTIONS
test('a node opens no more connections than POSTHORN_DATABASE_CONNECTIONS', async () => {
  const opened = async (connections: number) => {
    // Connections of other nodes come and go meanwhile.
    const name = `node-of-${connections}`;
    const node = await app.addNode({
      DATABASE_URL: `${app.database.url}&application_name=${name}`,
      POSTHORN_DATABASE_CONNECTIONS: String(connections),
    });
    const client = at(node);
    const calls = Array.from({ length: 60 }, (_, n) =>
      n % 2 === 0
        ? client.get('/events')
        : client.post('/events/broadcast', { event_type: 'a', data: { n } }),
    );
    await Promise.all(calls);
    const rows = await app.database.query('select pid from pg_stat_activity where application_name = $1', [
      name,
    ]);
    await node.stop();
    return rows.length;
  };
  const [few, many] = [await opened(7), await opened(30)];
  expect(few).toBeLessThanOrEqual(7);
  expect(many).toBeGreaterThan(7);
  expect(many).toBeLessThanOrEqual(30);
});

// proves Instance: POSTHORN_SEARCH_SECONDS
test('a list that takes longer than POSTHORN_SEARCH_SECONDS is answered with 504', async () => {
  const node = await app.addNode({ POSTHORN_SEARCH_SECONDS: '1' });
  // The list waits for the lock, however fast the machine is.
  await app.database.query('begin; lock table events in access exclusive mode');
  const answer = await at(node).raw('GET', '/events');
  await app.database.query('rollback');
  expect(answer.status).toBe(504);
  expect(await answer.json()).toMatchObject({ code: 'search_timeout' });
  await eventually(() => at(node).raw('GET', '/events'), { status: 200 });
});

test('a node with another POSTHORN_SECRET_KEY than the one in use does not start', async () => {
  const node = app.addNode({ POSTHORN_SECRET_KEY: 'another secret key, of 32 characters too' });
  await expect(node).rejects.toThrow('which this node does not have');
});

describe('what is older', () => {
  async function storeEvent(projectId: string, ageDays: number): Promise<void> {
    const atMs = Date.now() - ageDays * DAY_MS;
    await ensurePartitions(app.app.db, atMs, DAY_MS);
    await app.database.query(
      `insert into events (id, project_id, event_type, status, is_duplicate, endpoints, payload, acknowledged_at)
       values ($1, $2, 'old', 'Success', false, '{}', '{}', now())`,
      [firstIdAt(atMs).slice(0, 10) + projectId.slice(10), projectId],
    );
  }
  const count = async (client: ApiClient) =>
    (await client.get('/events?perPage=1000&startDate=2020-01-01T00:00:00')).content.filter(
      (event: Json) => event.event_type === 'old',
    ).length;

  // proves Projects: retention_policy.policy
  test('than the retention_policy of its project is removed, and nothing of other projects', async () => {
    const forgetful = await app.newProject({ retention_policy: { policy: '48h' } });
    for (const ageDays of [1, 3]) {
      await storeEvent(forgetful.projectId, ageDays);
      await storeEvent(app.projectId, ageDays);
    }
    expect([await count(forgetful), await count(app.project)]).toEqual([2, 2]);
    await app.addNode();
    await eventually(() => count(forgetful), 1);
    expect(await count(app.project)).toBe(2);
  });

  // proves Instance: POSTHORN_RETENTION_HOURS
  test('than POSTHORN_RETENTION_HOURS is removed', async () => {
    await storeEvent(app.projectId, 20);
    expect(await count(app.project)).toBe(3);
    await app.addNode({ POSTHORN_RETENTION_HOURS: '240' });
    await eventually(() => count(app.project), 2);
  });
});

// proves Sources: verifier.type, verifier.basic_auth.username, verifier.basic_auth.password
// proves Sources: verifier.api_key.header_name, verifier.api_key.header_value
test('the verifier of a source accepts requests with its password or key', async () => {
  const status = async (verifier: object, headers: Record<string, string>) => {
    const { url } = await app.project.post('/sources', { name: 's', type: 'http', verifier });
    return (await fetch(url, { method: 'POST', body: '{}', headers })).status;
  };
  const basic = { type: 'basic_auth', basic_auth: { username: 'me', password: 'word' } };
  const authorization = (text: string) => ({ authorization: `Basic ${btoa(text)}` });
  expect(await status(basic, authorization('me:word'))).toBe(200);
  expect(await status(basic, authorization('you:word'))).toBe(400);
  expect(await status(basic, authorization('me:sword'))).toBe(400);
  const key = { type: 'api_key', api_key: { header_name: 'X-Key', header_value: 'open' } };
  expect(await status(key, { 'x-key': 'open' })).toBe(200);
  expect(await status(key, { 'x-key': 'shut' })).toBe(400);
  expect(await status(key, { 'x-other': 'open' })).toBe(400);
});

describe('the log', () => {
  /** The log of a node for one refused call. */
  async function logged(env: Record<string, string>): Promise<string> {
    const program = serve({
      DATABASE_URL: app.database.url,
      POSTHORN_SECRET_KEY: SECRET_KEY,
      POSTHORN_DATA_DIR: temporaryFolder(),
      ...env,
    });
    const url = await program.ready();
    await fetch(`${url}/api/v1/projects`);
    await program.stop();
    return program.stderr;
  }

  // proves Instance: POSTHORN_LOG_LEVEL
  test('has the level of POSTHORN_LOG_LEVEL', async () => {
    expect(await logged({ POSTHORN_LOG_LEVEL: 'silent' })).toBe('');
    const info = await logged({});
    expect(info).toContain('"msg":"ready"');
    expect(info).not.toContain('request refused');
  });

  // proves Instance: POSTHORN_TRUSTED_PROXIES
  test('names a forwarded caller only if POSTHORN_TRUSTED_PROXIES contains the proxy', async () => {
    const callerAt = async (proxies: string) => {
      const { url } = await app.addNode({ POSTHORN_TRUSTED_PROXIES: proxies });
      await fetch(`${url}/api/v1/projects`, { headers: { 'x-forwarded-for': '203.0.113.7' } });
      return written.lines().findLast(({ msg }) => msg === 'request refused')?.ip;
    };
    expect(await callerAt('127.0.0.0/8')).toBe('203.0.113.7');
    const before = written.text().length;
    expect(await callerAt('10.0.0.0/8')).toBe('127.0.0.1');
    expect(written.text().slice(before)).not.toContain('203.0.113.7');
  });
});

// proves Instance: POSTHORN_SOURCE_ADDRESSES
test('POSTHORN_SOURCE_ADDRESSES are shown to keys and to portal links; without it there are none', async () => {
  const path = '/endpoints/source-addresses';
  expect(await app.project.get(path)).toEqual({ addresses: [] });
  const { url } = await app.addNode({ POSTHORN_SOURCE_ADDRESSES: '203.0.113.7, 2001:db8::/32' });
  const addresses = ['203.0.113.7', '2001:db8::/32'];
  const key = new ApiClient(`${url}/api/v1/projects/${app.projectId}`, app.project.key);
  expect(await key.get(path)).toEqual({ addresses });
  const { token } = await app.project.post('/portal-links', { name: 'l', owner_id: 'addresses' });
  expect(await new ApiClient(`${url}/portal-api`, token).get(path)).toEqual({ addresses });
});
