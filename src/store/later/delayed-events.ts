import type { QueueKey } from '../../domain/delivery.ts';
import type { EventId, ProjectId } from '../../domain/ids.ts';
import { byKey } from '../database/by-key.ts';
import type { Queryable } from '../database/database.ts';

/**
 * Moves the delivery time of an event. Its expansion is locked before the event, as the expander does, so no chunk with
 * the old time comes after. Then its waiting rows are locked: if the old time has not come by then, no node has claimed
 * any of them, and until the commit no node can.
 */
export interface DelayedEvent {
  id: EventId;
  project_id: ProjectId;
  deliver_at: number;
  expires_at: number | null;
}

/** Undefined: it is not delayed, its time has come, or all of its deliveries have ended or were sent by hand. */
export async function lockDelayed(
  tx: Queryable,
  projectId: ProjectId,
  id: string,
): Promise<DelayedEvent | undefined> {
  const key = [projectId, id];
  const expansions = await tx.query(
    'select id from expansions where project_id = $1 and event_id = $2 and deliver_at is not null for update',
    key,
  );
  const [event] = await tx.query<DelayedEvent>(
    `select id, project_id, deliver_at, expires_at from events
     where project_id = $1 and id = $2 and deliver_at > now() for no key update`,
    key,
  );
  if (event === undefined) return undefined;
  const rows = await tx.query(
    `select q.delivery_id from ${WAITING_ROWS} order by q.delivery_id for update of q`,
    key,
  );
  const [isLater] = await tx.query(
    'select from events where project_id = $1 and id = $2 and deliver_at > clock_timestamp()',
    key,
  );
  return isLater !== undefined && rows.length + expansions.length > 0 ? event : undefined;
}

/** Rows that wait for the time of their event. */
const WAITING_ROWS = `event_deliveries d
     join events e on ${byKey('e.id', 'd.event_id')}
     join delivery_queue q on ${byKey('q.delivery_id', 'd.id')}
     where d.project_id || '' = $1 and d.event_id = $2 and q.due_at = e.deliver_at`;

/** Where its rows wait. */
export async function moveDelayed(
  tx: Queryable,
  { project_id, id }: DelayedEvent,
  deliverAtMs: number,
): Promise<{ key: QueueKey; lane: number }[]> {
  const values = [project_id, id, deliverAtMs];
  const at = 'to_timestamp($3::float8 / 1000)';
  const places = await tx.query<{ key: QueueKey; lane: number }>(MOVE, values);
  await tx.query(
    `update expansions set deliver_at = ${at} where project_id = $1 and event_id = $2 and deliver_at is not null`,
    values,
  );
  await tx.query(`update events set deliver_at = ${at} where project_id = $1 and id = $2`, values);
  await tx.query(
    `update delayed_events set deliver_at = ${at} where project_id = $1 and event_id = $2`,
    values,
  );
  return places;
}

/** A time that follows from the delivery time moves with it; that of the event itself stays. */
const MOVE = `
with moved as materialized (
  select d.project_id, d.id, d.expires_at, greatest(now(), to_timestamp($3::float8 / 1000)) as due_at,
    case when d.expires_at is distinct from e.expires_at
      then least(e.expires_at, d.expires_at + (to_timestamp($3::float8 / 1000) - e.deliver_at))
      else d.expires_at end as new_expires_at
  from ${WAITING_ROWS}
), deliveries as (
  update event_deliveries d set next_send_at = moved.due_at, expires_at = moved.new_expires_at, updated_at = now()
  from moved where ${byKey('d.id', 'moved.id')}
), expiries as (
  update delivery_expiries x set expires_at = moved.new_expires_at
  from moved
  where (x.expires_at, x.project_id, x.delivery_id) = (moved.expires_at, moved.project_id, moved.id)
    and moved.expires_at <> moved.new_expires_at
), rows as (
  update delivery_queue q set due_at = moved.due_at
  from moved where ${byKey('q.delivery_id', 'moved.id')}
  returning q.key, q.lane
)
select distinct key, lane from rows`;
