import { byKey } from '../database/by-key.ts';
import type { Database } from '../database/database.ts';
import { plainArray } from '../database/packed-bytes.ts';
import type { Finish } from './finish-deliveries.ts';

/** Records what became of meta events, under the same fence as deliveries. Only the last attempt is kept. */
const FINISH = `
with f as materialized (
  select * from unnest($2::text[], $3::int[], $4::text[], $5::text[], $6::int[], $7::float8[], $8::int[], $9::bool[],
    $10::text[], $11::text[], $12::text[], $13::text[], $14::bytea[], $15::text[], $16::bool[])
    as f(id, fence, status, description, num_trials, delay_ms, lane, was_tried, http_status, error,
      request_headers, response_headers, response_body, project_id, is_second_request)
), gone as (
  delete from delivery_queue q using f
  where ${byKey('q.delivery_id', 'f.id')} and q.node_id = $1 and q.fence = f.fence and f.delay_ms is null
  returning q.delivery_id
), kept as (
  update delivery_queue q
  set node_id = null, fence = q.fence + 1, due_at = now() + f.delay_ms * interval '1 millisecond', lane = f.lane,
    is_second_request = f.is_second_request
  from f
  where ${byKey('q.delivery_id', 'f.id')} and q.node_id = $1 and q.fence = f.fence and f.delay_ms is not null
  returning q.delivery_id
), moved as materialized (
  select delivery_id from gone union all select delivery_id from kept
)
update meta_events m
set status = f.status, description = f.description, num_trials = f.num_trials,
  next_send_at = coalesce(now() + f.delay_ms * interval '1 millisecond', m.next_send_at), updated_at = now(),
  http_status = case when was_tried then f.http_status else m.http_status end,
  error = case when was_tried then f.error else m.error end,
  request_headers = case when was_tried then f.request_headers else m.request_headers end,
  response_headers = case when was_tried then f.response_headers else m.response_headers end,
  response_body = case when was_tried then f.response_body else m.response_body end
from f
where m.id = f.id and coalesce(f.id in (select delivery_id from moved), false)
returning m.id`;

/** Ids of the meta events that were moved; the others had been taken over by another node. */
export async function finishMetaEvents(
  db: Database,
  nodeId: string,
  finishes: readonly Finish[],
): Promise<Set<string>> {
  if (finishes.length === 0) return new Set();
  const sorted = [...finishes].sort((a, b) => (a.deliveryId < b.deliveryId ? -1 : 1));
  const attempts = sorted.map((finish) => finish.attempt);
  const rows = await db.hot<{ id: string }>('finish-meta-events', FINISH, [
    nodeId,
    plainArray(sorted.map((finish) => finish.deliveryId)),
    plainArray(sorted.map((finish) => finish.fence)),
    plainArray(sorted.map((finish) => finish.status)),
    sorted.map((finish) => finish.description),
    plainArray(sorted.map((finish) => finish.numTrials)),
    plainArray(sorted.map((finish) => finish.delayMs)),
    plainArray(sorted.map((finish) => finish.lane)),
    plainArray(attempts.map((attempt) => attempt !== null)),
    attempts.map((attempt) => attempt?.httpStatus ?? null),
    attempts.map((attempt) => attempt?.error ?? null),
    attempts.map((attempt) => attempt?.requestHeaders ?? null),
    attempts.map((attempt) => attempt?.responseHeaders ?? null),
    attempts.map((attempt) => attempt?.responseBody ?? null),
    plainArray(sorted.map((finish) => finish.projectId)),
    plainArray(sorted.map((finish) => finish.isSecondRequest ?? false)),
  ]);
  return new Set(rows.map((row) => row.id));
}
