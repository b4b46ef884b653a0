import type { ProjectId } from '../../domain/ids.ts';
import type { Database, Queryable } from '../database/database.ts';
import { SILENT_SECONDS } from '../database/node-lease.ts';
import { notifyNodes } from '../database/notify-nodes.ts';
import { parkAll, parkLeased, unparkAll } from './queue-parking.ts';

/**
 * The side of a move that the project leaves. Each step is one transaction that locks the project whole, so that it waits
 * for changes under way (`refuseMoving`) and config changes wait for it. It names the owner of the move: one that has lost
 * it to another process changes nothing.
 *
 *   copying  -> the project works as ever
 *   draining -> it accepts events, and nothing of it is sent
 *   closed   -> nothing of it changes; the target decides whether it arrives
 *   done     -> the target has it
 *   stopped  -> it is open here again
 */
export interface Move {
  projectId: string;
  /** That of the project after the move. */
  epoch: number;
  fromCell: number;
  toCell: number;
}

export type MoveState = 'copying' | 'draining' | 'closed' | 'done' | 'stopped';

export interface OpenMove extends Move {
  state: MoveState;
  closedAtMs: number | null;
}

/** Another process has the move. */
export class MoveLost extends Error {
  override readonly name = 'MoveLost';

  constructor() {
    super('the move was taken over or stopped by another process');
  }
}

/** It was deleted while it was copied. */
export class ProjectGone extends Error {
  override readonly name = 'ProjectGone';

  constructor() {
    super('the project was deleted meanwhile');
  }
}

const LEASE = "clock_timestamp() + interval '15 seconds'";
const OPEN = "state in ('copying', 'draining', 'closed')";
const COLUMNS = `project_id as "projectId", epoch, from_cell as "fromCell", to_cell as "toCell", state,
  closed_at as "closedAtMs"`;
const MINE = 'project_id = $1 and epoch = $2 and owner = $3';

const mine = ({ projectId, epoch }: Move, owner: string) => [projectId, epoch, owner];

/** Undefined: no move of the project is under way. */
export async function openMove(db: Queryable, projectId: string): Promise<OpenMove | undefined> {
  const [move] = await db.query<OpenMove>(
    `select ${COLUMNS} from project_moves where project_id = $1 and ${OPEN} and owner is not null
     order by epoch desc limit 1`,
    [projectId],
  );
  return move;
}

/** Whether the project lives here, open or not. */
export async function projectHere(db: Queryable, projectId: string): Promise<boolean> {
  const rows = await db.query('select 1 from projects where id = $1 and deleted_at is null', [projectId]);
  return rows.length > 0;
}

interface OfProject {
  projectId: ProjectId;
}

/** Moves whose mover is silent. */
export function abandonedMoves(db: Queryable): Promise<(OpenMove & OfProject)[]> {
  return db.query(
    `select ${COLUMNS} from project_moves where ${OPEN} and lease_until < clock_timestamp() order by project_id`,
  );
}

/** Moves that are done, and whose mover ended before it had removed all rows of the project (`removeMovedRows`). */
export function uncleanMoves(db: Queryable): Promise<(Move & OfProject)[]> {
  return db.query(
    `select ${COLUMNS} from project_moves m
     where state = 'done' and owner is not null and lease_until < clock_timestamp()
       and exists (select from projects p where p.id = m.project_id and p.cell_state = 'moved')
     order by project_id`,
  );
}

/** Undefined: there is no such project here, or it moves already. */
export async function beginMove(
  db: Database,
  { projectId, fromCell, toCell }: Omit<Move, 'epoch'>,
  owner: string,
): Promise<Move | undefined> {
  return db.transaction(async (tx) => {
    const [project] = await tx.query<{ cell_epoch: number }>(
      'select cell_epoch from projects where id = $1 and deleted_at is null and cell_state is null for update',
      [projectId],
    );
    if (project === undefined || (await openMove(tx, projectId)) !== undefined) return undefined;
    const epoch = project.cell_epoch + 1;
    await tx.query(
      `insert into project_moves (project_id, epoch, from_cell, to_cell, state, owner, lease_until)
       values ($1, $2, $3, $4, 'copying', $5, ${LEASE})`,
      [projectId, epoch, fromCell, toCell, owner],
    );
    return { projectId, epoch, fromCell, toCell };
  });
}

/** Renews the lease and says how many rows are copied. */
export async function renewMove(
  db: Queryable,
  move: Move,
  of: { owner: string; copied: number },
): Promise<void> {
  const renewed = await db.query(
    `update project_moves set lease_until = ${LEASE}, copied = $4 where ${MINE} and ${OPEN} returning 1`,
    [...mine(move, of.owner), of.copied],
  );
  if (renewed.length === 0) throw new MoveLost();
}

/** Makes this process the owner. `isForced`: even if the mover is alive. Returns its state. Undefined: it is, or the move has ended. */
export async function takeMove(
  db: Queryable,
  move: Move,
  { owner, isForced }: { owner: string; isForced: boolean },
): Promise<MoveState | undefined> {
  const [taken] = await db.query<{ state: MoveState }>(
    `update project_moves set owner = $3, lease_until = ${LEASE}
     where project_id = $1 and epoch = $2 and ${OPEN} and ($4 or lease_until < clock_timestamp()) returning state`,
    [...mine(move, owner), isForced],
  );
  return taken?.state;
}

export async function moveState(db: Queryable, { projectId, epoch }: Move): Promise<MoveState | undefined> {
  const [row] = await db.query<{ state: MoveState }>(
    'select state from project_moves where project_id = $1 and epoch = $2',
    [projectId, epoch],
  );
  return row?.state;
}

interface Step {
  from: readonly MoveState[];
  to: MoveState;
  /** SQL of the project's columns. */
  project: string;
}

/** The version goes up with each step: nodes learn it as config. */
async function step(
  db: Database,
  move: Move,
  { from, to, project, owner, work }: Step & { owner: string; work(tx: Queryable): Promise<void> },
): Promise<number> {
  return db.transaction(async (tx) => {
    await tx.query("set local statement_timeout = '300s'");
    await tx.query('select id from projects where id = $1 for update', [move.projectId]);
    const moved = await tx.query<{ at: number }>(
      `update project_moves set state = $4, lease_until = ${LEASE},
         closed_at = case when $4 = 'closed' then clock_timestamp() else closed_at end,
         ended_at = case when $4 in ('done', 'stopped') then clock_timestamp() end
       where ${MINE} and state = any($5) returning extract(epoch from clock_timestamp())::float8 * 1000 as at`,
      [...mine(move, owner), to, from],
    );
    const [at] = moved;
    if (at === undefined) throw new MoveLost();
    const changed = await tx.query(
      `update projects set version = version + 1, ${project} where id = $1 and deleted_at is null returning 1`,
      [move.projectId],
    );
    // A project that is deleted while it is copied stays deleted.
    if (changed.length === 0 && to !== 'stopped') throw new ProjectGone();
    await work(tx);
    await notifyNodes(tx, move.projectId);
    return at.at;
  }, 310_000);
}

/** The database's time from which on nodes may know it. */
export function beginDraining(db: Database, move: Move, owner: string): Promise<number> {
  const draining = { from: ['copying'], to: 'draining', project: "cell_state = 'draining'" } as const;
  return step(db, move, { ...draining, owner, work: (tx) => parkLeased(tx, move.projectId) });
}

const FREE_RATE_LEASES = `update rate_leases set node_id = null, epoch = epoch + 1, sends = null, quiet_since = clock_timestamp()
  where node_id is not null and endpoint_id in (select id from endpoints where project_id = $1)`;

/** Returns the database's time. */
export function closeProject(db: Database, move: Move, owner: string): Promise<number> {
  const closed = { from: ['draining'], to: 'closed', project: "cell_state = 'closed'" } as const;
  const work = async (tx: Queryable) => {
    await parkAll(tx, move.projectId);
    await tx.query(FREE_RATE_LEASES, [move.projectId]);
  };
  return step(db, move, { ...closed, owner, work });
}

/** Parks what a transaction stored that began before the project closed. Call when all of those have ended. */
export async function parkLate(db: Database, move: Move, owner: string): Promise<void> {
  await db.transaction(async (tx) => {
    const mineStill = await tx.query(
      `select 1 from project_moves where ${MINE} and state = 'closed' for update`,
      mine(move, owner),
    );
    if (mineStill.length === 0) throw new MoveLost();
    await parkAll(tx, move.projectId);
  });
}

/** The project is open here again. A later move has another epoch. */
export async function reopenProject(db: Database, move: Move, owner: string): Promise<void> {
  const open = {
    from: ['copying', 'draining', 'closed'],
    to: 'stopped',
    project: `cell_state = null, cell_epoch = ${move.epoch}`,
  } as const;
  await step(db, move, { ...open, owner, work: (tx) => unparkAll(tx, move.projectId) });
}

/** The target has the project. The rest of its rows goes in chunks, its history with its age. */
export async function endMove(db: Database, move: Move, owner: string): Promise<void> {
  const moved = {
    from: ['closed'],
    to: 'done',
    project: `cell_state = 'moved', deleted_at = now(), cell_epoch = ${move.epoch}`,
  } as const;
  // The target has the slots of customers' databases now. They must not be dropped for a source that is gone here.
  const work = async (tx: Queryable) => {
    await tx.query('delete from change_stream_slots where project_id = $1', [move.projectId]);
  };
  await step(db, move, { ...moved, owner, work });
}

/** How much of the project nodes still have. */
export async function heldRows(db: Queryable, projectId: string): Promise<{ rows: number; leases: number }> {
  const [held] = await db.query<{ rows: number; leases: number }>(
    `select (select count(*)::int from delivery_queue where project_id = $1 and node_id is not null) as rows,
       (select count(*)::int from rate_leases where node_id is not null
          and endpoint_id in (select id from endpoints where project_id = $1)) as leases`,
    [projectId],
  );
  return held ?? { rows: 0, leases: 0 };
}

/** Nodes at work that have not seen the config of a time. */
export async function nodesBehind(db: Queryable, atMs: number): Promise<string[]> {
  const rows = await db.query<{ id: string }>(
    `select id from nodes where beat_at > clock_timestamp() - interval '${SILENT_SECONDS} seconds'
       and coalesce(config_seen_at < to_timestamp($1::float8 / 1000), true) order by id`,
    [atMs],
  );
  return rows.map(({ id }) => id);
}
