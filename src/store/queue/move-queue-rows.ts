import { byKey } from '../database/by-key.ts';

/**
 * Moves queue rows away from the node that attempted them, as a part of the statements that record outcomes:
 * `gone` ended, `kept` waits for its next attempt, `moved` has the ids of both. The outcomes are `f`. Only a
 * row that this node still holds under the same fence moves.
 */
export function moveQueueRows(nodeId: string): string {
  return `gone as (
  delete from delivery_queue q using f
  where ${byKey('q.delivery_id', 'f.delivery_id')} and q.node_id = ${nodeId} and q.fence = f.fence and f.delay_ms is null
  returning q.delivery_id
), kept as (
  update delivery_queue q
  set node_id = null, fence = q.fence + 1, due_at = now() + f.delay_ms * interval '1 millisecond', lane = f.lane,
    key = f.key, is_started = false, is_second_request = f.is_second_request
  from f
  where ${byKey('q.delivery_id', 'f.delivery_id')} and q.node_id = ${nodeId} and q.fence = f.fence and f.delay_ms is not null
  returning q.delivery_id
), moved as materialized (
  select delivery_id from gone union all select delivery_id from kept
)`;
}

/** So that two nodes lock rows in the same order. */
export function inIdOrder<T extends { delivery: { id: string } }>(finishes: readonly T[]): T[] {
  return finishes.toSorted((a, b) => (a.delivery.id < b.delivery.id ? -1 : 1));
}
