import type { Logger } from '../platform/logger.ts';
import { Loop } from '../platform/loop.ts';
import { abandonedMoves, uncleanMoves } from '../store/cells/source-moves.ts';
import { removeMovedRows } from '../store/cells/target-moves.ts';
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

export function moveKeeper(deps: KeptMoves): Loop {
  return new Loop({
    turn: async () => {
      await Promise.all(deps.cells.map((cell) => settleFrom(deps, cell)));
    },
    onError: (error) => deps.log.warn({ err: error }, 'could not look for moves of projects'),
    everyMs: EVERY_MS,
  });
}

/** A cell that is away is looked at in a later turn. So are the moves to it. */
async function settleFrom(
  { cells, owner, log }: KeptMoves,
  source: KeptMoves['cells'][number],
): Promise<void> {
  try {
    for (const move of await abandonedMoves(source.db)) {
      const target = cells.find(({ id }) => id === move.toCell);
      if (target === undefined) continue;
      const outcome = await settleMove({ source: source.db, target: target.db, owner }, move, {
        isForced: false,
      });
      log.warn(
        { project: move.projectId, from: source.name, to: target.name, outcome },
        'settled the move of a project whose mover is gone',
      );
    }
    for (const move of await uncleanMoves(source.db)) await removeMovedRows(source.db, move);
  } catch (error) {
    log.debug({ cell: source.name, err: error }, 'could not settle moves of projects');
  }
}
