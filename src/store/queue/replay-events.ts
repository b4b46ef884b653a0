import type { ProjectId } from '../../domain/ids.ts';
import type { Queryable } from '../database/database.ts';
import type { EventRow } from './accept-events.ts';
import { insertWaiting, type NewDelivery } from './insert-deliveries.ts';

/**
 * New deliveries of a stored event, which takes over the result of the new match. False: the event has been
 * removed. From here on the transaction's lock prevents its removal.
 */
export async function insertReplay(
  tx: Queryable,
  replay: {
    event: Pick<EventRow, 'id' | 'projectId' | 'endpointIds'>;
    deliveries: readonly NewDelivery[];
    lane: number;
  },
): Promise<boolean> {
  const { event, deliveries, lane } = replay;
  if (deliveries.length === 0) return true;
  const kept = await tx.query('select id from events where id = $2 and project_id = $1 for key share', [
    event.projectId,
    event.id,
  ]);
  if (kept.length === 0) return false;
  await insertWaiting(tx, { deliveries, lane });
  await tx.query(
    `update events set status = case when status = 'Processing' then status else 'Success' end, failure_reason = null,
       endpoints = array(select distinct unnest(endpoints || $3::text[]) limit 1000)
     where id = $1 and project_id = $2 and (status <> 'Success' or not endpoints @> $3::text[])`,
    [event.id, event.projectId, [...event.endpointIds]],
  );
  return true;
}

/** What a source made of an event that it could not read when it was stored. */
export async function saveContent(
  tx: Queryable,
  event: { id: string; project_id: ProjectId },
  content: {
    eventType: string;
    /** JSON; null: to whatever subscription matches. */
    target: string | null;
    payload: Buffer;
    contentType: string | null;
    headers: string;
    forwardedHeaders: string | null;
  },
): Promise<void> {
  await tx.query(
    `update events set payload = $3, content_type = $4, headers = $5, forwarded_headers = $6, event_type = $7,
       target = $8, source_function_failed = false
     where id = $1 and project_id = $2`,
    [
      event.id,
      event.project_id,
      content.payload,
      content.contentType,
      content.headers,
      content.forwardedHeaders,
      content.eventType,
      content.target,
    ],
  );
}
