import { type FilterRecord, recordsFor } from '../../domain/config/subscription.ts';
import { siblingId } from '../../domain/ids.ts';
import { metaValues } from '../../domain/resources/fields.ts';
import { type SubscriptionFields, subscriptionFields } from '../../domain/resources/subscription-fields.ts';
import { type SubscriptionRow, subscriptions } from '../config/subscriptions.ts';
import { rowTimes } from '../database/row-times.ts';
import type { ConfigChange } from './config-change.ts';
import { addEventTypes } from './event-type-writes.ts';
import { deleteRows, saveRow } from './write-rows.ts';

/**
 * Inserts a subscription, or replaces every field of it, and records its meta event. Its event types are added to the
 * project's catalogue.
 */
export async function saveSubscription(
  change: ConfigChange,
  { id, fields }: { id: string; fields: SubscriptionFields },
): Promise<SubscriptionRow> {
  const uid = () => siblingId(id);
  await addEventTypes(change, change.projectId, { names: fields.event_types, uid });
  const filters = await filterRecords(change, fields, uid);
  // The driver makes JSON of objects; of an array it would make an array of the database.
  const values = { ...fields, filters: JSON.stringify(filters) };
  const { row, isNew } = await saveRow(change, subscriptions, { id, values });
  change.metaEvent(isNew ? 'subscription.created' : 'subscription.updated', () => subscriptionData(row));
  return row;
}

/** The records of a subscription's filters, one per event type. */
export async function filterRecords(
  change: ConfigChange,
  fields: SubscriptionFields,
  uid: () => string,
): Promise<FilterRecord[]> {
  const [row] = await change.query<{ now: number }>('select now() as now');
  const enabledAt = new Date(row?.now ?? 0).toISOString();
  return recordsFor(fields.event_types, fields.filters, { uid, enabledAt });
}

/** Deletes a subscription, or all of an endpoint or source, which end with it. Returns them. */
export async function deleteSubscriptions(
  change: ConfigChange,
  where: { column: 'id' | 'endpoint_id' | 'source_id'; value: string },
): Promise<SubscriptionRow[]> {
  const rows = await deleteRows(change, subscriptions, where);
  for (const row of rows) change.metaEvent('subscription.deleted', () => subscriptionData(row));
  return rows;
}

/** As meta events show it. */
function subscriptionData(row: SubscriptionRow): object {
  return {
    uid: row.id,
    project_id: row.project_id,
    ...metaValues(subscriptionFields, row),
    filter_config: { event_types: row.event_types, filter: row.filter },
    ...rowTimes(row),
  };
}
