import { firstIdAt } from '../../domain/ids.ts';
import { type CopySession, copyRows, literal, type TableShape } from '../../store/cells/copy-rows.ts';
import { changedSince, lastValue, nextBound, openSince } from '../../store/cells/history-chunks.ts';
import { type HistoryTable, historyTables } from '../../store/cells/registry.ts';
import { stayWhile } from '../../store/cells/target-moves.ts';
import { matchPartitions, partitionBounds } from '../../store/upkeep/partitions.ts';
import type { Mover } from './mover.ts';

/**
 * Copies the history of a project while it works: all of it, then in rounds what changed since the round before began,
 * until a round is short. The transaction that wrote a row says whether it changed, so no clock decides. A chunk is one
 * transaction on each side: the source keeps no old snapshot, and the target takes no rows once the move is abandoned.
 */
export interface Sessions {
  source: CopySession;
  target: CopySession;
}

export type Shapes = ReadonlyMap<string, TableShape>;

/** Everything that was committed before is copied. */
export interface Mark {
  /** The oldest transaction that may have been open. */
  since: string;
  /** No id below this one was given after the mark. */
  recent: string;
}

const MOST_ROUNDS = 5;
const SHORT_ROUND_MS = 2_000;
/** An accept that takes longer than this has failed. */
const LATEST_COMMIT_MS = 600_000;

export async function copyHistory(mover: Mover, sessions: Sessions, shapes: Shapes): Promise<Mark> {
  let mark: Mark | null = null;
  for (let round = 1; ; round++) {
    const startedMs = performance.now();
    mark = await copyRound(mover, { sessions, shapes, since: mark });
    if (round === MOST_ROUNDS || performance.now() - startedMs < SHORT_ROUND_MS) return mark;
  }
}

/** Copies what changed since a mark, or everything. Returns the mark of its begin. */
export async function copyRound(
  mover: Mover,
  { sessions, shapes, since }: { sessions: Sessions; shapes: Shapes; since: Mark | null },
): Promise<Mark> {
  const { since: transaction, nowMs } = await openSince(sessions.source);
  await matchPartitions(mover.deps.target, await partitionBounds(mover.deps.source));
  for (const table of historyTables)
    await copyTable(mover, sessions, { table, shape: shapes.get(table.table) as TableShape, since });
  return { since: transaction, recent: firstIdAt(nowMs - LATEST_COMMIT_MS) };
}

async function copyTable(
  mover: Mover,
  sessions: Sessions,
  { table, shape, since }: { table: HistoryTable; shape: TableShape; since: Mark | null },
): Promise<void> {
  const { projectId } = mover.move;
  const chunked = { projectId, table: table.table, by: table.by };
  const last = await lastValue(sessions.source, chunked);
  const changed = since === null ? 'true' : changedSince(since.since);
  for (let after = ''; ; ) {
    mover.check();
    const bound = await nextBound(sessions.source, { ...chunked, after, last });
    if (bound === null) return;
    const where = `project_id = ${literal(projectId)} and ${table.by} > ${literal(after)}
      and ${table.by} <= ${literal(bound)} and ${changed}`;
    const rows = await sessions.target.transaction(async () => {
      await stayWhile(sessions.target, mover.move, 'copying');
      return copyRows(sessions, { table: table.table, shape, where, known: 'replaced' });
    });
    mover.count(table.table, rows);
    after = bound;
  }
}
