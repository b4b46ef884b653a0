import { randomUUID } from 'node:crypto';
import { moveProject, refuseObstacles } from '../../cells/move/move-project.ts';
import type { MoveStep } from '../../cells/move/mover.ts';
import { settleMove } from '../../cells/move/settle-move.ts';
import { StartupError } from '../../platform/startup-error.ts';
import type { Config } from '../../settings/settings.ts';
import type { Cell } from '../../store/cells/cells.ts';
import { countRows } from '../../store/cells/registry.ts';
import { type OpenMove, openMove, projectHere } from '../../store/cells/source-moves.ts';
import type { Database } from '../../store/database/database.ts';
import { SILENT_SECONDS } from '../../store/database/node-lease.ts';
import { liveNodes } from '../../store/queue/nodes.ts';
import type { Given } from '../terminal/command.ts';
import { counted, line } from '../terminal/output.ts';
import { type Cells, withCells } from './with-cells.ts';

/**
 * Moves a project to another cell. A move that an earlier command left behind is settled first. `--stop` ends one that is
 * under way, also that of a command that still runs.
 */
export async function moveProjectCommand(config: Config, given: Given): Promise<void> {
  const id = given.operand();
  await withCells(config, async (cells) => {
    const left = await findMove(cells, id);
    if (given.has('stop')) return stop(cells, left, id);
    const to = cells.named(given.required('to'));
    if (left !== undefined) await settleLeft(cells, left);
    const from = await findProject(cells, id);
    if (from.id === to.id) throw new StartupError(`project ${id} is in cell ${to.name} already`);
    const deps = { source: cells.db(from), target: cells.db(to), owner: randomUUID() };
    await refuseObstacles(deps, id);
    await refuseUnserved(cells, to);
    if (given.has('dry-run')) return preview({ ...deps, from, to }, id);
    const progress = new Progress();
    const move = { projectId: id, fromCell: from.id, toCell: to.id };
    const { copied, closedMs } = await moveProject({ ...deps, ...progress.hooks }, move);
    line(
      `Project ${id} is in cell ${to.name}: ${counted(copied, 'row')} copied, closed for ${(closedMs / 1000).toFixed(1)} s.`,
    );
  });
}

/** A process that does not serve the target would answer 404 for the project. */
async function refuseUnserved(cells: Cells, to: Cell): Promise<void> {
  const at = async (db: Database) => (await liveNodes(db, SILENT_SECONDS)).length;
  const [all, there] = await Promise.all([at(cells.home), at(cells.db(to))]);
  if (there < all)
    throw new StartupError(
      `${there} of ${all} running nodes serve cell ${to.name}: restart the others first`,
    );
}

const SAID: Record<MoveStep, string> = {
  begun: 'Copying the history while the project works.',
  copied: 'Copied. Its deliveries wait now, and those under way end.',
  draining: 'Waiting for deliveries under way.',
  drained: 'Closing the project.',
  closed: 'Closed. Copying the rest.',
  written: 'Switching.',
  switched: 'The project is open in its new cell.',
  ended: 'Removing its queue and config where it was.',
};
const SAY_EVERY_MS = 2_000;

class Progress {
  #rows = 0;
  #saidAt = performance.now();

  readonly hooks = {
    onStep: (step: MoveStep): void => line(SAID[step]),
    onCopied: (table: string, rows: number): void => {
      this.#rows += rows;
      if (performance.now() - this.#saidAt < SAY_EVERY_MS) return;
      this.#saidAt = performance.now();
      line(`  ${counted(this.#rows, 'row')} copied, now ${table}`);
    },
  };
}

interface LeftMove {
  move: OpenMove;
  from: Cell;
}

async function findMove(cells: Cells, id: string): Promise<LeftMove | undefined> {
  for (const cell of cells.list) {
    const move = await openMove(cells.db(cell), id);
    if (move !== undefined) return { move, from: cell };
  }
  return undefined;
}

async function findProject(cells: Cells, id: string): Promise<Cell> {
  for (const cell of cells.list) if (await projectHere(cells.db(cell), id)) return cell;
  throw new StartupError(`there is no project ${id}`);
}

function sides(cells: Cells, { move, from }: LeftMove) {
  const to = cells.list.find(({ id }) => id === move.toCell);
  if (to === undefined)
    throw new StartupError(`there is no cell ${move.toCell} any more, to which the project moves`);
  return { source: cells.db(from), target: cells.db(to), owner: randomUUID(), to };
}

async function settleLeft(cells: Cells, left: LeftMove): Promise<void> {
  const { to, ...deps } = sides(cells, left);
  const outcome = await settleMove(deps, left.move, { isForced: false });
  if (outcome === 'running')
    throw new StartupError(
      `project ${left.move.projectId} moves to cell ${to.name} already; --stop ends that`,
    );
  line(`An earlier move to cell ${to.name} was ended: ${ENDS[outcome]}`);
}

const ENDS = { done: 'the project had arrived.', stopped: 'the project stayed where it was.' };

async function stop(cells: Cells, left: LeftMove | undefined, id: string): Promise<void> {
  if (left === undefined) throw new StartupError(`no move of project ${id} is under way`);
  const { to, ...deps } = sides(cells, left);
  const outcome = await settleMove(deps, left.move, { isForced: true });
  line(
    outcome === 'done'
      ? `Too late: project ${id} is in cell ${to.name}.`
      : `Stopped: project ${id} is open in cell ${left.from.name}.`,
  );
}

async function preview(
  { source, from, to }: { source: Parameters<typeof countRows>[0]; from: Cell; to: Cell },
  id: string,
): Promise<void> {
  line(`Project ${id} would move from cell ${from.name} to cell ${to.name}, with:`);
  for (const { table, rows } of await countRows(source, id)) line(`  ${String(rows).padStart(10)}  ${table}`);
}
