import { deliveryData, endingType } from '../../domain/delivery-data.ts';
import type { ProjectId } from '../../domain/ids.ts';
import { wantsMetaEvent } from '../../domain/meta-event.ts';
import { getProjectConfig } from '../config/projects.ts';
import type { Queryable } from '../database/database.ts';
import { retryOf } from '../database/retry-columns.ts';
import { deliveriesByIds, type StoredDelivery } from '../history/event-deliveries.ts';
import { insertMetaEvents } from './insert-meta-events.ts';
import type { MetaEventRecorder } from './meta-event-recorder.ts';

/** Each loads its payload into memory, twice. */
const SLICE = 20;

/** Creates the meta events of deliveries that this transaction ended, if their project wants them. */
export async function recordEndedMetaEvents(
  { tx, metaEvents }: { tx: Queryable; metaEvents: MetaEventRecorder },
  projectId: ProjectId,
  ended: { ids: readonly string[]; status: 'Discarded' | 'Failure' },
): Promise<void> {
  const type = endingType(ended.status);
  const config = ended.ids.length === 0 ? undefined : await getProjectConfig(tx, projectId);
  if (type === undefined || config === undefined) return;
  if (!wantsMetaEvent(config.meta_event, type)) return;
  for (let from = 0; from < ended.ids.length; from += SLICE) {
    const rows = await deliveriesByIds(tx, projectId, ended.ids.slice(from, from + SLICE));
    const made = rows.map((row) =>
      metaEvents.prepare({ id: projectId, config }, type, () => storedData({ ...row, status: ended.status })),
    );
    await insertMetaEvents(
      tx,
      made.filter((event) => event !== undefined),
    );
  }
}

function storedData(row: StoredDelivery & { status: 'Discarded' | 'Failure' }): object {
  return deliveryData({
    id: row.id,
    projectId: row.project_id,
    eventId: row.event_id,
    endpointId: row.endpoint_id,
    subscriptionId: row.subscription_id,
    eventType: row.event_type,
    status: row.status,
    description: row.description,
    idempotencyKey: row.idempotency_key,
    urlQueryParams: row.url_query_params,
    body: row.body ?? row.payload,
    contentType: row.body === null ? row.content_type : null,
    numTrials: row.num_trials,
    retry: retryOf(row),
    attempt: null,
    acknowledgedAtMs: row.acknowledged_at,
    endedAtMs: row.updated_at,
  });
}
