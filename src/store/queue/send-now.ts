import { BATCH_LANE, LANE, type QueueKey } from '../../domain/delivery.ts';
import type { EndpointId, SubscriptionId } from '../../domain/ids.ts';
import { byKey } from '../database/by-key.ts';
import type { Queryable } from '../database/database.ts';

/**
 * Makes waiting deliveries due. A row that a node or a consumer has is not touched: it is being sent. Neither is one that
 * waits for its turn in an ordering key. For the rows of deliveries in a batch stands that of the batch.
 */
export interface WaitingRow {
  /** The id of a delivery or a batch. */
  id: string;
  key: QueueKey;
  lane: number;
  /** It is not due yet. */
  is_later: boolean;
  endpoint_id: EndpointId;
  subscription_id: SubscriptionId | null;
  deliveries: number;
  /** It may have got its turn before, with others of its batch. */
  had_turn: boolean;
}

/**
 * Locks those of the deliveries that wait, in id order, as a finish does. With `node_id is null` the planner would read
 * the index for claims, which has every row that waits, instead of the key.
 */
export function lockWaiting(tx: Queryable, projectId: string, ids: readonly string[]): Promise<WaitingRow[]> {
  return tx.query<WaitingRow>(
    `select q.delivery_id as id, q.key, q.lane, q.due_at > now() as is_later, d.endpoint_id, d.subscription_id,
       1 as deliveries, false as had_turn
     from delivery_queue q join event_deliveries d on ${byKey('d.id', 'q.delivery_id')}
     where q.project_id = $2 and q.delivery_id = any($1) and coalesce(q.node_id, '') = '' and q.lane < ${LANE.leased}
     order by q.delivery_id for update of q`,
    [ids, projectId],
  );
}

/**
 * Locks the batches of those of the deliveries that wait in one, in id order. Each counts as many deliveries as were asked
 * for; it goes as a whole. `after`: deliveries up to this one were asked for before.
 */
export function lockBatches(
  tx: Queryable,
  projectId: string,
  { ids, after }: { ids: readonly string[]; after: string },
): Promise<WaitingRow[]> {
  return tx.query<WaitingRow>(
    `with members as materialized (
       select project_id, batch_id, min(delivery_id) as first_id, count(*)::int as deliveries from delivery_queue
       where project_id = $1 and delivery_id = any($2) and lane = ${BATCH_LANE.member} and coalesce(node_id, '') = ''
       group by project_id, batch_id
     )
     select q.delivery_id as id, q.key, q.lane, q.due_at > now() as is_later, d.endpoint_id, d.subscription_id,
       members.deliveries, q.delivery_ids[1] <= $3 as had_turn
     from members
     join delivery_queue q on ${byKey('q.delivery_id', 'members.batch_id')} and coalesce(q.node_id, '') = ''
     join event_deliveries d on ${byKey('d.id', 'members.first_id')}
     order by q.delivery_id for update of q`,
    [projectId, ids, after],
  );
}

/** A locked row, and when its turn is, in the database's time. A turn in the past is now. */
export interface Turn {
  id: string;
  atMs: number;
}

/** Gives locked rows their turns. None of them waits longer for its next try than before. */
export async function moveToTurns(tx: Queryable, projectId: string, turns: readonly Turn[]): Promise<void> {
  if (turns.length === 0) return;
  await tx.query(
    `with turns as materialized (
       select id, $1::text as project_id, greatest(now(), to_timestamp(at_ms / 1000)) as turn
       from unnest($2::text[], $3::float8[]) as t(id, at_ms)
     ), moved as (
       update delivery_queue q set due_at = case when q.due_at > now() then least(q.due_at, turn) else turn end
       from turns where ${byKey('q.delivery_id', 'turns.id')}
       returning q.project_id, q.delivery_id, q.due_at, q.delivery_ids
     ), shown as materialized (
       select project_id, delivery_id, due_at from moved where delivery_ids is null
       union all
       select m.project_id, m.delivery_id, moved.due_at
       from moved cross join lateral unnest(moved.delivery_ids) as u(id)
       join delivery_queue m on m.project_id = any(array[moved.project_id]) and m.delivery_id = u.id
       where m.batch_id = moved.delivery_id
     )
     update event_deliveries d set next_send_at = shown.due_at, updated_at = now()
     from shown where ${byKey('d.id', 'shown.delivery_id')}`,
    [projectId, turns.map(({ id }) => id), turns.map(({ atMs }) => atMs)],
  );
}

const FRONT = `case when q.lane = ${BATCH_LANE.formed} then q.lane else ${LANE.first} end`;

/** Puts locked rows before all others of their queue keys, so that they are the next probes. They are due. */
export async function putFirst(tx: Queryable, projectId: string, ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return;
  await tx.query(
    `update delivery_queue q set lane = ${FRONT}, due_at = least(now(), (
       select o.due_at from delivery_queue o where o.key = q.key and o.lane = ${FRONT} and o.node_id is null
       order by o.due_at limit 1)) - interval '1 millisecond'
     where q.project_id = $1 and q.delivery_id = any($2)`,
    [projectId, ids],
  );
}
