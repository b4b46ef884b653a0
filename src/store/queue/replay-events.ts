import type { Queryable } from '../database/database.ts';
import type { DeliveryRow, EventRow } from './accept-events.ts';

/**
 * New deliveries of an event that is stored already; it takes on what the new match says of it. False: the event has
 * been removed meanwhile. It cannot be from here to the end of the transaction.
 */
export async function insertReplay(
  tx: Queryable,
  replay: {
    event: Pick<EventRow, 'id' | 'projectId' | 'eventType' | 'endpointIds'>;
    deliveries: readonly DeliveryRow[];
    lane: number;
  },
): Promise<boolean> {
  const { event, deliveries, lane } = replay;
  if (deliveries.length === 0) return true;
  const made = await tx.query(
    `with e as materialized (select id from events where id = $2 and project_id = $1 for key share)
     insert into event_deliveries (id, project_id, event_id, endpoint_id, subscription_id, event_type, status,
       delivery_mode, strategy, interval_seconds, max_retry_seconds, retry_limit, next_send_at, updated_at)
     select d.id, $1, e.id, endpoint_id, subscription_id, $3, 'Scheduled', delivery_mode, strategy, interval_seconds,
       max_retry_seconds, retry_limit, now(), now()
     from unnest($4::text[], $5::text[], $6::text[], $7::text[], $8::text[], $9::int[], $10::int[], $11::int[])
       as d(id, endpoint_id, subscription_id, delivery_mode, strategy, interval_seconds, max_retry_seconds, retry_limit), e
     returning id`,
    [
      event.projectId,
      event.id,
      event.eventType,
      deliveries.map((d) => d.id),
      deliveries.map((d) => d.endpointId),
      deliveries.map((d) => d.subscriptionId),
      deliveries.map((d) => d.deliveryMode),
      deliveries.map((d) => d.strategy),
      deliveries.map((d) => d.intervalSeconds),
      deliveries.map((d) => d.maxRetrySeconds),
      deliveries.map((d) => d.retryLimit),
    ],
  );
  if (made.length === 0) return false;
  await tx.query(
    `insert into delivery_queue (delivery_id, event_id, project_id, key, lane, due_at)
     select id, $1, $2, key, $3, now() from unnest($4::text[], $5::text[]) as q(id, key)`,
    [event.id, event.projectId, lane, deliveries.map((d) => d.id), deliveries.map((d) => d.key)],
  );
  await tx.query(
    `update events set status = case when status = 'Processing' then status else 'Success' end, failure_reason = null,
       endpoints = array(select distinct unnest(endpoints || $3::text[]) limit 1000)
     where id = $1 and project_id = $2 and (status <> 'Success' or not endpoints @> $3::text[])`,
    [event.id, event.projectId, [...event.endpointIds]],
  );
  return true;
}

/** What a function made of an event that was stored without it. */
export async function saveContent(
  tx: Queryable,
  event: { id: string; project_id: string },
  content: {
    payload: Buffer;
    contentType: string | null;
    headers: string;
    forwardedHeaders: string | null;
  },
): Promise<void> {
  await tx.query(
    `update events set payload = $3, content_type = $4, headers = $5, forwarded_headers = $6
     where id = $1 and project_id = $2`,
    [
      event.id,
      event.project_id,
      content.payload,
      content.contentType,
      content.headers,
      content.forwardedHeaders,
    ],
  );
}
