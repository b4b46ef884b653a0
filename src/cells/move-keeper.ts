import type { Logger } from '../platform/logger.ts';
import { Loop } from '../platform/loop.ts';
import { abandonedMoves, type OpenMove, uncleanMoves } from '../store/cells/source-moves.ts';
import { removeMovedRows } from '../store/cells/target-moves.ts';
import { eachProject } from '../store/config/each-project.ts';
import type { Database } from '../store/database/database.ts';
import { settleMove } from './move/settle-move.ts';

/** Ends the moves whose mover is gone, so that no project stays closed. Any number of processes may do it at a time. */
const EVERY_MS = 5_000;

export interface KeptMoves {
  cells: readonly { id: number; name: string; db: Database }[];
  /** Names this process in the record of a move. */
  owner: string;
  log: Logger;
}

export const moveKeeper = (deps: KeptMoves): Loop =>
  new Loop({
    turn: async (signal) => {
      await Promise.all(deps.cells.map((cell) => settleFrom(deps, cell, signal)));
    },
    onError: (error) => deps.log.warn({ err: error }, 'could not look for moves of projects'),
    everyMs: EVERY_MS,
  });

/** A cell that is away is looked at in a later turn. So is a move that cannot be settled. */
async function settleFrom(
  { cells, owner, log }: KeptMoves,
  source: KeptMoves['cells'][number],
  signal: AbortSignal,
): Promise<void> {
  const settle = async (move: OpenMove) => {
    const target = cells.find(({ id }) => id === move.toCell);
    if (target === undefined) return;
    const between = { source: source.db, target: target.db, owner };
    const outcome = await settleMove(between, move, { isForced: false });
    log.warn(
      { project: move.projectId, from: source.name, to: target.name, outcome },
      'settled the move of a project whose mover is gone',
    );
  };
  const failed = (project: string | undefined, error: unknown) =>
    log.debug({ cell: source.name, project, err: error }, 'could not settle moves of projects');
  try {
    const each = { failed, signal };
    await eachProject({ ...each, find: () => abandonedMoves(source.db), act: (_, [move]) => settle(move) });
    await eachProject({
      ...each,
      find: () => uncleanMoves(source.db),
      act: (_, [move]) => removeMovedRows(source.db, move),
    });
  } catch (error) {
    failed(undefined, error);
  }
}
