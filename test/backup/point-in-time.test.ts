import { execFile } from 'node:child_process';
import { chmod, chown, cp, mkdir, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import pg from 'pg';
import { expect, onTestFinished, test } from 'vitest';
import { startEmbeddedPostgres } from '../../src/embedded-postgres/embedded-postgres.ts';
import { startNode, subscribe } from '../support/app.ts';
import { ApiClient } from '../support/client.ts';
import { atLeast, eventually } from '../support/eventually.ts';
import { readCredentials } from '../support/program.ts';
import { quietLog } from '../support/quiet-log.ts';
import { temporaryFolder } from '../support/samples/temporary-folder.ts';
import { Receiver } from '../support/servers/receiver.ts';

const run = promisify(execFile);

/** A base backup and the archived WAL of a server, restored to a time, as a tool such as pgBackRest does it. */
interface Server {
  url: string;
  query(text: string): Promise<Record<string, string>[]>;
  stop(): Promise<void>;
}

async function startServer(dataDir: string, settings: Record<string, string>): Promise<Server> {
  const server = await startEmbeddedPostgres({ dataDir, settings, log: quietLog });
  const { host, port, user, database } = server.connection;
  const client = new pg.Client(server.connection);
  await client.connect();
  let stopping: Promise<void> | undefined;
  const stop = () => (stopping ??= client.end().then(() => server.stop()));
  onTestFinished(stop);
  return {
    url: `postgres://${user}@localhost:${port}/${database}?host=${encodeURIComponent(host)}`,
    query: async (text) => (await client.query(text)).rows as Record<string, string>[],
    stop,
  };
}

/** PostgreSQL's own protocol of a base backup: the files, copied while the server works, and the label of their start. */
async function baseBackup(server: Server, from: string, to: string): Promise<void> {
  await server.query("select pg_backup_start('base', fast => true)");
  // With the owner of each file. One may vanish while it is copied: its change is in the WAL.
  await run('cp', ['-a', from, to]).catch(() => {});
  for (const file of ['postmaster.pid', 'postmaster.opts']) await rm(join(to, file), { force: true });
  for (const file of await readdir(join(to, 'pg_wal'), { withFileTypes: true }))
    if (file.isFile()) await rm(join(to, 'pg_wal', file.name));
  const [stopped] = await server.query(
    'select labelfile as label from pg_backup_stop(wait_for_archive => false)',
  );
  await writeFile(join(to, 'backup_label'), stopped?.['label'] ?? '');
  await writeFile(join(to, 'recovery.signal'), '');
  // The server must own them.
  const { uid, gid } = await stat(to);
  for (const file of ['backup_label', 'recovery.signal']) await chown(join(to, file), uid, gid);
}

async function startService(server: Server, dataDir: string) {
  const node = await startNode({ DATABASE_URL: server.url, POSTHORN_DATA_DIR: dataDir });
  let stopping: Promise<void> | undefined;
  const stop = () => (stopping ??= node.stop());
  onTestFinished(stop);
  const { api_key, project_id } = readCredentials(dataDir);
  return { client: new ApiClient(`${node.url}/api/v1/projects/${project_id}`, api_key), stop };
}

const send = (client: ApiClient, name: string, type = 'sent') =>
  client.post('/events/broadcast', { event_type: type, idempotency_key: name, data: { name } });

test('a restore to a time has what was accepted until then, and takes what came later again by its key', async () => {
  const folder = temporaryFolder();
  // The server may run as another user.
  await chmod(folder, 0o755);
  const archive = join(folder, 'archive');
  await mkdir(archive);
  await chmod(archive, 0o777);
  const [first, second] = [join(folder, 'first'), join(folder, 'second')];
  const receiver = await Receiver.start();
  onTestFinished(() => receiver.stop());

  const server = await startServer(first, {
    archive_mode: 'on',
    archive_command: `cp %p ${archive}/%f`,
  });
  const before = await startService(server, first);
  await subscribe(before.client, receiver.url, { eventTypes: ['sent'] });
  const { endpoint } = await subscribe(before.client, `${receiver.url}/held`, { eventTypes: ['held'] });
  await before.client.put(`/endpoints/${endpoint.uid}/pause`);
  await mkdir(second, { mode: 0o700 });
  await baseBackup(server, join(first, 'postgres'), join(second, 'postgres'));
  const kept = await send(before.client, 'kept');
  const held = await send(before.client, 'held', 'held');
  await receiver.received(1);
  await eventually(
    () => before.client.get(`/eventdeliveries?eventId=${kept.uid}`),
    ({ content }) => content[0]?.status === 'Success',
  );
  const [moment] = await server.query('select clock_timestamp()::text as at');
  const later = await send(before.client, 'later');
  await receiver.received(2);
  await before.client.put(`/endpoints/${endpoint.uid}/pause`);
  await receiver.received(3);
  await server.query('select pg_switch_wal()');
  await eventually(
    () =>
      server.query('select (archived_count > 0)::text as archived, last_archived_wal from pg_stat_archiver'),
    [{ archived: 'true' }],
  );
  await before.stop();
  await server.stop();

  const restored = await startServer(second, {
    restore_command: `cp ${archive}/%f %p`,
    recovery_target_time: moment?.['at'] ?? '',
    recovery_target_action: 'promote',
  });
  await eventually(
    () => restored.query('select pg_is_in_recovery()::text as recovering'),
    [{ recovering: 'false' }],
  );
  await cp(join(first, 'credentials.json'), join(second, 'credentials.json'));
  const { client } = await startService(restored, second);
  expect((await client.get(`/events/${kept.uid}`)).data).toEqual({ name: 'kept' });
  expect((await client.raw('GET', `/events/${later.uid}`)).status).toBe(404);
  const deliveries = async (event: string) => (await client.get(`/eventdeliveries?eventId=${event}`)).content;
  expect((await deliveries(kept.uid)).map(({ status }: { status: string }) => status)).toEqual(['Success']);
  // It was open at that time, so it is sent again once the endpoint is active, though it arrived.
  expect((await client.get(`/endpoints/${endpoint.uid}`)).status).toBe('paused');
  await client.put(`/endpoints/${endpoint.uid}/pause`);
  await eventually(() => deliveries(held.uid), [{ status: 'Success' }]);
  expect(receiver.at('/held').length).toBe(2);
  // The sender repeats everything: the key tells what was restored from what was not.
  expect(await send(client, 'kept')).toMatchObject({ is_duplicate_event: true, duplicate_of: kept.uid });
  expect(await send(client, 'later')).toMatchObject({ is_duplicate_event: false });
  const names = () => receiver.requests.map(({ json }) => String(json.name)).toSorted();
  await eventually(async () => names(), { length: atLeast(5) });
  expect(names()).toEqual(['held', 'held', 'kept', 'later', 'later']);
});
