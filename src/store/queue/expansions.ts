import { byKey } from '../database/by-key.ts';
import type { Queryable } from '../database/database.ts';
import { type DeliveryRow, deliveryParameters } from './accept-events.ts';

/** A large fan-out being worked off. */
export interface Expansion {
  event_id: string;
  project_id: string;
  event_type: string;
  subscription_ids: string[];
  done: number;
}

/** The oldest expansion that no other node works on, locked until the end of the transaction. */
export async function lockExpansion(tx: Queryable): Promise<Expansion | undefined> {
  const [row] = await tx.query<Expansion>(
    `select x.event_id, x.project_id, e.event_type, x.subscription_ids, x.done
     from expansions x join events e on ${byKey('e.id', 'x.event_id')}
     order by x.event_id limit 1 for update of x skip locked`,
  );
  return row;
}

/** Stores the deliveries of one chunk, waiting for any node, and moves the cursor in the same commit. */
export async function storeChunk(
  tx: Queryable,
  expansion: Expansion,
  chunk: { deliveries: DeliveryRow[]; done: number },
): Promise<void> {
  const [
    ids,
    projects,
    events,
    endpoints,
    subscriptions,
    types,
    modes,
    strategies,
    intervals,
    maxima,
    limits,
    keys,
  ] = deliveryParameters(chunk.deliveries);
  await tx.query(
    `with d as materialized (
       select * from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[],
         $9::int[], $10::int[], $11::int[], $12::text[])
         as d(id, project_id, event_id, endpoint_id, subscription_id, event_type, delivery_mode, strategy,
           interval_seconds, max_retry_seconds, retry_limit, key)
     ), stored as (
       insert into event_deliveries (id, project_id, event_id, endpoint_id, subscription_id, event_type, status,
         delivery_mode, strategy, interval_seconds, max_retry_seconds, retry_limit, next_send_at, updated_at)
       select id, project_id, event_id, endpoint_id, subscription_id, event_type, 'Scheduled',
         delivery_mode, strategy, interval_seconds, max_retry_seconds, retry_limit, now(), now()
       from d order by id
     )
     insert into delivery_queue (delivery_id, event_id, project_id, key, lane, due_at)
     select id, event_id, project_id, key, 0, now() from d order by id`,
    [
      ids,
      projects,
      events,
      endpoints,
      subscriptions,
      types,
      modes,
      strategies,
      intervals,
      maxima,
      limits,
      keys,
    ],
  );
  if (chunk.done < expansion.subscription_ids.length) {
    await tx.query('update expansions set done = $2 where event_id = $1', [expansion.event_id, chunk.done]);
    return;
  }
  await tx.query('delete from expansions where event_id = $1', [expansion.event_id]);
  await tx.query("update events set status = 'Success' where project_id = $1 and id = $2", [
    expansion.project_id,
    expansion.event_id,
  ]);
}
