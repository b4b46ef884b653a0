import { AppError, invalidFields } from '../domain/errors.ts';
import { type Cell, type CellLoad, cellLoad } from '../store/cells/cells.ts';
import type { Database } from '../store/database/database.ts';

interface Place {
  name: string;
  db: Database;
}

/**
 * The cell of a new project: the named one, or the one with the fewest projects. A call that is repeated goes where the
 * first one went. A cell that some process does not know yet takes none: that process would answer 404.
 */
export async function placeProject<View extends Place>(
  rows: readonly Cell[],
  views: readonly View[],
  { name, cell, onceId }: { name: string; cell: string | undefined; onceId: string | undefined },
): Promise<View> {
  const known = rows.map((row) => row.name);
  if (cell !== undefined && !known.includes(cell))
    throw invalidFields([{ field: 'cell', problem: `must be one of ${known.join(', ')}` }]);
  const loads = await Promise.allSettled(
    views.map(async (view) => ({ view, load: await cellLoad(view.db, { name, onceId }) })),
  );
  const reached = loads.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
  const before = reached.find(({ load }) => load.hasOnce);
  if (before !== undefined) return before.view;
  if (reached.some(({ load }) => load.hasName))
    throw new AppError('name_taken', { resource: 'project', name });
  return choose(rows, reached, cell);
}

function choose<View extends Place>(
  rows: readonly Cell[],
  reached: readonly { view: View; load: CellLoad }[],
  cell: string | undefined,
): View {
  const nodes = Math.max(...reached.map(({ load }) => load.nodes));
  const open = new Set(rows.flatMap((row) => (row.takesProjects ? [row.name] : [])));
  const usable = reached.filter(({ view, load }) =>
    cell === undefined ? open.has(view.name) && load.nodes === nodes : view.name === cell,
  );
  const [fewest] = usable.toSorted((a, b) => a.load.projects - b.load.projects);
  if (fewest === undefined) throw new AppError('cell_unavailable', { retry: 1 });
  if (fewest.load.nodes < nodes)
    throw new AppError('wrong_state', {
      detail: `Not every node serves cell ${fewest.view.name} yet. Restart the others first.`,
    });
  return fewest.view;
}
