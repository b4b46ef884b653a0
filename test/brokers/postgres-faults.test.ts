import pg from 'pg';
import { expect } from 'vitest';
import { PostgresServer } from '../support/brokers/postgres-server.ts';
import { createTestDatabase } from '../support/database.ts';
import { atLeast, containing, eventually } from '../support/eventually.ts';
import { startDatabaseRelay } from '../support/servers/database-relay.ts';
import { Relay } from '../support/servers/relay.ts';
import { BrokerScene, PATIENCE_MS, startScene } from './broker-scene.ts';
import { CA_FILE } from './broker-tests.ts';
import { changeScene, settingsOf } from './change-scene.ts';
import { ALICE, PostgresSide } from './postgres-driver.ts';

/** Nodes, logs and databases that go their own ways. */
const { scene: shared, check } = changeScene();

check('our own database is refused, and one that does not write what is needed', async () => {
  const { app } = shared;
  const relay = await startDatabaseRelay();
  const other = await createTestDatabase({ empty: true });
  try {
    const scene = await BrokerScene.on(app);
    const reasonOf = async (connection_url: string) => {
      const source = await scene.source({ connection_url, tables: ['public.events'] }, { is_disabled: true });
      return (await scene.tested(source)).reason;
    };
    const own = 'This is the database of the service itself, which cannot be a source.';
    expect(await reasonOf(relay.urlOf(app.database.name))).toBe(own);
    expect(await reasonOf(relay.urlOf(other.name))).toContain('set wal_level to logical');
  } finally {
    await other.stop();
    relay.close();
  }
});

check('TLS with a trusted certificate, for the right name', async () => {
  const { side } = shared;
  const trusting = await startScene({ POSTHORN_CA_FILE: CA_FILE });
  try {
    const scene = await BrokerScene.on(trusting);
    const database = await side.createDatabase();
    const url = side.url(database).replace('127.0.0.1', 'localhost');
    const source = await scene.source({
      connection_url: `${url}?sslmode=verify-full`,
      tables: ['public.messages'],
    });
    await scene.status(source, 'running');
    await side.query(database, 'insert into messages (n) values (1)');
    await scene.waitFor(source, 1);
    const [walSender] = await side.query(
      database,
      `select ssl from pg_stat_ssl join pg_replication_slots on active_pid = pid
       where slot_name = '${source.db_change_stream.slot_name}'`,
    );
    expect(walSender).toEqual({ ssl: true });
  } finally {
    await trusting.stop();
  }
});

check('a slot moves on while nothing is published', async () => {
  const { app, side } = shared;
  const scene = await BrokerScene.on(app);
  const database = await side.createDatabase();
  const source = await scene.source(settingsOf(side, database));
  await scene.status(source, 'running');
  await side.query(
    database,
    "create table unpublished (t text); insert into unpublished select repeat('x', 1000) from generate_series(1, 2000)",
  );
  const [here] = await side.query(database, 'select pg_current_wal_lsn()::text as lsn');
  const { slot_name: slot } = source.db_change_stream;
  const confirmed = () =>
    side.query(
      database,
      `select 1 from pg_replication_slots where slot_name = '${slot}' and confirmed_flush_lsn >= '${String(here?.['lsn'])}'`,
    );
  await eventually(confirmed, { length: 1 }, PATIENCE_MS);
  const lag = async () => (await scene.project.get(`/sources/${source.uid}`)).status.lag as number | null;
  await eventually(lag, (bytes) => bytes !== null && bytes < 1_000_000, PATIENCE_MS);
  expect(await scene.count(source)).toBe(0);
});

check(
  'a slot that holds back too much of the log raises an alert, which is cleared when it has caught up',
  async () => {
    const { app, side } = shared;
    const scene = await BrokerScene.on(app);
    const database = await side.createDatabase();
    const source = await scene.source(settingsOf(side, database), {
      rate_limit: 1,
      rate_limit_duration: 3600,
    });
    await scene.status(source, 'running');
    await side.query(database, 'alter table messages alter column body set storage external');
    for (const n of [1, 2])
      await side.query(
        database,
        `insert into messages (n, body) select ${n}, repeat('x', 120000) from generate_series(1, 120) i`,
      );
    await side.query(database, 'checkpoint');
    const alert = () =>
      app.database.query(`select cleared_at from alerts where subject_id = $1 and kind = 'source_backlog'`, [
        source.uid,
      ]);
    const [raised] = await eventually(alert, { length: 1 }, PATIENCE_MS);
    expect(raised?.['cleared_at']).toBe(null);
    const lag = async () => (await scene.project.get(`/sources/${source.uid}`)).status.lag as number;
    await eventually(lag, atLeast(16_000_000), PATIENCE_MS);
    await scene.project.put(`/sources/${source.uid}`, { rate_limit: 0 });
    await eventually(alert, ([row]) => row?.['cleared_at'] !== null, PATIENCE_MS);
  },
);

check('a refused replication leaves no connection behind, however often it is tried', async () => {
  const { app, side } = shared;
  const scene = await BrokerScene.on(app);
  const database = await side.createDatabase();
  const slot = `s_${database}`;
  await side.query(database, `select pg_create_logical_replication_slot('${slot}', 'pgoutput')`);
  await side.query(database, 'create publication p for table messages');
  // Another consumer has the slot, and the user of the source does not see that: START_REPLICATION is refused.
  const consumer = new pg.Client({
    connectionString: side.url(database),
    replication: 'database',
  } as pg.ClientConfig);
  consumer.on('error', () => {});
  await consumer.connect();
  consumer
    .query(`START_REPLICATION SLOT ${slot} LOGICAL 0/0 (proto_version '1', publication_names 'p')`)
    .catch(() => {});
  await side.query(
    database,
    `create view public.pg_replication_slots as select slot_name, plugin, database, wal_status, restart_lsn,
       confirmed_flush_lsn, false as active, null::int as active_pid from pg_catalog.pg_replication_slots;
     grant select on public.pg_replication_slots to ${ALICE.user};
     alter role ${ALICE.user} in database ${database} set search_path = public, pg_catalog`,
  );
  const relay = await Relay.start(Number(new URL(side.url(database)).port));
  const source = await scene.source({
    connection_url: side.url(database, ALICE, relay.port),
    tables: ['public.messages'],
    slot_name: slot,
    publication_name: 'p',
    snapshot: false,
  });
  try {
    // Each try opens a connection for the changes and one to look at the slot.
    const connections = async () => [relay.accepted, relay.open] as const;
    await eventually(connections, ([accepted]) => accepted >= 2 * 4, PATIENCE_MS);
    await eventually(connections, ([, open]) => open <= 2, PATIENCE_MS);
  } finally {
    await scene.project.delete(`/sources/${source.uid}`);
    consumer.end().catch(() => {});
    relay.close();
  }
});

check('one node reads a slot: another takes over when it stops, or when it lost its lease', async () => {
  const { side } = shared;
  const quiet = await startScene({ POSTHORN_ROLES: 'api' });
  try {
    const roles = { POSTHORN_ROLES: 'broker,deliver' };
    const nodes = [await quiet.addNode(roles), await quiet.addNode(roles)];
    const scene = await BrokerScene.on(quiet);
    const database = await side.createDatabase();
    const source = await scene.source(settingsOf(side, database));
    const { slot_name: slot } = source.db_change_stream;
    const holder = async () => {
      const text = 'select node_id from source_leases where source_id = $1';
      const [lease] = await quiet.database.query(text, [source.uid]);
      return nodes.find((node) => node.nodes[0] === lease?.['node_id']);
    };
    const insert = (n: number) => side.query(database, `insert into messages (n) values (${n})`);
    await scene.status(source, 'running');
    await insert(0);
    await scene.waitFor(source, 1);

    // A node that does not exist has the lease for a moment: no one reads.
    await quiet.database.query(
      `update source_leases set node_id = 'another', leased_until = now() + interval '8 seconds' where source_id = $1`,
      [source.uid],
    );
    const active = () =>
      side.query(database, `select active from pg_replication_slots where slot_name = '${slot}'`);
    await eventually(active, [{ active: false }], PATIENCE_MS);
    await insert(1);
    await scene.waitFor(source, 2);

    // The lease is given back, and what was stored has been confirmed.
    const first = await eventually(holder, (node) => node !== undefined, PATIENCE_MS);
    await first?.stop();
    const second = await eventually(holder, (node) => node !== undefined && node !== first, PATIENCE_MS);
    expect(nodes).toContain(second);
    await insert(2);
    await scene.waitFor(source, 3);
    expect(await scene.numbers(source)).toEqual([0, 1, 2]);
  } finally {
    await quiet.stop();
  }
});

check('a log that begins again is new: a promoted standby, a restored copy of the files', async () => {
  const server = await PostgresServer.start();
  const side = new PostgresSide(server.port);
  try {
    const { app } = shared;
    const scene = await BrokerScene.on(app);
    const database = await side.createDatabase();
    const source = await scene.source(settingsOf(side, database, { connection_url: side.url(database) }));
    await scene.status(source, 'running');
    await side.query(database, 'insert into messages (n) values (0)');
    await scene.waitFor(source, 1);
    await server.beginTimeline();
    await side.query(database, 'insert into messages (n) values (1)');
    await scene.waitFor(source, 2);

    const copy = await server.copyFiles();
    await side.query(database, 'insert into messages (n) select 2 from generate_series(1, 2000)');
    await scene.waitFor(source, 2002);
    await copy.putBack();
    await side.query(database, 'insert into messages (n) values (3)');
    // Changes that the copy of the slot had not confirmed may come again.
    await eventually(() => scene.numbers(source), containing(3), PATIENCE_MS);

    // A source that is deleted while its database is away: its slot is dropped later.
    await server.kill();
    await scene.project.delete(`/sources/${source.uid}`);
    const tries = () =>
      app.database.query('select tries from change_stream_slots where source_id = $1', [source.uid]);
    await eventually(tries, ([row]) => Number(row?.['tries']) > 0, PATIENCE_MS);
    await server.resume();
    await eventually(tries, { length: 0 }, PATIENCE_MS);
    expect(await server.query(database, 'select slot_name from pg_replication_slots')).toEqual([]);
    expect(await server.query(database, 'select pubname from pg_publication')).toEqual([]);
  } finally {
    await side.close();
    await server.stop();
  }
});

check('a slot that was dropped is not made again silently: another name goes on from there', async () => {
  const { app, side } = shared;
  const scene = await BrokerScene.on(app);
  const database = await side.createDatabase();
  const source = await scene.source(settingsOf(side, database));
  await scene.status(source, 'running');
  const { slot_name: slot } = source.db_change_stream;
  const path = `/sources/${source.uid}`;
  await scene.project.put(path, { is_disabled: true });
  const drop = () =>
    side.query(database, `select pg_drop_replication_slot('${slot}')`).then(
      () => true,
      () => false,
    );
  await eventually(drop, (isDone) => isDone, PATIENCE_MS);
  await scene.project.put(path, { is_disabled: false });
  const { reason } = await scene.status(source, 'waiting');
  expect(reason).toContain(`The replication slot ${slot} was dropped, so changes are missing.`);
  await scene.project.put(path, {
    db_change_stream: { ...source.db_change_stream, slot_name: `n_${database}` },
  });
  await scene.status(source, 'running');
  await side.query(database, 'insert into messages (n) values (1)');
  await scene.waitFor(source, 1);
});

check('a publication that is dropped is missed, and made again for the tables', async () => {
  const { app, side } = shared;
  const scene = await BrokerScene.on(app);
  const database = await side.createDatabase();
  const source = await scene.source(settingsOf(side, database));
  await scene.status(source, 'running');
  await side.query(database, `drop publication ${source.db_change_stream.publication_name}`);
  const missed = async () => (await scene.project.get(`/sources/${source.uid}`)).status.last_error as string;
  await eventually(missed, (error) => error.startsWith('The publication was dropped'), PATIENCE_MS);
  await scene.status(source, 'running');
  const stored = async () => {
    await side.query(database, 'insert into messages (n) values (1)');
    return scene.count(source);
  };
  await eventually(stored, atLeast(1), PATIENCE_MS);
});
