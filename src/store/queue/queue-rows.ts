import { BATCH_LANE, LANE } from '../../domain/delivery.ts';
import { byKey } from '../database/by-key.ts';

/**
 * The one statement that puts rows into the queue, as a part of others. `from` has the columns id, event_id, project_id
 * and key. A row is due at once unless `dueAt` is given, for any node unless `nodeId` names one.
 *
 * Fences of one row count up from 1. A row of a delivery that had one before gets a random fence: if it was cancelled
 * while a node was sending it, and then resent, that old sender cannot finish it.
 */
export function insertQueueRows(row: {
  from: string;
  /** 1: the row of a meta event. */
  kind?: 0 | 1;
  lane: string | number;
  dueAt?: string;
  nodeId?: string;
  hadRowBefore?: boolean;
  /** `from` also has ordering_id and place. */
  isOrdered?: boolean;
}): string {
  const fence = row.hadRowBefore === true ? '1000000 + floor(random() * 1000000000)::int' : '1';
  const ordering = row.isOrdered === true ? ', ordering_id, place' : '';
  return `insert into delivery_queue (delivery_id, event_id, project_id, key, lane, kind, due_at, node_id, fence${ordering})
  select id, event_id, project_id, key, ${row.lane}, ${row.kind ?? 0}, ${row.dueAt ?? 'now()'}, ${row.nodeId ?? 'null'}, ${fence}${ordering}
  from ${row.from}`;
}

/**
 * The one statement that puts rows of batches into the queue, as a part of others: one for each `batch_id` of `members`,
 * which has the columns delivery_id, event_id, project_id and key.
 */
export const insertBatches = ({ dueAt = 'now()', isStarted = 'false' } = {}): string =>
  `insert into delivery_queue (delivery_id, event_id, project_id, key, lane, kind, due_at, is_started, delivery_ids)
  select batch_id, min(event_id), min(project_id), min(key), ${BATCH_LANE.formed}, 2, ${dueAt}, ${isStarted},
    array_agg(delivery_id order by delivery_id)
  from members group by batch_id order by batch_id`;

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
