import { expect, test } from 'vitest';
import { moveProject, runMove, startMove } from '../../src/cells/move/move-project.ts';
import type { MoveStep } from '../../src/cells/move/mover.ts';
import { settleMove } from '../../src/cells/move/settle-move.ts';
import { moveKeeper } from '../../src/cells/move-keeper.ts';
import { asId } from '../../src/domain/ids.ts';
import { abandonedMoves } from '../../src/store/cells/source-moves.ts';
import { claimDeliveries } from '../../src/store/queue/claim.ts';
import { refuseWrites } from '../support/database.ts';
import { atLeast, eventually } from '../support/eventually.ts';
import { quietLog } from '../support/quiet-log.ts';
import { shared } from '../support/shared.ts';
import { rowsOf } from './rows.ts';
import { TwoCells } from './two-cells.ts';

const cells = await shared(TwoCells.start());
const { receiver } = cells;

class Killed extends Error {}

/** A mover that ends at a step as if it was killed there. */
const killedAt = (step: MoveStep) => ({
  ...cells.deps('killed'),
  onStep: (now: MoveStep) => {
    if (now === step) throw new Killed(step);
  },
});

const STEPS: [MoveStep, string][] = [
  ['begun', 'source'],
  ['copied', 'source'],
  ['draining', 'source'],
  ['drained', 'source'],
  ['closed', 'source'],
  ['written', 'source'],
  ['switched', 'target'],
  ['ended', 'target'],
];

test.each(STEPS)(
  'a mover that is killed when it is %s leaves the project to the %s, whole',
  async (step, side) => {
    const { client, paused, path } = await cells.project();
    const deps = killedAt(step);
    const move = await startMove(deps, cells.move(client));
    await expect(runMove(deps, move)).rejects.toThrow(Killed);

    const other = cells.deps('other');
    const isOver = step === 'ended';
    expect(await settleMove(other, move, { isForced: false })).toBe(isOver ? 'done' : 'running');
    await cells.app.database.query(
      "update project_moves set lease_until = now() - interval '1 second' where project_id = $1",
      [client.projectId],
    );
    expect((await abandonedMoves(cells.app.app.db)).length).toBe(isOver ? 0 : 1);
    const outcomes = await Promise.all([1, 2].map(() => settleMove(other, move, { isForced: true })));
    const outcome = side === 'source' ? 'stopped' : 'done';
    expect(outcomes).toContain(outcome);
    expect(await cells.openIn(client)).toEqual([side]);

    const open = side === 'source' ? client : cells.other(client);
    await open.put(`/endpoints/${paused.uid}/pause`);
    await eventually(() => open.get('/eventdeliveries?status=Success'), { content: { length: 3 } });
    expect(receiver.at(path)).toHaveLength(3);
    if (side === 'source') return;
    const refused = await client.raw('GET', '/events', {});
    expect(refused.status).toBe(503);
    if (step !== 'ended') return;
    // As if the mover had removed the first rows, and then was killed: the keeper removes the rest.
    await cells.app.database.query('delete from delivery_queue where project_id = $1', [client.projectId]);
    const left = () =>
      cells.app.database.query(
        `select 1 from endpoints where project_id = $1
         union all select 1 from project_moves where project_id = $1 and owner is not null`,
        [client.projectId],
      );
    expect(await left()).toHaveLength(3);
    const source = { id: 1, name: 'source', db: cells.app.app.db };
    const keeper = moveKeeper({ cells: [source], owner: 'keeper', log: quietLog });
    keeper.start();
    keeper.wake();
    await eventually(left, { length: 0 });
    await keeper.stop();
  },
);

test('a move that cannot be settled keeps no other project closed', async () => {
  const { app, there } = cells;
  const clients = [(await cells.project(0)).client, (await cells.project(0)).client];
  for (const client of clients) {
    const deps = killedAt('draining');
    await expect(runMove(deps, await startMove(deps, cells.move(client)))).rejects.toThrow(Killed);
  }
  const ids = clients.map(({ projectId }) => projectId);
  await app.database.query(
    "update project_moves set lease_until = now() - interval '1 second' where project_id = any($1)",
    [ids],
  );
  // The one that is found first.
  const [first] = ids.toSorted();
  const allow = await refuseWrites(app.database, 'project_moves', first);
  const keeper = moveKeeper({
    cells: [
      { id: 1, name: 'source', db: app.app.db },
      { id: 2, name: 'target', db: there.db },
    ],
    owner: 'keeper',
    log: quietLog,
  });
  const open = () =>
    app.database.query('select id from projects where id = any($1) and cell_state is null', [ids]);
  keeper.start();
  keeper.wake();
  expect(await eventually(open, { length: atLeast(1) })).toEqual([{ id: ids.find((id) => id !== first) }]);
  await allow();
  keeper.wake();
  await eventually(open, { length: 2 });
  await keeper.stop();
});

test('a stopped move leaves the source as it was and nothing in the target, and the next one arrives', async () => {
  const { client } = await cells.project();
  const before = await rowsOf(cells.app.database, client.projectId);
  const deps = killedAt('written');
  const move = await startMove(deps, cells.move(client));
  await expect(runMove(deps, move)).rejects.toThrow(Killed);
  expect(await settleMove(deps, move, { isForced: true })).toBe('stopped');
  const after = await rowsOf(cells.app.database, client.projectId);
  for (const row of after['delivery_queue'] ?? []) row['fence'] = Number(row['fence']) - 1;
  Object.assign(after['projects']?.[0] ?? {}, {
    version: before['projects']?.[0]?.['version'],
    cell_epoch: 0,
  });
  // The node adds up counts in its own time.
  for (const table of ['recent_counts', 'traffic', 'endpoint_totals']) after[table] = before[table] ?? [];
  expect(after).toEqual(before);
  for (const [table, rows] of Object.entries(await rowsOf(cells.target, client.projectId)))
    expect(rows, table).toEqual([]);
  const { copied } = await moveProject(cells.deps(), cells.move(client));
  expect(copied).toBeGreaterThan(10);
  expect(await cells.openIn(client)).toEqual(['target']);
});

test('a mover that comes late to an abandoned move cannot switch', async () => {
  const { client } = await cells.project();
  let settled: Promise<unknown> = Promise.resolve();
  const deps = {
    ...cells.deps('late'),
    onStep: async (step: MoveStep) => {
      if (step !== 'written') return;
      // It removes the copied rows once the transaction of the mover has ended.
      settled = settleMove(cells.deps('other'), move, { isForced: true });
      await eventually(
        () => cells.target.query('select state from project_moves where project_id = $1', [client.projectId]),
        [{ state: 'abandoned' }],
      );
    },
  };
  const move = await startMove(deps, cells.move(client));
  await expect(runMove(deps, move)).rejects.toThrow(/taken over or stopped/);
  expect(await settled).toBe('stopped');
  expect(await cells.openIn(client)).toEqual(['source']);
});

test('no node can claim in the source once the project has closed, whatever it knows', async () => {
  const { client, paused } = await cells.project();
  const wants = [0, 1, 2, 3].map((lane) => ({ key: asId<never>(paused.uid), lane, count: 10 }));
  let claimed = -1;
  await moveProject(
    {
      ...cells.deps(),
      onStep: async (step) => {
        if (step !== 'closed') return;
        const claims = await claimDeliveries(cells.app.app.db, { nodeId: 'zombie', wants, free: 1_000 });
        claimed = claims.flatMap(({ deliveries }) => deliveries).length;
      },
    },
    cells.move(client),
  );
  expect(claimed).toBe(0);
});

test('a delivery that a node claims while the queue is parked keeps the project from closing', async () => {
  const { client } = await cells.project(1);
  const { database } = cells.app;
  // As a claim that comes between the look for claimed rows and the parking.
  await database.query(`create function claim_late() returns trigger language plpgsql as
    $$ begin new.node_id = 'late'; return new; end $$`);
  await database.query(`create trigger claim_late before update on delivery_queue for each row
    when (new.project_id = '${client.projectId}' and new.due_at > old.due_at + interval '1 year')
    execute function claim_late()`);
  const moving = moveProject({ ...cells.deps(), drainMs: 300 }, cells.move(client));
  await expect(moving).rejects.toThrow(/1 deliveries of the project did not end/);
  await database.query('drop function claim_late cascade');
  expect(await cells.openIn(client)).toEqual(['source']);
});
