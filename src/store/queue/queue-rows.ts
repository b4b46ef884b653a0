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
