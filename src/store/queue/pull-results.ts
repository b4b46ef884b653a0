import type { LeasedDelivery } from '../../domain/delivery.ts';
import type { Attempt } from '../attempts/attempt.ts';
import { attemptsByIds } from '../attempts/read-attempts.ts';
import { byKey } from '../database/by-key.ts';
import type { Queryable } from '../database/database.ts';
import { CLAIMED_FIELDS, CLAIMED_JOIN, type ClaimedDeliveryRow, fromRow } from './claim-deliveries.ts';

/**
 * The deliveries of an endpoint that results name, whether or not a lease still runs. Without its queue row a delivery
 * has ended, and its result is late. The bodies are read only for meta events, because they may be large.
 */
export async function reportedDeliveries(
  db: Queryable,
  at: { projectId: string; endpointId: string; ids: readonly string[]; withBodies: boolean },
): Promise<Map<string, LeasedDelivery>> {
  const rows = await db.query<ClaimedDeliveryRow>(
    `select leased.*, ${CLAIMED_FIELDS}, case when $4 then d.body end as body,
       case when $4 then e.payload else '' end as payload
     from (
       select d.id as delivery_id, d.event_id, d.project_id, coalesce(q.key, d.endpoint_id) as key,
         coalesce(q.lane, 0) as lane, coalesce(q.fence, 0) as fence, false as is_started, false as is_second_request,
         q.pulled_at, q.pulled_headers, q.ordering_id, q.place, 0::float8 as late_ms
       from event_deliveries d
       left join delivery_queue q on ${byKey('q.delivery_id', 'd.id')}
       where d.project_id = $1 and d.id = any($3) and d.endpoint_id = $2
     ) leased ${CLAIMED_JOIN}`,
    [at.projectId, at.endpointId, at.ids, at.withBodies],
  );
  return new Map(rows.map((row) => [row.delivery_id, fromRow(row)]));
}

/** The result in a stored attempt. */
export type AttemptResult = Pick<Attempt, 'succeeded' | 'httpStatus' | 'error'>;

/** The attempts that are recorded and count, by id. */
export async function countedAttempts(
  db: Queryable,
  projectId: string,
  attempts: readonly { deliveryId: string; attemptId: string }[],
): Promise<Map<string, AttemptResult>> {
  const recorded = await attemptsByIds(db, projectId, attempts);
  return new Map(recorded.filter(({ isStale }) => !isStale).map((attempt) => [attempt.id, attempt]));
}
