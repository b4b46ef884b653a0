import { copyRows, literal, type TableShape } from '../../store/cells/copy-rows.ts';
import { changedSince } from '../../store/cells/history-chunks.ts';
import { historyTables, switchTables } from '../../store/cells/registry.ts';
import { arrive } from '../../store/cells/target-moves.ts';
import type { Database } from '../../store/database/database.ts';
import { databaseTime } from '../../store/queue/nodes.ts';
import type { Mark, Sessions, Shapes } from './copy-history.ts';
import type { Mover } from './mover.ts';
import { waitForClock } from './wait-for-clock.ts';

/**
 * Brings the rest of a closed project: read in one snapshot, written in one transaction, whose last statement is the
 * decision. Its commit is the switch.
 */
export async function switchProject(
  mover: Mover,
  { sessions, shapes, mark, ready }: { sessions: Sessions; shapes: Shapes; mark: Mark; ready: Promise<void> },
): Promise<void> {
  const { source, target } = sessions;
  const shift = await clockDifference(mover.deps);
  await source.transaction(
    () =>
      target.transaction(async () => {
        await copyRest(mover, { sessions, shapes, mark, shift });
        await ready;
        await waitForClock(mover.deps, mover.move.projectId);
        await mover.step('written');
        await arrive(target, mover.move);
      }),
    'begin isolation level repeatable read, read only',
  );
}

async function copyRest(
  mover: Mover,
  { sessions, shapes, mark, shift }: { sessions: Sessions; shapes: Shapes; mark: Mark; shift: number },
): Promise<void> {
  const { projectId, epoch } = mover.move;
  const filled = (sql: string): string =>
    sql
      .replaceAll(':project', literal(projectId))
      .replaceAll(':recent', literal(mark.recent))
      .replaceAll(':epoch', String(epoch))
      .replaceAll(':shift', String(shift));
  const shapeOf = (table: string) => shapes.get(table) as TableShape;
  for (const { table, late } of historyTables) {
    const where = `project_id = ${literal(projectId)} and ${filled(late)} and ${changedSince(mark.since)}`;
    mover.count(table, await copyRows(sessions, { table, shape: shapeOf(table), where, known: 'replaced' }));
  }
  for (const { table, rows, columns = {} } of switchTables) {
    const written = Object.fromEntries(Object.entries(columns).map(([name, sql]) => [name, filled(sql)]));
    const copied = { table, shape: shapeOf(table), where: filled(rows), columns: written };
    mover.count(table, await copyRows(sessions, { ...copied, known: 'refused' }));
  }
  const shared = { table: 'idempotency_keys', shape: shapeOf('idempotency_keys'), where: 'true' };
  mover.count(shared.table, await copyRows(sessions, { ...shared, known: 'kept' }));
}

/** How far the target's clock is ahead, in whole milliseconds, rounded up by the error: a lease rather lasts longer. */
async function clockDifference({ source, target }: { source: Database; target: Database }): Promise<number> {
  const before = performance.now();
  const [ofSource, ofTarget] = await Promise.all([databaseTime(source), databaseTime(target)]);
  return Math.ceil(ofTarget - ofSource + (performance.now() - before));
}
