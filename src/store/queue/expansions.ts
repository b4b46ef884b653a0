import type { EventId, ProjectId } from '../../domain/ids.ts';
import { byKey } from '../database/by-key.ts';
import type { Queryable } from '../database/database.ts';
import { insertWaiting, type NewDelivery } from './insert-deliveries.ts';

/** A large fan-out in progress: of an accepted event, or of a replay. */
export interface Expansion {
  id: string;
  event_id: EventId;
  project_id: ProjectId;
  event_type: string;
  subscription_ids: string[];
  lane: number;
  done: number;
  deliver_at: number | null;
  /** When its event expires. */
  expires_at: number | null;
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
    `select x.id, x.event_id, x.project_id, e.event_type, x.subscription_ids, x.lane, x.done, x.deliver_at, e.expires_at
     from expansions x join events e on ${byKey('e.id', 'x.event_id')}
     where x.id <> all($1)
       and not exists (select from projects p where p.id = x.project_id and p.cell_state is not null)
     order by x.id limit 1 for update of x skip locked`,
    [except],
  );
  return row;
}

/** It is done, or its project is deleted and nothing is delivered. */
export async function removeExpansion(tx: Queryable, expansion: Expansion): Promise<void> {
  await tx.query('delete from expansions where id = $1', [expansion.id]);
}

/** Stores the deliveries of one chunk, waiting for any node, and moves the cursor in the same commit. */
export async function storeChunk(
  tx: Queryable,
  expansion: Expansion,
  chunk: { deliveries: NewDelivery[]; done: number },
): Promise<void> {
  await insertWaiting(tx, { deliveries: chunk.deliveries, lane: expansion.lane });
  if (chunk.done < expansion.subscription_ids.length) {
    await tx.query('update expansions set done = $2 where id = $1', [expansion.id, chunk.done]);
    return;
  }
  await removeExpansion(tx, expansion);
  // The lock orders this with a replay that stores another expansion of the event: the second of the two sees the first.
  const event = [expansion.project_id, expansion.event_id];
  await tx.query('select id from events where project_id = $1 and id = $2 for no key update', event);
  await tx.query(
    `update events set status = 'Success'
     where project_id = $1 and id = $2 and not exists (select from expansions where project_id = $1 and event_id = $2)`,
    event,
  );
}

/** Stores the large fan-out of a replay. */
export async function insertExpansion(
  tx: Queryable,
  expansion: Pick<Expansion, 'id' | 'event_id' | 'project_id' | 'lane'> & {
    subscription_ids: readonly string[];
  },
): Promise<void> {
  const { id, event_id, project_id, subscription_ids, lane } = expansion;
  await tx.query(
    'insert into expansions (id, event_id, project_id, subscription_ids, lane) values ($1, $2, $3, $4, $5)',
    [id, event_id, project_id, subscription_ids, lane],
  );
}

/** Whether a large fan-out of the project is in progress in a lane. */
export async function isExpanding(db: Queryable, projectId: ProjectId, lane: number): Promise<boolean> {
  const found = await db.query('select from expansions where project_id = $1 and lane = $2 limit 1', [
    projectId,
    lane,
  ]);
  return found.length > 0;
}
