import { LANE } from '../../domain/delivery.ts';
import { metaQueueKey, type NewMetaEvent } from '../../domain/meta-event.ts';
import type { Queryable } from '../database/database.ts';
import { type Column, namesOf, Parameters } from '../database/parameters.ts';
import { retryColumns } from '../database/retry-columns.ts';
import { META_EVENT_COLUMNS, type MetaEventRow } from '../history/meta-events.ts';
import { insertQueueRows } from './queue-rows.ts';

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
    `select ${META_EVENT_COLUMNS} from meta_events where id = $1 and project_id = $2 for update`,
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
       where id = $1 and project_id = $2 returning ${META_EVENT_COLUMNS}`,
    [id, projectId],
  );
  return changed;
}
