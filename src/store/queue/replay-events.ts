import type { ProjectId } from '../../domain/ids.ts';
import type { Queryable } from '../database/database.ts';
import type { EventRow } from './accept-events.ts';
import { insertExpansion } from './expansions.ts';
import { insertWaiting, type NewDelivery } from './insert-deliveries.ts';

/**
 * New deliveries of a stored event, which takes over the result of the new match. If they are too many for one
 * commit, the list of their subscriptions is stored. False: the event has been removed. From here on the transaction's
 * lock prevents its removal.
 */
export async function insertReplay(
  tx: Queryable,
  replay: {
    event: Pick<EventRow, 'id' | 'projectId' | 'endpointIds'>;
    deliveries: readonly NewDelivery[];
    expansion: { id: string; subscriptionIds: readonly string[] } | null;
    lane: number;
  },
): Promise<boolean> {
  const { event, deliveries, expansion, lane } = replay;
  if (deliveries.length === 0 && expansion === null) return true;
  const kept = await tx.query('select id from events where id = $2 and project_id = $1 for key share', [
    event.projectId,
    event.id,
  ]);
  if (kept.length === 0) return false;
  if (expansion !== null)
    await insertExpansion(tx, {
      id: expansion.id,
      event_id: event.id,
      project_id: event.projectId,
      subscription_ids: expansion.subscriptionIds,
      lane,
    });
  if (deliveries.length > 0) await insertWaiting(tx, { deliveries, lane });
  await tx.query(
    `update events set status = case when $4 or status = 'Processing' then 'Processing' else 'Success' end, failure_reason = null,
       endpoints = array(select distinct unnest(endpoints || $3::text[]) limit 1000)
     where id = $1 and project_id = $2 and ($4 or status <> 'Success' or not endpoints @> $3::text[])`,
    [event.id, event.projectId, [...event.endpointIds], expansion !== null],
  );
  return true;
}

/** The content that a source now makes of an event that it could not read before. */
export interface EventContent {
  eventType: string;
  /** JSON; null: to whatever subscription matches. */
  target: string | null;
  payload: Buffer;
  contentType: string | null;
  headers: string;
  forwardedHeaders: string | null;
}

export async function saveContent(
  tx: Queryable,
  event: { id: string; project_id: ProjectId },
  content: EventContent,
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
