import { expect, test } from 'vitest';
import { migrate } from '../../src/store/upkeep/migrate.ts';
import { startTestApp } from '../support/app.ts';
import { quietLog } from '../support/quiet-log.ts';
import { releasedMigrations } from '../support/samples/made-up-migrations.ts';
import { shared } from '../support/shared.ts';
import { heldScene } from './held-scene.ts';

/** A node that knows nothing of ordering keys would not let the next delivery of a key go. */
const app = await shared(startTestApp());

const BY_ACCOUNT = { key: '$.body.account', on_failure: 'hold' };
const older = (beatSecondsAgo: number) =>
  app.database.query(
    `insert into nodes (id, roles, knows, seal_keys, beat_at)
     values ('older', 'deliver', '0001', '{}', now() - $1::int * interval '1 second')
     on conflict (id) do update set beat_at = excluded.beat_at`,
    [beatSecondsAgo],
  );

test('an ordering is refused while an older node runs, and allowed when it is silent', async () => {
  expect(await startOfRelease()).toEqual([]);
  const { client, endpoint, subscription } = await heldScene(app);
  const plain = await client.put(`/subscriptions/${subscription.uid}`, { ordering: {} });
  expect(plain.ordering).toBeUndefined();
  // It counts for ten seconds, and the test may take longer.
  await older(-3600);
  const one = `/subscriptions/${subscription.uid}`;
  const refused = await client.put(one, { ordering: BY_ACCOUNT }, 409);
  expect(refused).toMatchObject({
    code: 'older_nodes',
    message: expect.stringContaining('older version: older.'),
  });
  const made = { name: 'x', endpoint_id: endpoint.uid, ordering: BY_ACCOUNT };
  await client.post('/subscriptions', made, 409);
  const batched = await client.put(one, { batch: { max: 2 } }, 409);
  expect(batched).toMatchObject({ code: 'older_nodes', message: expect.stringContaining('batch') });
  const { endpoint_id: _, ...nested } = made;
  await client.post('/endpoints', { name: 'y', url: endpoint.url, subscriptions: [nested] }, 409);
  expect((await client.get(one)).ordering).toBeUndefined();
  expect((await client.get('/subscriptions')).content).toHaveLength(1);
  await client.put(one, { name: 'other' });
  await older(11);
  expect((await client.put(one, { ordering: BY_ACCOUNT })).ordering).toEqual(BY_ACCOUNT);
  await expect(startOfRelease()).rejects.toThrow('needs nodes that know migration 0002');
  await client.put(one, { batch: { max: 2 } });
  const [needs] = await app.database.query("select needs from schema_migrations where name like '0008%'");
  expect(needs).toEqual({ needs: '0008' });
  await client.put(one, { batch: {} });
  await older(-3600);
  expect((await client.put(one, { name: 'it has one already' })).ordering).toEqual(BY_ACCOUNT);
});

/** The first step of a start of 0.1.0, which knows one migration. */
const startOfRelease = () => migrate(app.app.db, quietLog, releasedMigrations());

test('settings of an endpoint that change its deliveries are refused while an older node runs', async () => {
  const client = await app.newProject();
  await older(-3600);
  const fields = { name: 'e', url: 'http://127.0.0.1:9/' };
  const made = await client.post('/endpoints', fields);
  const one = `/endpoints/${made.uid}`;
  for (const setting of [
    { envelope: 'standard' },
    { cloudevents: 'binary' },
    {
      delivery: 'broker',
      url: '',
      broker: { type: 'kafka', kafka: { brokers: ['127.0.0.1:9'], topic: 't' } },
    },
    { headers: { 'X-Tenant': 'acme' } },
    { webhook_id: 'event' },
    { expires_at: '2199-01-31T15:04:05Z' },
    { verification: 'challenge' },
  ]) {
    const [field = ''] = Object.keys(setting);
    expect((await client.put(one, setting, 409)).message).toContain(field);
    await client.post('/endpoints', { ...fields, ...setting }, 409);
  }
  expect((await client.get('/endpoints')).content).toHaveLength(1);
  await client.put(one, { name: 'other' });
  expect((await client.put('', { config: { envelope: 'standard' } }, 409)).message).toContain('envelope');
  await older(11);
  await client.put('', { config: { envelope: 'standard' } });
  await client.put(one, { webhook_id: 'event', headers: { 'X-Tenant': 'acme' } });
});

test('an endpoint that sends to S3 needs nodes that know batches', async () => {
  await older(11);
  const client = await app.newProject();
  const broker = {
    type: 's3',
    s3: { bucket: 'tests', access_key_id: 'k', secret_key: 's', default_region: 'eu-west-1' },
  };
  const kafka = { type: 'kafka', kafka: { brokers: ['127.0.0.1:9'], topic: 't' } };
  const made = await client.post('/endpoints', { name: 'e', delivery: 'broker', broker: kafka });
  const one = `/endpoints/${made.uid}`;
  // It knows brokers, and no batches.
  await app.database.query("update nodes set knows = '0007', beat_at = now() + '1 hour' where id = 'older'");
  await client.put(one, { name: 'other' });
  for (const refused of [
    await client.put(one, { broker }, 409),
    await client.post('/endpoints', { name: 's', delivery: 'broker', broker }, 409),
  ])
    expect(refused).toMatchObject({ code: 'older_nodes', message: expect.stringContaining('batch') });
  expect((await client.get('/endpoints')).content).toMatchObject([{ broker: { type: 'kafka' } }]);
  await app.database.query("delete from nodes where id = 'older'");
  await client.put(one, { broker });
  await older(-3600);
  await client.put(one, { name: 'it has them already' });
  await older(11);
});

test('a function with a version is refused while an older node runs, which could not read it', async () => {
  await older(11);
  const { client, subscription } = await heldScene(app);
  const one = `/subscriptions/${subscription.uid}`;
  const code = 'export const version = 2; function transform(p) { return {} }';
  await older(-3600);
  expect(await client.put(one, { function: code }, 409)).toMatchObject({ code: 'older_nodes' });
  expect((await client.put(one, { function: 'function transform(p) { return p }' })).function).not.toBe(code);
  await older(11);
  expect((await client.put(one, { function: code })).function).toBe(code);
  await older(-3600);
  await client.put(one, { name: 'it has one already' });
});
