import type { Queryable } from '../database/database.ts';
import type { Partition, PartitionedTable } from './partitions.ts';

/**
 * A project is being copied to here. Its queue rows and held keys come last, so until then any row may be that of an open
 * delivery.
 */
export const IS_COPIED_HERE = "exists (select from project_moves where state = 'copying' and owner is null)";

/**
 * Whether a partition has rows that must stay: those of open deliveries, with their events and attempts, of large
 * fan-outs in progress, and of failed deliveries that hold their ordering key, because a resend of such a delivery ends
 * the hold. Reads the queue of all projects once per partition: 100,000 waiting rows take 20 ms.
 */
const within = (id: string) => `${id} >= $1 and ${id} < $2`;
const DELIVERIES = `
  select 1 from delivery_queue where kind = 0 and ${within('delivery_id')}
  union all select 1 from ordering_keys where held_at is not null and ${within('head_id')}`;

const NEEDED: Record<PartitionedTable, string> = {
  delivery_attempts: DELIVERIES,
  event_deliveries: DELIVERIES,
  // The event of a held delivery is unknown while the partition of the delivery is detached. It may be any event.
  events: `
    select 1 from delivery_queue where kind = 0 and ${within('event_id')}
    union all select 1 from expansions where ${within('event_id')}
    union all select 1 from ordering_keys k
      left join lateral (
        select event_id from event_deliveries where project_id = k.project_id and id = k.head_id limit 1
      ) d on true
      where k.held_at is not null and (d.event_id is null or ${within('d.event_id')})`,
  meta_events: `select 1 from delivery_queue where kind = 1 and ${within('delivery_id')}`,
};

export async function isNeeded(db: Queryable, { table, from, to }: Partition): Promise<boolean> {
  const [row] = await db.query<{ needed: boolean }>(
    `select ${IS_COPIED_HERE} or exists (${NEEDED[table]}) as needed`,
    [from, to],
  );
  return row?.needed === true;
}
