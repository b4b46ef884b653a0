import {
  endMove,
  type Move,
  MoveLost,
  moveState,
  reopenProject,
  takeMove,
} from '../../store/cells/source-moves.ts';
import { abandon, removeMovedRows, removeRows } from '../../store/cells/target-moves.ts';
import type { MoveDeps } from './mover.ts';

/**
 * Ends a move whose mover is gone, or is to stop: `done` if the target has the project, else it is open again where it was.
 * Exactly one of the two: the decision is one row of the target. `running`: its mover is alive, and was not to be stopped.
 * Any number of processes may call it, again and again.
 */
export type Settled = 'done' | 'stopped' | 'running';

type SettleDeps = Pick<MoveDeps, 'source' | 'target' | 'owner'>;

export async function settleMove(
  deps: SettleDeps,
  move: Move,
  { isForced }: { isForced: boolean },
): Promise<Settled> {
  try {
    return await settle(deps, move, isForced);
  } catch (error) {
    if (!(error instanceof MoveLost)) throw error;
    // Another process settles it at the same time.
    return endOf(await moveState(deps.source, move));
  }
}

async function settle(deps: SettleDeps, move: Move, isForced: boolean): Promise<Settled> {
  const { source, target, owner } = deps;
  const state = await takeMove(source, move, { owner, isForced });
  if (state === undefined) return endOf(await moveState(source, move));
  // A project that has not closed cannot arrive: its source takes no further step from the mover before.
  if (state !== 'closed') await reopenProject(source, move, owner);
  const decision = await abandon(target, move);
  if (state === 'closed' && decision === 'arrived') {
    await endMove(source, move, owner);
    await removeMovedRows(source, move);
    return 'done';
  }
  if (state === 'closed') await reopenProject(source, move, owner);
  await removeCopied(deps, move);
  return 'stopped';
}

/** Another move to the same cell may begin meanwhile: it removes them itself. */
async function removeCopied({ target }: SettleDeps, move: Move): Promise<void> {
  try {
    await removeRows(target, move, { during: 'abandoned' });
  } catch (error) {
    if (!(error instanceof MoveLost)) throw error;
  }
}

function endOf(state: Awaited<ReturnType<typeof moveState>>): Settled {
  if (state === 'done' || state === 'stopped') return state;
  return state === undefined ? 'stopped' : 'running';
}
