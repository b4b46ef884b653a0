import { expect } from 'vitest';
import type { Json } from '../support/client.ts';
import { atLeast, eventually } from '../support/eventually.ts';
import type { Program } from '../support/program.ts';
import { BrokerScene, PATIENCE_MS, startBrokerNode, startScene } from './broker-scene.ts';
import { changeScene, dataOf, settingsOf } from './change-scene.ts';

/** Rows that are there before the source is, and transactions larger than a lot. */
const { scene: shared, check } = changeScene();

/** Thousands of events, on a busy machine. */
const LONG_MS = 3 * PATIENCE_MS;

/**
 * `n` grows by one with each change of a row. So in what is stored of a row each change follows the one before it, and
 * what a snapshot read is what the last change left.
 */
function expectConsistent(events: readonly Json[]): Map<string, number | null> {
  const state = new Map<string, number | null>();
  for (const { op, before, after } of events) {
    const id = (after ?? before).id as string;
    const known = state.get(id);
    if (op === 'r' && known !== undefined) expect([id, after.n]).toEqual([id, known]);
    if (op === 'u' && typeof known === 'number') expect([id, after.n]).toEqual([id, known + 1]);
    state.set(id, after === null ? null : after.n);
  }
  return state;
}

check('a snapshot has each row once, and agrees with the changes that go on meanwhile', async () => {
  const { app, side } = shared;
  const scene = await BrokerScene.on(app);
  const database = await side.createDatabase();
  await side.query(
    database,
    `create table pairs (a text, b integer, n integer, primary key (a, b));
     insert into pairs select 'it''s ' || chr(65 + i % 3) || E'\\t\\\\', i, 1 from generate_series(1, 700) i;
     insert into messages (n, body) select 1, repeat('x', i % 3000) from generate_series(1, 4500) i;
     alter table messages replica identity full; grant all on pairs to alice; alter table pairs owner to alice`,
  );
  const source = await scene.source(
    settingsOf(side, database, { snapshot: true, tables: ['public.messages', 'public.pairs'] }),
  );
  const over = new AbortController();
  const write = async () => {
    for (let n = 0; n < 400 && !over.signal.aborted; n++)
      await side.query(
        database,
        `update messages set n = n + 1 where id % 499 = ${n % 499};
         delete from messages where id = ${4_500 - n}; insert into messages (n) values (1)`,
      );
  };
  const writing = write();
  const reads = async () =>
    app.database.query(
      `select position from broker_positions where source_id = $1 and stream like '%/snapshot/%' and position = '~'`,
      [source.uid],
    );
  await eventually(reads, { length: 2 }, LONG_MS);
  over.abort();
  await writing;
  const rows = await side.query(database, 'select id::text as id, n from messages');
  const current = new Map(rows.map((row) => [row['id'] as string, row['n'] as number]));
  const messages = async () =>
    (await dataOf(scene, source)).filter(({ source: { table } }) => table === 'messages');
  const isCurrent = (events: Json[]) => {
    const state = expectConsistent(events);
    return [...state].every(([id, n]) => (current.get(id) ?? null) === n) && state.size >= current.size;
  };
  await eventually(messages, isCurrent, LONG_MS);
  const read = (await dataOf(scene, source)).filter(({ op }) => op === 'r');
  const ids = read.map(({ after }) => JSON.stringify([after.id, after.a, after.b]));
  expect(new Set(ids).size).toBe(ids.length);
  const pairs = read.filter(({ source: { table } }) => table === 'pairs');
  expect(pairs).toHaveLength(700);
  expect(pairs[0]).toMatchObject({
    op: 'r',
    before: null,
    after: { a: "it's A\t\\", b: 3, n: 1 },
    source: { snapshot: true, txid: null },
  });
  const types = (await scene.stored(source)).map(({ event_type }) => event_type);
  expect(new Set(types)).toContain('public.pairs.insert');
});

check(
  'after kill -9 a snapshot goes on where it was, and so does a transaction larger than a lot',
  async () => {
    const { side } = shared;
    const quiet = await startScene({ POSTHORN_ROLES: 'api' });
    const programs: Program[] = [];
    try {
      const scene = await BrokerScene.on(quiet);
      const database = await side.createDatabase();
      await side.query(
        database,
        'insert into messages (n) select 1 from generate_series(1, 2000); alter table messages replica identity full',
      );
      const source = await scene.source(settingsOf(side, database, { snapshot: true }), {
        rate_limit: 700,
        rate_limit_duration: 3600,
      });
      const path = `/sources/${source.uid}`;
      const stored = (count: number) => eventually(() => scene.count(source), atLeast(count), PATIENCE_MS);
      // The lease of a killed node ends after 15 s, which `conformance` waits for.
      const kill = async (program: Program | undefined) => {
        await program?.kill();
        await quiet.database.query('update source_leases set leased_until = now() where source_id = $1', [
          source.uid,
        ]);
      };
      programs.push(startBrokerNode(quiet));
      await stored(700);
      await kill(programs[0]);
      // Rows that were read, and rows that were not.
      await side.query(database, 'update messages set n = 2 where id % 100 = 0');
      await side.query(database, 'delete from messages where id % 100 = 50');
      await side.query(database, 'update messages set n = 3 where id % 100 = 0');
      programs.push(startBrokerNode(quiet));
      await scene.project.put(path, { rate_limit: 0 });
      const [{ count }] = (await side.query(database, 'select count(*)::int as count from messages')) as [
        { count: number },
      ];
      expect(count).toBe(1980);
      // 20 rows each were changed twice and deleted, 13 of the latter were not read: 7 were.
      await stored(2000 - 13 + 60);
      const events = await dataOf(scene, source);
      const state = expectConsistent(events);
      const read = events.filter(({ op }) => op === 'r').map(({ after }) => after.id);
      expect(new Set(read).size).toBe(read.length);
      expect(read).toHaveLength(1987);
      expect([...state.values()].filter((n) => n === 3)).toHaveLength(20);
      expect([...state.values()].filter((n) => n === null)).toHaveLength(20);

      const before = await scene.count(source);
      await scene.project.put(path, { rate_limit: before + 900 });
      await scene.status(source, 'running');
      await side.query(database, 'insert into messages (n) select i from generate_series(1, 2500) i');
      await stored(before + 600);
      await kill(programs[1]);
      programs.push(startBrokerNode(quiet));
      await scene.project.put(path, { rate_limit: 0 });
      await scene.waitFor(source, before + 2500);
      const numbers = (await dataOf(scene, source)).slice(before).map(({ after }) => after.n);
      expect(numbers).toEqual(Array.from({ length: 2500 }, (_, n) => n + 1));
    } finally {
      for (const program of programs) await program.end();
      await quiet.stop();
    }
  },
);

check('a transaction that is open holds up a snapshot, and not the changes', async () => {
  const { app, side } = shared;
  const scene = await BrokerScene.on(app);
  const database = await side.createDatabase();
  await side.query(database, 'insert into messages (n) values (1)');
  const plain = await scene.source(settingsOf(side, database));
  await scene.status(plain, 'running');
  await side.query(database, 'create table other (id integer)');
  const open = await side.connect(database);
  await open.query('begin; insert into other values (1)');
  await scene.project.put(`/sources/${plain.uid}`, {
    db_change_stream: { ...plain.db_change_stream, snapshot: true },
  });
  await side.query(database, 'insert into messages (n) values (2)');
  await scene.waitFor(plain, 1);
  const late = await scene.source(settingsOf(side, database));
  expect((await scene.status(late, 'waiting')).reason).toContain('transactions that have been open for long');
  await open.query('commit');
  await open.end();
  await scene.waitFor(plain, 3);
  expect((await dataOf(scene, plain)).map(({ op, after }) => [op, after.n])).toEqual([
    ['c', 2],
    ['r', 1],
    ['r', 2],
  ]);
  await scene.status(late, 'running');
});
