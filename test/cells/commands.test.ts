import { expect, test } from 'vitest';
import { runMove, startMove } from '../../src/cells/move/move-project.ts';
import type { MoveStep } from '../../src/cells/move/mover.ts';
import { SECRET_KEY, startNode, startTestApp, subscribe } from '../support/app.ts';
import { ApiClient } from '../support/client.ts';
import { runPosthorn } from '../support/command.ts';
import { createTestDatabase } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { Receiver } from '../support/servers/receiver.ts';
import { shared } from '../support/shared.ts';
import { addFutureRow } from './two-cells.ts';

const app = await shared(startTestApp());
const second = await shared(createTestDatabase({ empty: true }));
const receiver = await shared(Receiver.start());
const env = { DATABASE_URL: app.database.url, POSTHORN_SECRET_KEY: SECRET_KEY };
const run = (...args: string[]) => runPosthorn(args, { env });

test('a database becomes a cell once, if it is empty and of no other instance', async () => {
  const listed = async () =>
    (await app.database.query('select name from cells order by id')).map(({ name }) => name);
  expect((await run('cells', 'check')).stdout).toMatch(/^ok +cell 1 +the only one, 1 project\n/);
  const stranger = await createTestDatabase({ empty: true });
  await stranger.query('create table theirs (id int)');
  const other = await startTestApp({ POSTHORN_SECRET_KEY: 'another secret key for tests, 32+ chars' });
  const refusals: [args: string[], reason: RegExp][] = [
    [['--name', 'a b', '--url', second.url], /the name of a cell has/],
    [['--name', '1', '--url', second.url], /a cell 1 already/],
    [['--name', '2', '--url', 'http://127.0.0.1/x'], /must be a URL starting with postgres/],
    [['--name', '2', '--url', 'postgres://u@127.0.0.1:1/none'], /cannot be used/],
    [['--name', '2', '--url', stranger.url], /not empty/],
    [['--name', '2', '--url', other.database.url], /has projects or secrets/],
    [['--name', '2', '--url', app.database.url], /is the home itself/],
    [['--name', '2'], /--url/],
  ];
  for (const [args, reason] of refusals) {
    const { code, stderr } = await run('cells', 'add', ...args);
    expect([args, code, stderr]).toEqual([args, expect.any(Number), expect.stringMatching(reason)]);
    expect(code).not.toBe(0);
  }
  expect((await stranger.query('select from pg_class where relname = $1', ['projects'])).length).toBe(0);
  await Promise.all([stranger.stop(), other.stop()]);
  expect(await listed()).toEqual(['1']);

  await app.database.query(
    "insert into nodes (id, roles, seal_keys, knows) values ('old', 'deliver', (select seal_keys from nodes limit 1), '0003')",
  );
  const old = await run('cells', 'add', '--name', '2', '--url', second.url);
  expect(old.stderr).toContain('these are of an older version: old');
  await app.database.query("delete from nodes where id = 'old'");
  const added = await run('cells', 'add', '--name', '2', '--url', second.url);
  expect([added.stderr, added.stdout]).toEqual(['', expect.stringContaining('Added cell 2 (number 2)')]);
  const again = await run('cells', 'add', '--name', '3', '--url', second.url);
  expect(again.stderr).toContain('is cell 2 already');
  expect(await listed()).toEqual(['1', '2']);
  expect(
    (await app.database.query("select sealed_url::text as url from cells where name = '2'"))[0]?.['url'],
  ).not.toContain(second.name);
  const { stdout } = await run('cells', 'list');
  expect(stdout).toBe(
    `1  DATABASE_URL, the home\n2  ${URL.parse(second.url)?.searchParams.get('host')}:${URL.parse(second.url)?.port}/${second.name}\n`,
  );
  const checked = await run('cells', 'check');
  expect([checked.code, checked.stdout.split('\n').length]).toEqual([0, 3]);
  // A kill between the two commits leaves this.
  await app.database.query("delete from cells where name = '2'");
  expect((await run('cells', 'add', '--name', '2', '--url', second.url)).stdout).toContain('number 2');
});

test('a check names what is wrong with a cell', async () => {
  await second.query('update cell_identity set cell_id = 7');
  await second.query("update instance_secrets set name = 'other'");
  await second.query("delete from schema_migrations where name like '0007%'");
  const { code, stdout } = await run('cells', 'check');
  expect(code).not.toBe(0);
  for (const problem of ['says that it is cell 7', 'lacks the migrations 0007', 'another lookup key'])
    expect(stdout).toContain(problem);
  await second.query('update cell_identity set cell_id = 2');
  await second.query("update instance_secrets set name = 'lookup key'");
  await second.query("insert into schema_migrations (name) values ('0007_cells.sql')");
  expect((await run('cells', 'check')).code).toBe(0);
});

test('a project moves there and back, and a move that was left behind is settled first', async () => {
  const project = await app.newProject();
  const id = project.projectId;
  const { endpoint } = await subscribe(project, receiver.url);
  await project.put(`/endpoints/${endpoint.uid}/pause`);
  await project.post('/events/broadcast', { event_type: 'x', data: {} });
  for (const [args, reason] of [
    [[id, '--to', '9'], /no cell 9/],
    [[id, '--to', '1'], /is in cell 1 already/],
    [['01ARZ3NDEKTSV4RRFFQ69G5FAV', '--to', '2'], /no project 01ARZ/],
    [[id], /--to/],
    [[id, '--stop'], /no move of project/],
  ] as [string[], RegExp][]) {
    const { code, stderr } = await run('project', 'move', ...args);
    expect([args, code === 0, stderr]).toEqual([args, false, expect.stringMatching(reason)]);
  }
  expect((await run('project', 'move', id, '--to', '2')).stderr).toContain(
    '0 of 1 running nodes serve cell 2',
  );
  const node = await startNode({ DATABASE_URL: second.url, POSTHORN_DATA_DIR: app.dataDir });
  const dry = await run('project', 'move', id, '--to', '2', '--dry-run');
  expect(dry.stdout).toMatch(/would move from cell 1 to cell 2[^]* 1 {2}events\n[^]* 1 {2}delivery_queue\n/);
  const future = await addFutureRow(app.database, id, 3_600_000);
  for (const args of [['--dry-run'], []]) {
    const { code, stdout, stderr } = await run('project', 'move', id, '--to', '2', ...args);
    expect([code === 0, stdout, stderr]).toEqual([false, '', expect.stringContaining(future)]);
    expect(stderr).toMatch(/the clock of a node or of the source was ahead/);
  }
  await project.get('/events');
  await app.database.query('delete from audit_entries where id = $1', [future]);

  // A mover that dies once the project has closed, in another process.
  const deps = { source: app.app.db, target: second.open(), owner: 'dead' };
  const die = (step: MoveStep) => {
    if (step === 'closed') throw new Error('killed');
  };
  const left = await startMove(deps, { projectId: id, fromCell: 1, toCell: 2 });
  await expect(runMove({ ...deps, onStep: die }, left)).rejects.toThrow('killed');
  expect((await run('project', 'move', id, '--to', '2')).stderr).toContain(
    'moves to cell 2 already; --stop ends that',
  );
  expect((await run('project', 'move', id, '--stop')).stdout).toContain('is open in cell 1');
  await project.get('/events');

  const there = await run('project', 'move', id, '--to', '2');
  expect([there.stderr, there.stdout]).toEqual([
    '',
    expect.stringMatching(/Closed\.[^]*is in cell 2: \d+ rows copied/),
  ]);
  expect((await project.raw('GET', '/events', {})).status).toBe(503);
  const moved = new ApiClient(`${node.url}/api/v1/projects/${id}`, project.key);
  await moved.post('/events/broadcast', { event_type: 'x', data: { is: 'made there' } });

  const back = await run('project', 'move', id, '--to', '1');
  expect([back.stderr, back.stdout]).toEqual(['', expect.stringContaining('is in cell 1')]);
  await project.put(`/endpoints/${endpoint.uid}/pause`);
  await receiver.received(2);
  await eventually(() => project.get('/eventdeliveries?status=Success'), { content: { length: 2 } });
  expect((await moved.raw('GET', '/events', {})).status).toBe(503);
  await node.stop();
});
