import { firstIdAt } from '../../domain/ids.ts';
import type { Database } from '../database/database.ts';
import { type RemovalOptions, type RemovedPartitions, removePartitions } from './remove-partitions.ts';

/**
 * Removes data older than the retention, in whole partitions, and only below the oldest open event or
 * delivery. An open delivery is never dropped, nor the event it needs.
 */
export async function removeExpired(
  options: RemovalOptions,
  before: { ms: number },
): Promise<RemovedPartitions> {
  return removePartitions(options, await removableBelow(options.db, firstIdAt(before.ms)));
}

/** The id below which nothing is open. */
async function removableBelow(db: Database, expired: string): Promise<string> {
  const [open] = await db.query<{ oldest: string | null }>(
    `select least(min(delivery_id), min(event_id), (select min(event_id) from expansions)) as oldest from delivery_queue`,
  );
  return open?.oldest != null && open.oldest < expired ? open.oldest : expired;
}
