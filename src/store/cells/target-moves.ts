import type { Database, Queryable } from '../database/database.ts';
import { notifyNodes } from '../database/notify-nodes.ts';
import { ANYWHERE, DUE_CHANNEL } from '../limits/rate-leases.ts';
import { historyTables, switchTables } from './registry.ts';
import { type Move, MoveLost } from './source-moves.ts';

/**
 * The side of a move that the project goes to. The row of the move is the decision: `copying` becomes `arrived` in the
 * transaction that brings the project, or `abandoned`. The first commit decides. While it is `copying` the mover may write
 * rows of the project, and no other process may remove them; once it is `abandoned` it is the other way round.
 */
/** `over`: abandoned, and a later move has begun. */
export type Decision = 'copying' | 'arrived' | 'abandoned' | 'over';

/** False: the target has the project, or a decision for this epoch. */
export async function expectProject(db: Database, move: Move): Promise<boolean> {
  return db.transaction(async (tx) => {
    const there = await tx.query(
      "select 1 from projects where id = $1 and cell_state is distinct from 'moved' for update",
      [move.projectId],
    );
    if (there.length > 0) return false;
    // A process that still copies or removes rows for an earlier move stops here.
    await tx.query(
      "update project_moves set state = 'over' where project_id = $1 and epoch < $2 and state in ('copying', 'abandoned')",
      [move.projectId, move.epoch],
    );
    const expected = await tx.query(
      `insert into project_moves (project_id, epoch, from_cell, to_cell, state) values ($1, $2, $3, $4, 'copying')
       on conflict do nothing returning 1`,
      [move.projectId, move.epoch, move.fromCell, move.toCell],
    );
    return expected.length > 0;
  });
}

/** Keeps the decision from being made until the end of the transaction. */
export async function stayWhile(tx: Queryable, move: Move, decision: Decision): Promise<void> {
  const rows = await tx.query(
    'select 1 from project_moves where project_id = $1 and epoch = $2 and state = $3 for share',
    [move.projectId, move.epoch, decision],
  );
  if (rows.length === 0) throw new MoveLost();
}

/** The last statements of the transaction that brings the project. */
export async function arrive(tx: Queryable, { projectId, epoch }: Move): Promise<void> {
  const decided = await tx.query(
    `update project_moves set state = 'arrived', ended_at = clock_timestamp()
     where project_id = $1 and epoch = $2 and state = 'copying' returning 1`,
    [projectId, epoch],
  );
  if (decided.length === 0) throw new MoveLost();
  await notifyNodes(tx, projectId);
  await tx.query('select pg_notify($1, $2)', [DUE_CHANNEL, ANYWHERE]);
}

/** Decides that the project stays where it is, unless it has arrived. Returns the decision. */
export async function abandon(db: Database, move: Move): Promise<Decision> {
  return db.transaction(async (tx) => {
    // A mover that has made the decision and not committed it cannot keep this waiting.
    await tx.query("set local lock_timeout = '5s'");
    await tx.query(
      `insert into project_moves as m (project_id, epoch, from_cell, to_cell, state, ended_at)
       values ($1, $2, $3, $4, 'abandoned', clock_timestamp())
       on conflict (project_id, epoch) do update set state = 'abandoned', ended_at = clock_timestamp()
       where m.state = 'copying'`,
      [move.projectId, move.epoch, move.fromCell, move.toCell],
    );
    const [row] = await tx.query<{ state: Decision }>(
      'select state from project_moves where project_id = $1 and epoch = $2',
      [move.projectId, move.epoch],
    );
    return row?.state ?? 'abandoned';
  });
}

const CHUNK = 1_000;

/**
 * Removes the project's rows, in chunks: what a stopped move copied, or what is left from an earlier stay. `during`: the
 * decision that gives the right to.
 */
export async function removeRows(db: Database, move: Move, { during }: { during: Decision }): Promise<void> {
  for (const { table, by } of historyTables)
    await removeInChunks(db, move, { remove: ofHistory(table, by), during });
  for (const { table, rows } of switchTables)
    await removeInChunks(db, move, { remove: ofSwitch(table, rows), during });
}

/** A caller with one of these learns that the project has moved. They go with its row. */
const WAYS_IN: ReadonlySet<string> = new Set([
  'projects',
  'api_keys',
  'portal_links',
  'portal_tokens',
  'sources',
]);

/** The rows that went with the switch, where the project was. Its history goes with its age. */
export async function removeMovedRows(db: Database, move: Move): Promise<void> {
  for (const { table, rows } of switchTables)
    if (!WAYS_IN.has(table)) await removeInChunks(db, move, { remove: ofSwitch(table, rows), during: null });
  // A move without an owner needs no more work: the keeper does not look at its rows again.
  await db.query(
    "update project_moves set owner = null where project_id = $1 and epoch = $2 and state = 'done'",
    [move.projectId, move.epoch],
  );
}

/** The project is not open here: its rows are no one's. */
const IS_ELSEWHERE =
  "not exists (select from projects p where p.id = $1 and p.cell_state is distinct from 'moved')";

const ofHistory = (table: string, by: string): string =>
  `delete from ${table} where project_id = $1 and ${IS_ELSEWHERE} and ${by} <= (
     select max(${by}) from (select ${by} from ${table} where project_id = $1 order by ${by} limit ${CHUNK}) first)
   returning 1`;

const ofSwitch = (table: string, rows: string): string =>
  `delete from ${table} where ctid = any(array(
     select ctid from ${table} where (${rows.replaceAll(':project', '$1')}) and ${IS_ELSEWHERE} limit ${CHUNK}))
   returning 1`;

async function removeInChunks(
  db: Database,
  move: Move,
  { remove, during }: { remove: string; during: Decision | null },
): Promise<void> {
  for (let removed = 1; removed > 0; )
    removed = await db.transaction(async (tx) => {
      if (during !== null) await stayWhile(tx, move, during);
      return (await tx.query(remove, [move.projectId])).length;
    });
}
