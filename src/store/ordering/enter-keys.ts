import { type LeasedDelivery, WAITS_FOR_TURN } from '../../domain/delivery.ts';
import { byKey } from '../database/by-key.ts';
import type { Database } from '../database/database.ts';
import { Parameters } from '../database/parameters.ts';
import { placeDeliveries } from './place-deliveries.ts';
import { lockKeys } from './release-next.ts';

/**
 * Deliveries that take their places when they become due: delayed, replayed and resent ones. They were just claimed. The
 * head of a key stays claimed, the others go back to wait for their turn.
 */
const enter = new Parameters<readonly LeasedDelivery[]>();
const claimed = enter.rows(
  (deliveries) => deliveries,
  [
    ['project_id', 'id', (d) => d.projectId],
    ['id', 'id', (d) => d.id],
    ['fence', 'int', (d) => d.fence],
    ['ordering_id', 'text', (d) => d.orderingId],
    ['subscription_id', 'id', (d) => d.subscriptionId ?? ''],
    ['endpoint_id', 'id', (d) => d.endpointId],
    ['lane', 'int', (d) => d.lane],
  ],
);

/** Keys first, rows of the queue second, as the end of a delivery does. A new key is made by the second statement. */
const ENTER = `
with mine as materialized (
  select c.* from ${claimed.as('c')}
  join delivery_queue q on ${byKey('q.delivery_id', 'c.id')} and q.fence = c.fence and q.place is null
  for update of q
), ${placeDeliveries('mine')}
update delivery_queue q set place = t.place,
  lane = case when waits then t.lane + ${WAITS_FOR_TURN} else q.lane end,
  node_id = case when waits then null else q.node_id end,
  fence = case when waits then q.fence + 1 else q.fence end,
  due_at = case when waits then now() else q.due_at end
from turns t where ${byKey('q.delivery_id', 't.id')}
returning q.delivery_id as id, t.waits`;

/** The claimed deliveries that may be sent. The others have taken their places and wait. */
export async function inTheirPlaces(
  db: Database,
  claimed: readonly LeasedDelivery[],
): Promise<ReadonlySet<LeasedDelivery>> {
  const entering = claimed.filter(({ isPlaced }) => !isPlaced);
  if (entering.length === 0) return new Set(claimed);
  // Another error than that of the statement: the claim itself was committed.
  const heads = await enterKeys(db, entering).catch((cause: unknown) => {
    throw new Error('claimed deliveries could not take their places in ordering keys', { cause });
  });
  return new Set(claimed.filter(({ id, isPlaced }) => isPlaced || heads.has(id)));
}

/** Returns the ids of those that are heads of their keys. */
export function enterKeys(db: Database, deliveries: readonly LeasedDelivery[]): Promise<Set<string>> {
  return db.hotTransaction(async (tx) => {
    // Both are sent at once. The server begins the second, and takes its snapshot, when it has the locks.
    const [, rows] = await Promise.all([
      lockKeys(tx, deliveries),
      tx.hot<{ id: string; waits: boolean }>('enter-ordering-keys', ENTER, enter.values(deliveries)),
    ]);
    return new Set(rows.filter(({ waits }) => !waits).map(({ id }) => id));
  });
}
