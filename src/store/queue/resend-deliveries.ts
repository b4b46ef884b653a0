import type { MetaEventRecorder } from '../config/meta-event-recorder.ts';
import type { Queryable } from '../database/database.ts';
import { tellOfEnded } from './tell-of-ended.ts';

/**
 * Ended deliveries made open again, and open ones ended by hand. Both move the delivery and its queue row in one
 * transaction, queue rows in id order, as finishing does.
 *
 * A new queue row gets a random fence. Fences of one row count up from 1, so one that was cancelled while a node was
 * sending it, and then resent, can never be finished by that old sender.
 */
export interface LockedDelivery {
  id: string;
  event_id: string;
  endpoint_id: string;
  subscription_id: string | null;
  event_type: string;
  status: string;
}

/** Locks those of the given deliveries that are in one of the states. */
export function lockDeliveries(
  tx: Queryable,
  projectId: string,
  wanted: { ids: readonly string[]; statuses?: readonly string[] },
): Promise<LockedDelivery[]> {
  return tx.query<LockedDelivery>(
    `select id, event_id, endpoint_id, subscription_id, event_type, status from event_deliveries
     where id = any($1) and project_id = $2 and ($3::text[] is null or status = any($3))
     order by id for update`,
    [wanted.ids, projectId, wanted.statuses ?? null],
  );
}

/** Locked, ended deliveries become due at once, with a fresh retry budget. */
export async function reopenDeliveries(
  tx: Queryable,
  projectId: string,
  resend: { deliveries: readonly { id: string; event_id: string; key: string }[]; lane: number },
): Promise<void> {
  const { deliveries, lane } = resend;
  if (deliveries.length === 0) return;
  await tx.query(
    `update event_deliveries set status = 'Scheduled', description = null, budget_from = num_trials,
       next_send_at = now(), updated_at = now()
     where id = any($1) and project_id = $2`,
    [deliveries.map((d) => d.id), projectId],
  );
  await tx.query(
    `insert into delivery_queue (delivery_id, event_id, project_id, key, lane, due_at, fence)
     select id, event_id, $1, key, $2, now(), 1000000 + floor(random() * 1000000000)::int
     from unnest($3::text[], $4::text[], $5::text[]) as q(id, event_id, key) order by id
     on conflict do nothing`,
    [
      projectId,
      lane,
      deliveries.map((d) => d.id),
      deliveries.map((d) => d.event_id),
      deliveries.map((d) => d.key),
    ],
  );
}

/**
 * Ends those of the given deliveries that are still open, and tells of them; returns how many. One being sent ends as
 * well: its outcome comes too late.
 */
export async function endOpenDeliveries(
  { tx, metaEvents }: { tx: Queryable; metaEvents: MetaEventRecorder },
  projectId: string,
  end: { ids: readonly string[]; status: 'Discarded' | 'Failure'; description: string },
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
    `update event_deliveries set status = $3, description = $4, updated_at = now()
     where id = any($1) and project_id = $2 returning id`,
    [gone.map((row) => row.id), projectId, end.status, end.description],
  );
  const told = { ids: ended.map((row) => row.id).sort(), status: end.status };
  await tellOfEnded({ tx, metaEvents }, projectId, told);
  return ended.length;
}
