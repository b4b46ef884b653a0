import type { DeliveryStatus, QueueKey } from '../../domain/delivery.ts';
import type { EventId, ProjectId } from '../../domain/ids.ts';
import { countEnded } from '../counts/recent-counts.ts';
import type { Queryable } from '../database/database.ts';
import { Parameters } from '../database/parameters.ts';
import type { StoredDelivery } from '../history/event-deliveries.ts';
import { recordEndedMetaEvents } from './ended-meta-events.ts';
import type { MetaEventRecorder } from './meta-event-recorder.ts';
import { insertQueueRows } from './queue-rows.ts';

/**
 * Reopens ended deliveries, and ends open ones by hand. Both change the delivery and its queue row in one
 * transaction, queue rows in id order, as a finish does.
 */
export type LockedDelivery = Pick<
  StoredDelivery,
  'id' | 'event_id' | 'endpoint_id' | 'subscription_id' | 'event_type' | 'status'
>;

/** Locks those of the given deliveries that are in one of the states. */
export function lockDeliveries(
  tx: Queryable,
  projectId: string,
  wanted: { ids: readonly string[]; statuses?: readonly DeliveryStatus[] },
): Promise<LockedDelivery[]> {
  return tx.query<LockedDelivery>(
    `select id, event_id, endpoint_id, subscription_id, event_type, status from event_deliveries
     where id = any($1) and project_id = $2 and ($3::text[] is null or status = any($3))
     order by id for update`,
    [wanted.ids, projectId, wanted.statuses ?? null],
  );
}

interface Resend {
  deliveries: readonly { id: string; event_id: EventId; key: QueueKey }[];
  lane: number;
}

const requeue = new Parameters<Resend & { projectId: string }>();
const project = requeue.one('text', (batch) => batch.projectId);
const lane = requeue.one('int', (batch) => batch.lane);
const queued = requeue.rows(
  (batch) => batch.deliveries,
  [
    ['id', 'id', (d) => d.id],
    ['event_id', 'id', (d) => d.event_id],
    ['key', 'id', (d) => d.key],
  ],
);
const REQUEUE = `
${insertQueueRows({ from: `(select *, ${project} as project_id from ${queued.as('d')}) q order by id`, lane, hadRowBefore: true })}
on conflict do nothing`;

/** Locked, ended deliveries become due at once, with a fresh retry budget. */
export async function reopenDeliveries(tx: Queryable, projectId: string, resend: Resend): Promise<void> {
  const { deliveries } = resend;
  if (deliveries.length === 0) return;
  await tx.query(
    `update event_deliveries set status = 'Scheduled', description = null, budget_from = num_trials,
       next_send_at = now(), cancelled_at = null, updated_at = now()
     where id = any($1) and project_id = $2`,
    [deliveries.map((d) => d.id), projectId],
  );
  await tx.query(REQUEUE, requeue.values({ projectId, ...resend }));
}

/**
 * Ends those of the given deliveries that are still open, with their meta events. Returns how many. One being
 * sent ends too: its outcome comes too late.
 */
export async function endOpenDeliveries(
  { tx, metaEvents }: { tx: Queryable; metaEvents: MetaEventRecorder },
  projectId: ProjectId,
  end: {
    ids: readonly string[];
    status: 'Discarded' | 'Failure';
    description: string;
    isCancelled?: boolean;
  },
): Promise<number> {
  const gone = await tx.query<{ id: string }>(
    `with mine as materialized (
       select delivery_id from delivery_queue where delivery_id = any($1) and project_id = $2
       order by delivery_id for update
     )
     delete from delivery_queue q using mine where q.project_id = $2 and q.delivery_id = mine.delivery_id
     returning q.delivery_id as id`,
    [end.ids, projectId],
  );
  const ended = await tx.query<{ id: string }>(
    `with ended as (
       update event_deliveries set status = $3, description = $4, updated_at = now(),
         cancelled_at = case when $5 then now() end
       where id = any($1) and project_id = $2 returning id, event_id, endpoint_id, event_type, status
     ), counted as (${countEnded('$2')})
     select id from ended`,
    [gone.map((row) => row.id), projectId, end.status, end.description, end.isCancelled === true],
  );
  const outcome = { ids: ended.map((row) => row.id).sort(), status: end.status };
  await recordEndedMetaEvents({ tx, metaEvents }, projectId, outcome);
  return ended.length;
}
