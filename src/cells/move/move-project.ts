import { setTimeout as sleep } from 'node:timers/promises';
import { StartupError } from '../../platform/startup-error.ts';
import { takenName } from '../../store/cells/cell-facts.ts';
import { CopySession, readShapes, type TableShape } from '../../store/cells/copy-rows.ts';
import { stillOpen, writersNow } from '../../store/cells/open-transactions.ts';
import { parkChunk } from '../../store/cells/queue-parking.ts';
import { registry } from '../../store/cells/registry.ts';
import {
  beginDraining,
  beginMove,
  closeProject,
  endMove,
  heldRows,
  type Move,
  nodesBehind,
  parkLate,
} from '../../store/cells/source-moves.ts';
import { expectProject, removeMovedRows, removeRows } from '../../store/cells/target-moves.ts';
import type { Queryable } from '../../store/database/database.ts';
import { askForSeenConfig } from '../../store/database/notify-nodes.ts';
import { isConnectionError } from '../../store/database/pg-errors.ts';
import { copyHistory, copyRound, type Sessions } from './copy-history.ts';
import { type MoveDeps, Mover } from './mover.ts';
import { type Settled, settleMove } from './settle-move.ts';
import { switchProject } from './switch-project.ts';
import { refuseFuture } from './wait-for-clock.ts';

/**
 * Moves a project from one cell to another while it works:
 *
 *   copy    -> its history, in the background
 *   drain   -> its deliveries wait; those under way end; what changed in its history is copied
 *   close   -> calls are refused; its queue is parked; every transaction that may write rows of it has ended
 *   switch  -> the rest is copied, and the project is open in the target by one commit there
 *   end     -> the source says that it has moved
 *
 * Before the switch a failure opens the project again where it was. A mover that is killed leaves that to another process
 * (settle-move.ts), also after the switch.
 */
export interface MoveResult {
  copied: number;
  closedMs: number;
}

export async function moveProject(deps: MoveDeps, wanted: Omit<Move, 'epoch'>): Promise<MoveResult> {
  const move = await startMove(deps, wanted);
  try {
    return await runMove(deps, move);
  } catch (error) {
    const outcome = await settlePatiently(deps, move).catch((reason: Error) => {
      throw new StartupError(
        `${(error as Error).message}; the move could not be settled either (${reason.message}): a node does it later, or this command with --stop`,
        { cause: error },
      );
    });
    // The answer to the switch was lost.
    if (outcome === 'done') return { copied: 0, closedMs: 0 };
    throw error;
  }
}

const PATIENCE_MS = 30_000;
const TRY_AGAIN_MS = 250;

/** A server that was killed is back soon. Another process would settle the move only after the lease of this one. */
async function settlePatiently(deps: MoveDeps, move: Move): Promise<Settled> {
  const giveUpAt = performance.now() + PATIENCE_MS;
  for (;;)
    try {
      return await settleMove(deps, move, { isForced: true });
    } catch (error) {
      if (!isConnectionError(error) || performance.now() > giveUpAt) throw error;
      await sleep(TRY_AGAIN_MS);
    }
}

/** Records the move, so that no other one can begin. */
export async function startMove(deps: MoveDeps, wanted: Omit<Move, 'epoch'>): Promise<Move> {
  await refuseObstacles(deps, wanted.projectId);
  const move = await beginMove(deps.source, wanted, deps.owner);
  if (move === undefined)
    throw new StartupError(
      `project ${wanted.projectId} is not open in cell ${wanted.fromCell}, or moves already`,
    );
  return move;
}

/** Every step of a move that is begun. A failure leaves it as it is: `settleMove` ends it. */
export async function runMove(deps: MoveDeps, move: Move): Promise<MoveResult> {
  const mover = new Mover(deps, move);
  const opened: CopySession[] = [];
  const open = async (db: MoveDeps['source']) => {
    const session = await CopySession.open(db);
    opened.push(session);
    return session;
  };
  try {
    if (!(await expectProject(deps.target, move)))
      throw new StartupError(`the target has project ${move.projectId} already`);
    const sessions = { source: await open(deps.source), target: await open(deps.target) };
    await mover.step('begun');
    return await runSteps(mover, sessions);
  } finally {
    await mover.stop();
    await Promise.all(opened.map((session) => session.close()));
  }
}

async function runSteps(mover: Mover, sessions: Sessions): Promise<MoveResult> {
  const { deps, move } = mover;
  const { source, target, owner } = deps;
  const shapes = await readShapes(sessions.source);
  await removeRows(target, move, { during: 'copying' });
  const copied = await copyHistory(mover, sessions, shapes);
  await mover.step('copied');
  const drainedAtMs = await beginDraining(source, move, owner);
  await mover.step('draining');
  await drain(mover, drainedAtMs);
  const mark = await copyRound(mover, { sessions, shapes, since: copied });
  await mover.step('drained');
  await refuseFuture(deps, move.projectId);
  const closing = performance.now();
  const closedAtMs = await closeProject(source, move, owner);
  await mover.step('closed');
  const ready = seenByNodes(mover, closedAtMs);
  ready.catch(() => {});
  await writersEnd(mover);
  await parkLate(source, move, owner);
  await switchProject(mover, { sessions, shapes, mark, ready });
  const closedMs = performance.now() - closing;
  await mover.step('switched');
  await endMove(source, move, owner);
  await mover.step('ended');
  await removeMovedRows(source, move);
  return { copied: mover.copied, closedMs };
}

/** No request takes longer than 120 s. */
const DRAIN_MS = 130_000;
const SEEN_MS = 15_000;
const WRITERS_MS = 30_000;
/** A node that keeps a rate lease for longer gives away how many sends it counted. */
const LEASES_MS = 5_000;
const PAUSE_MS = 50;

/** Until no node has a delivery of the project, and none can take one. */
async function drain(mover: Mover, atMs: number): Promise<void> {
  const { source } = mover.deps;
  const { projectId } = mover.move;
  await seenByNodes(mover, atMs);
  await writersEnd(mover);
  await deliveriesEnd(mover);
  // Most of the queue is parked before the project closes, so that it closes quickly.
  for (let after: string | null = ''; after !== null; after = await parkChunk(source, projectId, after))
    mover.check();
  // A claim may have come before the row was parked.
  await deliveriesEnd(mover);
}

async function deliveriesEnd(mover: Mover): Promise<void> {
  const { source, drainMs = DRAIN_MS } = mover.deps;
  await until(mover, drainMs, async (waitedMs) => {
    const { rows, leases } = await heldRows(source, mover.move.projectId);
    if (rows === 0 && (leases === 0 || waitedMs > LEASES_MS)) return null;
    return `${rows} deliveries of the project did not end within ${drainMs / 1000} s`;
  });
}

async function seenByNodes(mover: Mover, atMs: number): Promise<void> {
  const { source } = mover.deps;
  await askForSeenConfig(source);
  await until(mover, SEEN_MS, async () => {
    const behind = await nodesBehind(source, atMs);
    return behind.length === 0 ? null : `these nodes do not read the config: ${behind.join(', ')}`;
  });
}

/** Until every transaction has ended that may not know of the last step. */
async function writersEnd(mover: Mover): Promise<void> {
  const { source } = mover.deps;
  const writers = await writersNow(source);
  await until(mover, WRITERS_MS, async () =>
    (await stillOpen(source, writers)) === 0 ? null : 'a transaction of the source does not end',
  );
}

async function until(
  mover: Mover,
  mostMs: number,
  problem: (waitedMs: number) => Promise<string | null>,
): Promise<void> {
  const begun = performance.now();
  for (;;) {
    mover.check();
    const waitedMs = performance.now() - begun;
    const found = await problem(waitedMs);
    if (found === null) return;
    if (waitedMs > mostMs) throw new StartupError(found);
    await sleep(PAUSE_MS);
  }
}

/** Refuses a move that would fail at its end. */
export async function refuseObstacles(
  deps: { source: Queryable; target: Queryable },
  projectId: string,
): Promise<void> {
  await refuseOtherSchema(deps);
  const name = await takenName(deps, projectId);
  if (name !== null)
    throw new StartupError(`the target has another project named ${name}: rename one of the two first`);
  await refuseFuture(deps, projectId);
}

/** Both databases need the same columns, in any order. */
async function refuseOtherSchema(deps: { source: Queryable; target: Queryable }): Promise<void> {
  const [source, target] = await Promise.all([readShapes(deps.source), readShapes(deps.target)]);
  const different = Object.keys(registry).filter(
    (table) => namesOf(source.get(table)) !== namesOf(target.get(table)),
  );
  if (different.length > 0)
    throw new StartupError(
      `the schemas of the two cells differ (${different.join(', ')}): run posthorn migrate first`,
    );
}

const namesOf = (shape: TableShape | undefined): string => shape?.columns.toSorted().join() ?? '';
