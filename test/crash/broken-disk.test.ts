import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import {
  chmodSync,
  globSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { expect, onTestFinished, test } from 'vitest';
import { startEmbeddedPostgres } from '../../src/embedded-postgres/embedded-postgres.ts';
import { startNode, subscribe } from '../support/app.ts';
import { ApiClient } from '../support/client.ts';
import { quietLog } from '../support/quiet-log.ts';
import { temporaryFolder } from '../support/samples/temporary-folder.ts';
import { Receiver } from '../support/servers/receiver.ts';

/** A server of its own, whose files the test breaks. The node uses it as it would use any PostgreSQL server. */
async function brokenScene() {
  const folder = temporaryFolder();
  // The server may run as another user.
  chmodSync(folder, 0o755);
  const server = await startEmbeddedPostgres({
    dataDir: join(folder, 'database'),
    settings: {},
    log: quietLog,
  });
  const { host, port, user, database } = server.connection;
  const url = `postgres://${user}@localhost:${port}/${database}?host=${encodeURIComponent(host)}`;
  const client = new pg.Client(server.connection);
  await client.connect();
  const node = await startNode({ DATABASE_URL: url, POSTHORN_DATA_DIR: folder });
  const receiver = await Receiver.start();
  onTestFinished(async () => {
    await node.stop();
    await receiver.stop();
    await client.end();
    await server.stop();
  });
  const { api_key, project_id } = JSON.parse(readFileSync(join(folder, 'credentials.json'), 'utf8'));
  const project = new ApiClient(`${node.url}/api/v1/projects/${project_id}`, api_key);
  const query = async (text: string) => (await client.query(text)).rows as Record<string, string>[];
  const [made = ''] = globSync('**/global/', { cwd: folder });
  return { project, receiver, query, folder, files: join(folder, made, '..') };
}

const broadcast = (project: ApiClient, data: object) =>
  project.raw('POST', '/events/broadcast', { body: { event_type: 'disk', data } });

const isRoot = process.geteuid?.() === 0;

test.skipIf(!isRoot)(
  'a full disk refuses events with 503 and stores none of them; with room again all goes on',
  async () => {
    const { project, receiver, query, folder, files } = await brokenScene();
    await subscribe(project, receiver.url);
    expect((await broadcast(project, { n: 1 })).status).toBe(201);
    await receiver.received(1);
    const small = mkdtempSync(join(folder, 'small-'));
    const { uid, gid } = statSync(files);
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=4m,mode=0700,uid=${uid},gid=${gid}`, 'tmpfs', small]);
    onTestFinished(() => void execFileSync('umount', ['--lazy', small]));
    await query(`create tablespace small location '${small}'`);
    const [partition] = await query(
      'select tableoid::regclass::text as name from events order by id desc limit 1',
    );
    await query(`alter table ${partition?.['name']} set tablespace small`);
    const filler = join(small, 'filler');
    try {
      writeFileSync(filler, Buffer.alloc(8 * 1024 * 1024));
    } catch {
      // It is full now.
    }
    const large = randomBytes(60_000).toString('base64');
    const refused = await broadcast(project, { large });
    expect(refused.status).toBe(503);
    expect(await query('select count(*)::text as events from events')).toEqual([{ events: '1' }]);
    rmSync(filler);
    expect((await broadcast(project, { large })).status).toBe(201);
    await receiver.received(2);
  },
);

const PAGE = 8_192;

test('a corrupt page of a history table fails reads of it alone; accepting, sending and recording go on', async () => {
  const { project, receiver, query, files } = await brokenScene();
  receiver.answerAlways(
    (_, response) => void response.writeHead(500).end(randomBytes(1_100).toString('base64')),
  );
  await subscribe(project, receiver.url, {
    subscription: { retry_config: { type: 'linear', interval_seconds: 1, retry_count: 0 } },
  });
  const send = async (count: number, ended: number) => {
    for (let n = 0; n < count; n += 1) expect((await broadcast(project, { n })).status).toBe(201);
    await expect
      .poll(() => query("select count(*)::text as ended from event_deliveries where status = 'Failure'"), {
        timeout: 60_000,
      })
      .toEqual([{ ended: String(ended) }]);
  };
  await send(16, 16);
  const [place] = await query(
    `select tableoid::regclass::text as name, pg_relation_filepath(tableoid) as path,
       (pg_relation_size(tableoid) / ${PAGE})::text as pages, delivery_id as id
     from delivery_attempts order by ctid limit 1`,
  );
  expect(Number(place?.['pages'])).toBeGreaterThan(1);
  await query('checkpoint');
  writeSync(openSync(join(files, place?.['path'] ?? ''), 'r+'), randomBytes(PAGE), 0, PAGE, 0);
  await query('create extension pg_buffercache');
  await query(`select pg_buffercache_evict_relation('${place?.['name']}')`);
  await expect(query(`select count(response_body) from ${place?.['name']}`)).rejects.toThrow(/invalid page/);
  const read = await project.raw('GET', `/eventdeliveries/${place?.['id']}/deliveryattempts`);
  expect(read.status).toBeGreaterThanOrEqual(500);
  await send(4, 20);
  expect((await project.raw('GET', '/eventdeliveries')).status).toBe(200);
});
