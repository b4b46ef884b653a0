import pg from 'pg';
import { expect, onTestFinished, test } from 'vitest';
import { moveProject, runMove, startMove } from '../../src/cells/move/move-project.ts';
import type { MoveStep } from '../../src/cells/move/mover.ts';
import { settleMove } from '../../src/cells/move/settle-move.ts';
import { asId } from '../../src/domain/ids.ts';
import { takeMove } from '../../src/store/cells/source-moves.ts';
import { claimDeliveries } from '../../src/store/queue/claim.ts';
import { TwoCells } from '../cells/two-cells.ts';
import { atLeast, eventually } from '../support/eventually.ts';
import { shared } from '../support/shared.ts';

/** Counterexamples of the model `move`, step by step. Names in brackets are those of model/README.md. */
const cells = await shared(TwoCells.start());
/** A transaction that stores a delivery as an accept does, and stays open until the test commits it. */
class OpenAccept {
  readonly #client = new pg.Client(cells.app.database.url);

  async begin(delivery: string): Promise<void> {
    await this.#client.connect();
    onTestFinished(() => this.#client.end());
    await this.#client.query('begin');
    const twin = `${delivery.slice(0, -1)}${delivery.endsWith('Z') ? 'Y' : 'Z'}`;
    // The queue of the project is parked by now, and a new row is not.
    for (const [table, id, changes] of [
      ['event_deliveries', 'id', {}],
      ['delivery_queue', 'delivery_id', { due_at: new Date().toISOString() }],
    ] as const)
      await this.#client.query(
        `insert into ${table} select (jsonb_populate_record(r, $2::jsonb)).* from ${table} r where ${id} = $1`,
        [delivery, { [id]: twin, ...changes }],
      );
  }

  /** Resolves when the mover has looked whether it has ended. */
  async isAwaited(): Promise<void> {
    const { rows } = await this.#client.query('select extract(epoch from clock_timestamp())::float8 as at');
    await eventually(
      () =>
        cells.app.database.query(
          "select 1 from pg_stat_activity where query like '%virtualtransaction = any%' and query_start > to_timestamp($1) and pid <> pg_backend_pid()",
          [rows[0].at],
        ),
      { length: atLeast(1) },
    );
  }

  async commit(): Promise<void> {
    await this.#client.query('commit');
  }
}

test('an accept from before the close moves too, and no node can claim it in the source [WAITS_FOR_WRITERS, PARKS_AGAIN]', async () => {
  const { client, paused } = await cells.project(1);
  const { content } = await client.get('/eventdeliveries');
  const accept = new OpenAccept();
  let committed: Promise<void> | undefined;
  let claimed = -1;
  const onStep = async (step: MoveStep) => {
    if (step === 'drained') await accept.begin(content[0].uid);
    // The mover must wait for it now. One that does not comes to `written`.
    if (step === 'closed') void accept.isAwaited().then(() => (committed ??= accept.commit()));
    if (step !== 'written') return;
    await (committed ??= accept.commit());
    const wants = [0, 1, 2, 3].map((lane) => ({ key: asId<never>(paused.uid), lane, count: 10 }));
    const claims = await claimDeliveries(cells.app.app.db, { nodeId: 'zombie', wants, free: 1_000 });
    claimed = claims.flatMap(({ deliveries }) => deliveries).length;
  };
  await moveProject({ ...cells.deps(), onStep }, cells.move(client));
  expect(claimed).toBe(0);
  const there = cells.other(client);
  await there.put(`/endpoints/${paused.uid}/pause`);
  await eventually(() => there.get('/eventdeliveries?status=Success'), { content: { length: 2 } });
});

test('a mover that another process took for dead takes no further step [OWNED_STEPS]', async () => {
  const { client } = await cells.project(1);
  const other = cells.deps('other');
  const taken: unknown[] = [];
  const deps = {
    ...cells.deps('first'),
    onStep: async (step: MoveStep) => {
      if (step === 'drained')
        taken.push(await takeMove(other.source, move, { owner: other.owner, isForced: true }));
    },
  };
  const move = await startMove(deps, cells.move(client));
  await expect(runMove(deps, move)).rejects.toThrow(/taken over or stopped/);
  expect(taken).toEqual(['draining']);
  expect(await settleMove(other, move, { isForced: true })).toBe('stopped');
  expect(await cells.openIn(client)).toEqual(['source']);
});

test('a mover of an earlier move cannot arrive in a later one [EPOCHS]', async () => {
  const { client } = await cells.project(1);
  const [begun, ended] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  /** It waits at its beginning: the target expects the project again. */
  const second = {
    ...cells.deps('second'),
    onStep: async (step: MoveStep) => {
      if (step !== 'begun') return;
      begun.resolve();
      await ended.promise;
    },
  };
  let later: Promise<unknown> = Promise.resolve();
  const first = {
    ...cells.deps('first'),
    onStep: async (step: MoveStep) => {
      if (step !== 'written') return;
      // It removes what was copied once this mover's transaction has ended.
      void settleMove(second, move, { isForced: true });
      await eventually(() => cells.openIn(client), { length: 1 });
      later = moveProject(second, cells.move(client));
      await begun.promise;
    },
  };
  const move = await startMove(first, cells.move(client));
  await expect(runMove(first, move)).rejects.toThrow(/taken over or stopped/);
  expect(await cells.openIn(client)).toEqual(['source']);
  ended.resolve();
  await later;
  expect(await cells.openIn(client)).toEqual(['target']);
});
