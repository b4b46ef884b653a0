import { expect } from 'vitest';
import { subscribe } from '../support/app.ts';
import { eventually } from '../support/eventually.ts';
import { Receiver } from '../support/servers/receiver.ts';
import { BrokerScene, PATIENCE_MS, startScene } from './broker-scene.ts';
import { changeScene, dataOf, settingsOf } from './change-scene.ts';
import { ALICE } from './postgres-driver.ts';

/** The events of changes, and the life of slots and publications. */
const { scene: shared, check } = changeScene();

// proves Sources: db_change_stream.*
check('rows that are inserted, updated and deleted become events that are delivered', async () => {
  const { app, side } = shared;
  const scene = await BrokerScene.on(app);
  const receiver = await Receiver.start();
  await subscribe(scene.project, receiver.url, { eventTypes: ['public.messages.*'] });
  const database = await side.createDatabase();
  const source = await scene.source(settingsOf(side, database));
  await scene.status(source, 'running');
  await side.query(database, "insert into messages (n, body) values (1, 'one')");
  await side.query(database, "update messages set body = 'two'");
  await side.query(database, 'delete from messages');
  await side.query(database, 'truncate messages');
  await scene.waitFor(source, 4);
  await receiver.received(4);
  const types = (await scene.stored(source)).map(({ event_type }) => event_type);
  expect(types).toEqual(['insert', 'update', 'delete', 'truncate'].map((op) => `public.messages.${op}`));
  const [insert, update, remove, truncate] = await dataOf(scene, source);
  expect(insert).toEqual({
    op: 'c',
    before: null,
    after: { id: '1', n: 1, body: 'one' },
    unavailable: [],
    source: {
      schema: 'public',
      table: 'messages',
      lsn: expect.stringMatching(/^[0-9A-F]+\/[0-9A-F]+$/),
      txid: expect.any(Number),
      ts_ms: expect.any(Number),
      snapshot: false,
    },
    ts_ms: expect.any(Number),
  });
  expect(Math.abs(insert.source.ts_ms - Date.now())).toBeLessThan(600_000);
  expect(update).toMatchObject({ op: 'u', before: null, after: { id: '1', n: 1, body: 'two' } });
  expect(remove).toMatchObject({ op: 'd', before: { id: '1' }, after: null });
  expect(truncate).toMatchObject({ op: 't', before: null, after: null });
  const rows = await app.database.query('select stream from broker_positions where source_id = $1', [
    source.uid,
  ]);
  expect(rows).toEqual([{ stream: expect.stringMatching(new RegExp(`^\\d+/${database}/posthorn_`)) }]);
  const { lag } = await scene.status(source, 'running', (status) => status.lag !== null);
  expect(lag).toEqual(expect.any(Number));
  await receiver.stop();
});

check(
  'values keep their digits, times are ISO 8601, arrays are arrays, and columns that change take effect',
  async () => {
    const { app, side } = shared;
    const scene = await BrokerScene.on(app);
    const database = await side.createDatabase();
    await side.query(
      database,
      `create schema "Odd.schema"; create type mood as enum ('sad', 'happy');
       create table "Odd.schema"."The table" (id integer primary key, big bigint, exact numeric, real double precision,
         yes boolean, at timestamptz, local timestamp, day date, doc jsonb, list text[], bytes bytea, mood mood, none text);
       create table plain (id integer primary key);
       create publication everything for table "Odd.schema"."The table", plain`,
    );
    const source = await scene.source(
      settingsOf(side, database, {
        connection_url: side.url(database),
        publication_name: 'everything',
        tables: [],
      }),
    );
    await scene.status(source, 'running');
    await side.query(
      database,
      `insert into "Odd.schema"."The table" values (1, 9007199254740993, 0.10, 'NaN', true, '2026-01-31 12:00:00.123456+02',
         '2026-01-31 12:00:00', '2026-01-31', '{"a": [1, 12345678901234567890]}', array['a', null, 'b "c"'], '\\x00ff', 'happy')`,
    );
    await side.query(
      database,
      `alter table "Odd.schema"."The table" add column more text default 'x'; alter table "Odd.schema"."The table" drop column bytes`,
    );
    await side.query(database, 'update "Odd.schema"."The table" set id = 2');
    await side.query(database, 'insert into plain values (1)');
    await scene.waitFor(source, 3);
    const [first] = await scene.stored(source);
    expect(first?.event_type).toBe('Odd.schema.The table.insert');
    expect(first?.payload.toString()).toContain('12345678901234567890');
    const [inserted, updated, plain] = await dataOf(scene, source);
    expect(inserted.after).toEqual({
      id: 1,
      big: '9007199254740993',
      exact: '0.10',
      real: 'NaN',
      yes: true,
      at: '2026-01-31T10:00:00.123456Z',
      local: '2026-01-31T12:00:00',
      day: '2026-01-31',
      doc: { a: [1, expect.any(Number)] },
      list: ['a', null, 'b "c"'],
      bytes: '\\x00ff',
      mood: 'happy',
      none: null,
    });
    expect(updated).toMatchObject({ before: { id: 1 }, after: { id: 2, more: 'x', mood: 'happy' } });
    expect(updated.before).toEqual({ id: 1 });
    expect(updated.after).not.toHaveProperty('bytes');
    expect(plain.after).toEqual({ id: 1 });
  },
);

check(
  'a large value that did not change is named as unavailable, or comes from the full identity',
  async () => {
    const { app, side } = shared;
    const scene = await BrokerScene.on(app);
    const database = await side.createDatabase();
    await side.query(database, 'alter table messages alter column body set storage external');
    const source = await scene.source(settingsOf(side, database));
    await scene.status(source, 'running');
    const large = 'x'.repeat(20_000);
    await side.query(database, 'insert into messages (n, body) values (1, $1)', [large]);
    await side.query(database, 'update messages set n = 2');
    await side.query(database, 'alter table messages replica identity full');
    await side.query(database, 'update messages set n = 3');
    await scene.waitFor(source, 3);
    const [inserted, bare, full] = await dataOf(scene, source);
    expect(inserted).toMatchObject({ after: { body: large }, unavailable: [] });
    expect(bare).toMatchObject({ before: null, unavailable: ['body'] });
    expect(bare.after).toEqual({ id: '1', n: 2 });
    expect(full).toMatchObject({
      before: { n: 2, body: large },
      after: { n: 3, body: large },
      unavailable: [],
    });
  },
);

check('functions make other events of changes, and rows that cannot be events are kept', async () => {
  const { app, side } = shared;
  const scene = await BrokerScene.on(app);
  await scene.project.put('', { config: { max_payload_read_size: 100_000 } });
  const receiver = await Receiver.start();
  const { endpoint } = await subscribe(scene.project, receiver.url, { eventTypes: ['order.paid'] });
  const database = await side.createDatabase();
  const source = await scene.source(settingsOf(side, database), {
    header_function: `function transform(headers) { return { ...headers, 'x-convoy-message-type': 'single' }; }`,
    body_function: `function transform(message) {
      return { event_type: 'order.paid', data: message.data.after.body, endpoint_id: '${endpoint.uid}' }; }`,
  });
  await scene.status(source, 'running');
  await side.query(database, "insert into messages (n, body) values (1, 'paid')");
  await side.query(database, 'insert into messages (n, body) values (2, $1)', ['x'.repeat(150_000)]);
  await side.query(database, 'delete from messages where n = 1');
  await scene.waitFor(source, 3);
  await receiver.received(1);
  expect(receiver.requests[0]?.json).toBe('paid');
  const [, large, failed] = await scene.stored(source);
  expect(large).toMatchObject({ event_type: 'broker.unreadable', status: 'Failure' });
  expect(large?.failure_reason).toMatch(/larger than the 100000 bytes.*has 150\d\d\d bytes/);
  expect(large?.payload.length).toBe(65_536);
  expect(failed).toMatchObject({ event_type: 'broker.unreadable' });
  expect(failed?.failure_reason).toContain('A function of the source failed');
  await receiver.stop();
});

check(
  'what was made for a source is dropped with it, also after a change; what was there stays',
  async () => {
    const { app, side } = shared;
    const scene = await BrokerScene.on(app);
    const database = await side.createDatabase();
    await side.query(database, 'create table other (id integer primary key)');
    await side.query(database, 'create publication theirs for table messages, other');
    await side.query(database, `select pg_create_logical_replication_slot('theirs_${database}', 'pgoutput')`);
    const slots = async () =>
      (
        await side.query(
          database,
          'select slot_name from pg_replication_slots where database = current_database()',
        )
      ).map((row) => row['slot_name']);
    const publications = async () =>
      (await side.query(database, 'select pubname from pg_publication order by 1')).map(
        (row) => row['pubname'],
      );
    const kept = { slot_name: `theirs_${database}`, publication_name: 'theirs' };
    const given = await scene.source(settingsOf(side, database, kept));
    const made = await scene.source(settingsOf(side, database));
    const { slot_name: first } = made.db_change_stream;
    await scene.status(given, 'running');
    await scene.status(made, 'running');
    expect(new Set(await slots())).toEqual(new Set([first, kept.slot_name]));
    expect(await publications()).toEqual([first, 'theirs']);
    await side.query(database, 'insert into messages (n) values (1)');
    await side.query(database, 'insert into other values (1)');
    await scene.waitFor(made, 1);
    await scene.waitFor(given, 1);

    // Another password leaves the slot as it is, another slot replaces it.
    await side.query(database, `create role ${database} login replication superuser password 'p'`);
    const connection_url = side.url(database, { user: database, password: 'p' });
    const path = `/sources/${made.uid}`;
    await scene.project.put(path, { db_change_stream: { ...made.db_change_stream, connection_url } });
    await side.query(database, 'insert into messages (n) values (2)');
    await scene.waitFor(made, 2);
    expect(await slots()).toContain(first);
    const second = `second_${database}`;
    await scene.project.put(path, {
      db_change_stream: { ...made.db_change_stream, slot_name: second, publication_name: 'second' },
    });
    await eventually(slots, (names) => names.includes(second) && !names.includes(first), PATIENCE_MS);
    await eventually(
      publications,
      (names) => names.includes('second') && !names.includes(first),
      PATIENCE_MS,
    );

    for (const source of [given, made]) await scene.project.delete(`/sources/${source.uid}`);
    await eventually(slots, { length: 1 }, PATIENCE_MS);
    expect(await slots()).toEqual([kept.slot_name]);
    await eventually(publications, { length: 1 }, PATIENCE_MS);
    expect(await publications()).toEqual(['theirs']);
    const [tables] = await side.query(
      database,
      "select count(*)::int as count from pg_publication_tables where pubname = 'theirs'",
    );
    expect(tables?.['count']).toBe(2);
    const rows = () =>
      app.database.query('select 1 from change_stream_slots where source_id = any($1)', [
        [given.uid, made.uid],
      ]);
    await eventually(rows, { length: 0 }, PATIENCE_MS);
  },
);

check(
  'a publication that was made follows the tables of the source; partitions come as their table',
  async () => {
    const { app, side } = shared;
    const scene = await BrokerScene.on(app);
    const database = await side.createDatabase();
    await side.query(
      database,
      `create table parts (id integer primary key, n integer) partition by range (id);
     create table parts_1 partition of parts for values from (0) to (1000)`,
    );
    const admin = { connection_url: side.url(database) };
    const source = await scene.source(settingsOf(side, database, admin));
    await scene.status(source, 'running');
    await side.query(database, 'insert into messages (n) values (1)');
    await scene.waitFor(source, 1);
    const tables = ['public.messages', 'public.parts'];
    await scene.project.put(`/sources/${source.uid}`, {
      db_change_stream: { ...source.db_change_stream, tables },
    });
    const published = () => side.query(database, 'select tablename from pg_publication_tables');
    await eventually(published, { length: 2 }, PATIENCE_MS);
    await side.query(database, 'insert into parts values (1, 2)');
    await scene.waitFor(source, 2);
    const [, part] = await scene.stored(source);
    expect(part?.event_type).toBe('public.parts.insert');
  },
);

check('what is wrong is said in plain words', async () => {
  const { app, side } = shared;
  const scene = await BrokerScene.on(app);
  const database = await side.createDatabase();
  await side.query(database, `create role no_${database} login password 'p'`);
  await side.query(database, 'create table bare (n integer)');
  await side.query(database, 'create publication other for table bare');
  await side.query(
    database,
    `select pg_create_logical_replication_slot('test_${database}', 'test_decoding')`,
  );
  const admin = side.url(database);
  const wrong: [object, string][] = [
    [
      { connection_url: side.url(database, undefined, 1) },
      'The database refused the connection: check the address and that it is running.',
    ],
    [
      { connection_url: side.url(database, { ...ALICE, password: '' }) },
      'The database refused the user name or the password.',
    ],
    [{ connection_url: side.url('no_such_db') }, 'The database server has no database of that name.'],
    [
      { connection_url: side.url(database, { user: `no_${database}`, password: 'p' }) },
      'The user may not replicate: give it the attribute REPLICATION.',
    ],
    [
      { connection_url: `${admin}?sslmode=require` },
      "The database's certificate is not trusted: POSTHORN_CA_FILE may name its authority.",
    ],
    [{ tables: ['public.none'] }, 'The table public.none does not exist.'],
    [
      { tables: [], publication_name: 'none' },
      'The publication none does not exist, and there are no tables to make it for.',
    ],
  ];
  for (const [fields, reason] of wrong) {
    const source = await scene.source(settingsOf(side, database, fields), { is_disabled: true });
    const answer = await scene.tested(source);
    expect(answer).toEqual({ ok: false, reason });
  }
  const later: [object, string][] = [
    [
      { publication_name: 'other' },
      'The publication other does not have the table public.messages. It is not changed, as it was there before.',
    ],
    [
      { connection_url: admin, tables: ['public.bare'] },
      'The table public.bare has no primary key and no replica identity: with a publication its updates and deletes would fail.',
    ],
    [
      { connection_url: admin, slot_name: `test_${database}` },
      `The replication slot test_${database} is not of the plugin pgoutput.`,
    ],
    [
      { connection_url: admin, publication_name: 'other', tables: ['public.bare'], snapshot: true },
      'The table public.bare has no primary key, which a snapshot needs.',
    ],
  ];
  for (const [fields, reason] of later) {
    const source = await scene.source(settingsOf(side, database, fields));
    expect((await scene.status(source, 'waiting')).reason).toBe(reason);
    await scene.project.delete(`/sources/${source.uid}`);
  }
});

check('an address obeys the egress rule', async () => {
  const { side } = shared;
  const strict = await startScene({ POSTHORN_EGRESS: 'public' });
  try {
    const scene = await BrokerScene.on(strict);
    const source = await scene.source(settingsOf(side, 'postgres'));
    const { reason } = await scene.status(source, 'waiting');
    expect(reason).toContain('127.0.0.1 is a loopback address, not allowed by POSTHORN_EGRESS=public');
  } finally {
    await strict.stop();
  }
});
