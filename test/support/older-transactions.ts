import type { TestDatabase } from './database.ts';
import { eventually } from './eventually.ts';

/** A transaction that is older than the rows, also one of another test's database, has an export repeated. */
export async function olderTransactionsEnded(database: TestDatabase): Promise<void> {
  const xids = await database.query(
    'select pg_snapshot_xmax(pg_current_snapshot())::text::bigint - 1 as newest',
  );
  await eventually(
    () =>
      database.query('select pg_snapshot_xmin(pg_current_snapshot())::text::bigint > $1 as ended', [
        xids[0]?.['newest'],
      ]),
    [{ ended: true }],
  );
}
