import { firstIdAt } from '../../domain/ids.ts';
import { metaQueueKey, type NewMetaEvent } from '../../domain/meta-event.ts';
import type { Page, PageRequest } from '../../domain/pagination.ts';
import type { Queryable } from '../database/database.ts';
import { listPage, Where } from '../database/list-page.ts';
import { PackedBytes, plainArray } from '../database/packed-bytes.ts';

export interface MetaEventRow {
  id: string;
  project_id: string;
  event_type: string;
  status: string;
  description: string | null;
  payload: Buffer;
  strategy: string;
  interval_seconds: number;
  max_retry_seconds: number;
  retry_limit: number;
  num_trials: number;
  next_send_at: number | null;
  http_status: string | null;
  error: string | null;
  request_headers: string | null;
  response_headers: string | null;
  response_body: Buffer | null;
  updated_at: number;
}

const COLUMNS =
  'id, project_id, event_type, status, description, payload, strategy, interval_seconds, max_retry_seconds, retry_limit, num_trials, next_send_at, http_status, error, request_headers, response_headers, response_body, updated_at';

/** kind 1 of the queue: the row is a meta event's. */
const INSERT = `
with m as materialized (
  select * from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::int[], $6::int[], $7::int[], $8::text[],
    $10::int[], $11::int[])
    as m(id, project_id, event_type, strategy, interval_seconds, max_retry_seconds, retry_limit, key,
      payload_from, payload_length)
), stored as (
  insert into meta_events (id, project_id, event_type, status, payload, strategy, interval_seconds,
    max_retry_seconds, retry_limit, next_send_at, updated_at)
  select id, project_id, event_type, 'Scheduled', substring($9::bytea from payload_from for payload_length),
    strategy, interval_seconds, max_retry_seconds, retry_limit, now(), now()
  from m order by id
  on conflict do nothing
)
insert into delivery_queue (delivery_id, event_id, project_id, key, lane, kind, due_at)
select id, id, project_id, key, 0, 1, now() from m order by id
on conflict do nothing`;

/** Stores meta events and queues them, as part of the transaction that made them true. */
export async function insertMetaEvents(tx: Queryable, events: readonly NewMetaEvent[]): Promise<void> {
  if (events.length === 0) return;
  const payloads = new PackedBytes();
  for (const event of events) payloads.add(event.payload);
  await tx.query(INSERT, [
    plainArray(events.map((event) => event.id)),
    plainArray(events.map((event) => event.projectId)),
    plainArray(events.map((event) => event.eventType)),
    plainArray(events.map((event) => event.strategy)),
    plainArray(events.map((event) => event.intervalSeconds)),
    plainArray(events.map((event) => event.maxRetrySeconds)),
    plainArray(events.map((event) => event.retryLimit)),
    plainArray(events.map((event) => metaQueueKey(event.projectId))),
    ...payloads.parameters(),
  ]);
}

export async function getMetaEvent(
  db: Queryable,
  projectId: string,
  id: string,
): Promise<MetaEventRow | undefined> {
  const [row] = await db.query<MetaEventRow>(
    `select ${COLUMNS} from meta_events where id = $1 and project_id = $2`,
    [id, projectId],
  );
  return row;
}

export function listMetaEvents(
  db: Queryable,
  projectId: string,
  filter: { page: PageRequest; fromMs: number | undefined; toMs: number | undefined },
): Promise<Page<MetaEventRow>> {
  const where = new Where()
    .add('project_id = ?', projectId)
    .addIf('id >= ?', filter.fromMs === undefined ? undefined : firstIdAt(filter.fromMs))
    .addIf('id < ?', filter.toMs === undefined ? undefined : firstIdAt(filter.toMs + 1));
  return listPage(db, { select: COLUMNS, from: 'meta_events', where, page: filter.page, id: 'id' });
}

/**
 * Queues a meta event again with a fresh retry budget. One that still waits becomes due now; one that is being sent at
 * this moment stays as it is.
 */
export async function resendMetaEvent(
  tx: Queryable,
  projectId: string,
  id: string,
): Promise<MetaEventRow | undefined> {
  const [row] = await tx.query<MetaEventRow>(
    `select ${COLUMNS} from meta_events where id = $1 and project_id = $2 for update`,
    [id, projectId],
  );
  if (row === undefined) return undefined;
  const queued = await tx.query(
    `insert into delivery_queue (delivery_id, event_id, project_id, key, lane, kind, due_at)
       values ($1, $1, $2, $3, 0, 1, now())
       on conflict (project_id, delivery_id) do update set due_at = now(), lane = 0 where delivery_queue.node_id is null
       returning delivery_id`,
    [id, projectId, metaQueueKey(projectId)],
  );
  if (queued.length === 0) return row;
  const [changed] = await tx.query<MetaEventRow>(
    `update meta_events set status = 'Scheduled', description = null, budget_from = num_trials,
         next_send_at = now(), updated_at = now()
       where id = $1 and project_id = $2 returning ${COLUMNS}`,
    [id, projectId],
  );
  return changed;
}
