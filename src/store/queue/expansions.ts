import { LANE } from '../../domain/delivery.ts';
import type { EventId, ProjectId } from '../../domain/ids.ts';
import { byKey } from '../database/by-key.ts';
import type { Queryable } from '../database/database.ts';
import { insertWaiting, type NewDelivery } from './insert-deliveries.ts';

/** A large fan-out in progress. */
export interface Expansion {
  event_id: EventId;
  project_id: ProjectId;
  event_type: string;
  subscription_ids: string[];
  done: number;
}

/**
 * The oldest expansion that no other node works on, locked until the end of the transaction. Those in `except` are left
 * out.
 */
export async function lockExpansion(
  tx: Queryable,
  except: readonly string[],
): Promise<Expansion | undefined> {
  const [row] = await tx.query<Expansion>(
    `select x.event_id, x.project_id, e.event_type, x.subscription_ids, x.done
     from expansions x join events e on ${byKey('e.id', 'x.event_id')}
     where x.event_id <> all($1)
     order by x.event_id limit 1 for update of x skip locked`,
    [except],
  );
  return row;
}

/** It is done, or its project is deleted and nothing is delivered. */
export async function removeExpansion(tx: Queryable, expansion: Expansion): Promise<void> {
  await tx.query('delete from expansions where event_id = $1', [expansion.event_id]);
}

/** Stores the deliveries of one chunk, waiting for any node, and moves the cursor in the same commit. */
export async function storeChunk(
  tx: Queryable,
  expansion: Expansion,
  chunk: { deliveries: NewDelivery[]; done: number },
): Promise<void> {
  await insertWaiting(tx, { deliveries: chunk.deliveries, lane: LANE.first });
  if (chunk.done < expansion.subscription_ids.length) {
    await tx.query('update expansions set done = $2 where event_id = $1', [expansion.event_id, chunk.done]);
    return;
  }
  await removeExpansion(tx, expansion);
  await tx.query("update events set status = 'Success' where project_id = $1 and id = $2", [
    expansion.project_id,
    expansion.event_id,
  ]);
}
