import { type DeliveryStatus, LANE } from '../../domain/delivery.ts';
import { firstIdAt, type MetaEventId, type ProjectId } from '../../domain/ids.ts';
import { metaQueueKey, type NewMetaEvent } from '../../domain/meta-event.ts';
import type { Page, PageRequest } from '../../domain/pagination.ts';
import type { Queryable } from '../database/database.ts';
import { listPage, Where } from '../database/list-page.ts';
import { type Column, namesOf, Parameters } from '../database/parameters.ts';
import { type RetryColumns, retryColumns } from '../database/retry-columns.ts';
import { insertQueueRows } from './queue-rows.ts';

export interface MetaEventRow extends RetryColumns {
  id: MetaEventId;
  project_id: ProjectId;
  event_type: string;
  status: DeliveryStatus;
  description: string | null;
  payload: Buffer;
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

const insert = new Parameters<readonly NewMetaEvent[]>();
const stored: readonly Column<NewMetaEvent>[] = [
  ['id', 'id', (m) => m.id],
  ['project_id', 'id', (m) => m.projectId],
  ['event_type', 'id', (m) => m.eventType],
  ['payload', 'bytes', (m) => m.payload],
  ...retryColumns,
];
const STORED = namesOf(stored);
const rows = insert.rows(
  (events) => events,
  [
    ...stored,
    // Its queue row names it in both places.
    ['event_id', 'id', (m) => m.id],
    ['key', 'id', (m) => metaQueueKey(m.projectId)],
  ],
);

const INSERT = `
with m as materialized (
  select * from ${rows.as('m')}
), stored as (
  insert into meta_events (${rows.names(STORED)}, status, next_send_at, updated_at)
  select ${rows.stored({}, STORED)}, 'Scheduled', now(), now() from m order by id
  on conflict do nothing
)
${insertQueueRows({ from: 'm order by id', kind: 1, lane: LANE.first })}
on conflict do nothing`;

/** Stores meta events and queues them, in the transaction of the change they describe. */
export async function insertMetaEvents(tx: Queryable, events: readonly NewMetaEvent[]): Promise<void> {
  if (events.length > 0) await tx.query(INSERT, insert.values(events));
}

export async function getMetaEvent(
  db: Queryable,
  projectId: ProjectId,
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
  const bytes = 'octet_length(payload) + coalesce(octet_length(response_body), 0)';
  return listPage(db, { select: COLUMNS, from: 'meta_events', where, page: filter.page, id: 'id', bytes });
}

const REQUEUED = '(values ($1::text, $1::text, $2::text, $3::text)) as m(id, event_id, project_id, key)';

/**
 * Queues a meta event again with a fresh retry budget. A waiting one becomes due now. One that is being sent
 * does not change.
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
    `${insertQueueRows({ from: REQUEUED, kind: 1, lane: LANE.first, hadRowBefore: true })}
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
