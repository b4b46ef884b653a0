import { mkdtemp, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { Database } from '../../src/store/database/database.ts';
import { exportPartition } from '../../src/store/upkeep/export-partition.ts';
import { partitionBounds } from '../../src/store/upkeep/partitions.ts';
import { startNode, subscribe } from '../support/app.ts';
import { ApiClient, type Json } from '../support/client.ts';
import { eventually } from '../support/eventually.ts';
import { linesOf } from '../support/log-lines.ts';
import { temporaryFolder } from '../support/samples/temporary-folder.ts';
import { Receiver } from '../support/servers/receiver.ts';
import { StandbyPair } from './standby-pair.ts';

/** A node that reads time series and exports from a standby, in the order of the tests. */
let pair: StandbyPair;
let url: string;
let client: ApiClient;
let db: Database;
const dataDir = temporaryFolder(afterAll);
const { log, lines } = linesOf('warn');

beforeAll(async () => {
  pair = await StandbyPair.start({ isSynchronous: false });
  const receiver = await Receiver.start();
  const node = await startNode(
    { DATABASE_URL: pair.url, POSTHORN_READ_URL: pair.standby.url, POSTHORN_DATA_DIR: dataDir },
    log,
  );
  ({ url, db } = node);
  const { project_id, api_key } = JSON.parse(
    await readFile(join(dataDir, 'credentials.json'), 'utf8'),
  ) as Json;
  client = new ApiClient(`${url}/api/v1/projects/${project_id}`, api_key);
  await subscribe(client, receiver.url);
  return async () => {
    await node.stop();
    await receiver.stop();
    await pair.stop();
  };
});

const send = () => client.post('/events/broadcast', { event_type: 'a', data: {} });
const accepted = async (): Promise<number> => (await client.get('/timeseries')).totals.accepted as number;
const listed = async (): Promise<number> => (await client.get('/events')).content.length as number;
const standbyUp = async () =>
  /^posthorn_standby_up (\S+)$/m.exec(await (await fetch(`${url}/metrics`)).text())?.[1];

// proves Instance: POSTHORN_READ_URL
test('time series come from the standby, lists from the primary', async () => {
  await send();
  await eventually(accepted, 1);
  await pair.standby.query('select pg_wal_replay_pause()');
  await send();
  expect([await listed(), await accepted()]).toEqual([2, 1]);
  await pair.standby.query('select pg_wal_replay_resume()');
  await eventually(accepted, 2);
  expect(await standbyUp()).toBe('1');
  // If there are several hosts, the standby is found among them.
  const connection = { connectionString: pair.url.replace('=read-write', '=prefer-standby') };
  const reader = new Database({ connection, connections: 4, log, use: 'read' });
  onTestFinished(() => reader.close());
  expect(await reader.query('select pg_is_in_recovery() as is_standby')).toEqual([{ is_standby: true }]);
});

test('an export reads the standby once that has all rows, and else the primary', async () => {
  const exported = async () => {
    const [events] = (await partitionBounds(db)).filter(({ table }) => table === 'events');
    if (events === undefined) throw new Error('no partition');
    const directory = await mkdtemp(join(dataDir, 'export-'));
    const to = { directory, signal: new AbortController().signal };
    expect(await exportPartition({ db, session: db }, events, to)).toBe('done');
    expect(await readdir(directory)).toEqual([`${events.name}.jsonl.gz`]);
    return events.name;
  };
  const readsOf = async (server: StandbyPair['primary'], name: string) => {
    const sessions = await server.query<{ query: string }>('select query from pg_stat_activity');
    return sessions.filter(({ query }) => query.includes(`from ${name}`)).length;
  };
  const name = await exported();
  expect([await readsOf(pair.primary, name), await readsOf(pair.standby, name)]).toEqual([0, 1]);
  expect(lines()).toEqual([]);

  await pair.standby.query('select pg_wal_replay_pause()');
  await send();
  const asked = (from: { query: Database['query'] }) =>
    from.query('select pg_is_in_recovery() as is_standby, (select count(*)::int from events) as events');
  expect(await db.settledReading(asked)).toEqual([{ is_standby: false, events: 3 }]);
  expect(lines()).toMatchObject([{ reason: expect.stringContaining('has not replayed the log') }]);
  await pair.standby.query('select pg_wal_replay_resume()');
});

test('a standby that is down is replaced by the primary, which the log and a metric say', async () => {
  // The pause after the last failure ends.
  await eventually(standbyUp, '1');
  await pair.standby.kill();
  expect(await accepted()).toBe(3);
  expect(await standbyUp()).toBe('0');
  expect(lines().map(({ msg }) => msg as string)).toContain(
    'the standby at POSTHORN_READ_URL cannot be read; the primary serves its reads',
  );
  const asked = (from: { query: Database['query'] }) =>
    from.query('select pg_is_in_recovery() as is_standby');
  expect(await db.settledReading(asked)).toEqual([{ is_standby: false }]);
});
