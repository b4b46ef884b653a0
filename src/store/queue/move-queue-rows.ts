import { LANE } from '../../domain/delivery.ts';
import { byKey } from '../database/by-key.ts';

/**
 * Moves queue rows away from the node that attempted them, as a part of the statements that record outcomes:
 * `gone` ended, `kept` waits for its next attempt, `moved` has the ids of both. The outcomes are `f`. Only a
 * row that its holder still has under the same fence moves.
 */
export function moveQueueRows(isLeased: string): string {
  return `gone as (
  delete from delivery_queue q using f
  where ${byKey('q.delivery_id', 'f.delivery_id')} and ${isLeased} and q.fence = f.fence and f.delay_ms is null
  returning q.delivery_id
), kept as (
  update delivery_queue q
  set node_id = null, fence = q.fence + 1, due_at = now() + f.delay_ms * interval '1 millisecond', lane = f.lane,
    key = f.key, is_started = false, is_second_request = f.is_second_request, pulled_at = null, pulled_headers = null
  from f
  where ${byKey('q.delivery_id', 'f.delivery_id')} and ${isLeased} and q.fence = f.fence and f.delay_ms is not null
  returning q.delivery_id
), moved as materialized (
  select delivery_id from gone union all select delivery_id from kept
)`;
}

/** `q.node_id` is this node. */
export const leasedByNode = (nodeId: string): string => `q.node_id = ${nodeId}`;

/**
 * A consumer of a pull endpoint has it, or it is being prepared for one. The lease has not ended. With `node_id is null`
 * the planner would read the index for claims, which has every row that waits, instead of the key.
 */
export const LEASED_BY_CONSUMER = `coalesce(q.node_id, '') = '' and q.lane = ${LANE.leased} and q.due_at > now()`;

/** So that two nodes lock rows in the same order. */
export function inIdOrder<T extends { delivery: { id: string } }>(finishes: readonly T[]): T[] {
  return finishes.toSorted((a, b) => (a.delivery.id < b.delivery.id ? -1 : 1));
}
