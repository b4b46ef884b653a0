import type { DeliveryStatus } from '../../domain/delivery.ts';
import type { Queryable } from '../database/database.ts';

/** Events and deliveries in short form, for watchers. Without payloads, so that a second of load is cheap to read. */
export interface RecentEvent {
  id: string;
  event_type: string;
  source_id: string | null;
  status: string;
  failure_reason: string | null;
  is_duplicate: boolean;
  endpoints: string[];
}

export interface RecentDelivery {
  id: string;
  event_id: string;
  endpoint_id: string;
  subscription_id: string | null;
  event_type: string;
  status: DeliveryStatus;
  num_trials: number;
  last_outcome: string | null;
  latency_ms: number | null;
  updated_at: number;
}

/** The newest rows from an id on, newest first. */
interface Recent {
  from: string;
  limit: number;
}

export function recentEvents(
  db: Queryable,
  projectId: string,
  { from, limit }: Recent,
): Promise<RecentEvent[]> {
  return db.query<RecentEvent>(
    `select id, event_type, source_id, status, failure_reason, is_duplicate, endpoints from events
     where project_id = $1 and id >= $2 order by id desc limit $3`,
    [projectId, from, limit],
  );
}

export function recentDeliveries(
  db: Queryable,
  projectId: string,
  { from, limit }: Recent,
): Promise<RecentDelivery[]> {
  return db.query<RecentDelivery>(
    `select id, event_id, endpoint_id, subscription_id, event_type, status, num_trials, last_outcome, latency_ms, updated_at
     from event_deliveries where project_id = $1 and id >= $2 order by id desc limit $3`,
    [projectId, from, limit],
  );
}
