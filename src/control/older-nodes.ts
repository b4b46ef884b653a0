import { AppError } from '../domain/errors.ts';
import type { SubscriptionFields } from '../domain/resources/subscription-fields.ts';
import type { Queryable } from '../store/database/database.ts';
import { nodesBefore } from '../store/queue/nodes.ts';
import { refuseNodesBefore } from '../store/upkeep/migrate.ts';

/** The migration from which on nodes let the next delivery of an ordering key go. */
const KNOWS_ORDERING = '0002';

/**
 * An older node that ends a delivery lets no other go, so its ordering key would wait for the next upkeep. It also stores
 * events without their keys. So none may run now, and none may start from now on.
 */
export async function refuseOrderingWithOlderNodes(
  tx: Queryable,
  fields: SubscriptionFields,
  known: SubscriptionFields | undefined,
): Promise<void> {
  if (fields.ordering === null || (known?.ordering ?? null) !== null) return;
  const older = await nodesBefore(tx, KNOWS_ORDERING);
  if (older.length > 0) throw new AppError('older_nodes', { field: 'ordering', nodes: older.join(', ') });
  await refuseNodesBefore(tx, KNOWS_ORDERING);
}
