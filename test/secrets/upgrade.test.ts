import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { Json } from '../support/client.ts';
import { eventually } from '../support/eventually.ts';
import { Cluster, type ClusterNode } from './cluster.ts';

/** From the version that had one key, named none, and stored some secrets in clear. */
const FIRST = 'the key of the version before, with 32 characters';
const NEXT = 'the key that is to come, with 32 characters and more';
const OLDER_NODE = 'a node of the version before';

vi.setConfig({ testTimeout: 120_000, hookTimeout: 60_000 });

let cluster: Cluster;

beforeEach(async () => {
  cluster = await Cluster.make();
});

afterEach(() => cluster.end());

/** A node that beats, and says nothing of keys. */
function olderNode(): { end(): Promise<void> } {
  const beat = () =>
    cluster.database.query(
      `insert into nodes (id, roles) values ($1, 'api') on conflict (id) do update set beat_at = clock_timestamp()`,
      [OLDER_NODE],
    );
  let beating: Promise<unknown> = beat();
  const timer = setInterval(() => {
    beating = beat();
  }, 1_000);
  return {
    end: async () => {
      clearInterval(timer);
      await beating;
      await cluster.database.query('delete from nodes where id = $1', [OLDER_NODE]);
    },
  };
}

const stored = async (): Promise<Json> => {
  const [row] = await cluster.database.query(
    `select p.config #>> '{meta_event,secret}' as meta, get_byte(e.sealed, 0) as format, e.slack_webhook_url as slack,
       v.headers from projects p, endpoints e, events v`,
  );
  return row;
};

async function furnish({ project }: ClusterNode): Promise<Json> {
  const meta_event = {
    is_enabled: true,
    url: 'http://127.0.0.1:9/',
    event_type: ['none'],
    secret: 'meta-secret',
  };
  await project.put('', { name: 'default', config: { meta_event } });
  const endpoint = { name: 'e', url: 'http://127.0.0.1:9/', slack_webhook_url: 'http://127.0.0.1:9/slack' };
  await project.post('/events/broadcast', { event_type: 'a', data: {}, custom_headers: { Cookie: 'a=bcd' } });
  return project.post('/endpoints', endpoint);
}

test('while a node of the version before is at work it finds everything as it knows it; afterwards all is sealed', async () => {
  const older = olderNode();
  const node = await cluster.start({ secretKey: FIRST });
  const endpoint = await furnish(node);
  expect(await stored()).toEqual({
    meta: 'meta-secret',
    format: 1,
    slack: 'http://127.0.0.1:9/slack',
    headers: '{"Cookie":["a=bcd"]}',
  });
  expect(await cluster.resealRefusal({ secretKey: FIRST })).toContain(
    'nodes of an earlier version are at work',
  );
  await older.end();
  expect(await eventually(stored, ({ meta, slack }) => meta === '' && slack === '')).toMatchObject({
    format: 2,
  });
  expect((await node.project.get('')).config.meta_event.secret).toBe('meta-secret');
  expect(await node.project.get(`/endpoints/${endpoint.uid}`)).toEqual(endpoint);
  const reseal = cluster.reseal({ secretKey: FIRST });
  expect(await reseal.ended, reseal.stderr).toEqual({ code: 0, signal: null });
  expect(reseal.stdout).toContain('events: 1 sealed again');
  expect((await stored()).headers).toMatch(/^\{"Cookie":\["sealed:/);
  expect(cluster.log).toContain('sealed secrets that the version before had stored in clear');
});

test('what the version before left in clear is sealed by the first start', async () => {
  const older = olderNode();
  const before = await cluster.start({ secretKey: FIRST });
  const endpoint = await furnish(before);
  await before.app.stop();
  await older.end();
  expect((await stored()).meta).toBe('meta-secret');
  const node = await cluster.start({ secretKey: FIRST });
  await eventually(stored, ({ meta, slack }) => meta === '' && slack === '');
  expect(await node.project.get(`/endpoints/${endpoint.uid}`)).toEqual(endpoint);
  const cleared = await node.project.put(`/endpoints/${endpoint.uid}`, {
    ...endpoint,
    slack_webhook_url: '',
  });
  expect(cleared.slack_webhook_url).toBe('');
});

test('keys of before are found under the key of before, even if it is no longer the sealing one', async () => {
  const older = olderNode();
  const before = await cluster.start({ secretKey: FIRST });
  await furnish(before);
  const early = await cluster.refusal({ secretKey: NEXT, otherSecretKey: FIRST });
  expect(early).toContain(OLDER_NODE);
  await before.app.stop();
  await older.end();
  await cluster.database.query('delete from secret_keys');
  await cluster.database.query('delete from instance_secrets');
  expect(await cluster.refusal({ secretKey: NEXT })).toContain(
    'secrets in this database are sealed with another secret key than those this node has',
  );
  const node = await cluster.start({ secretKey: NEXT, otherSecretKey: FIRST });
  expect((await node.project.get('/endpoints')).content).toHaveLength(1);
});
