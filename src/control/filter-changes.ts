import type { AuditNote } from '../domain/audit.ts';
import {
  type FilterConditions,
  type FilterRecord,
  isEventTypePattern,
} from '../domain/config/subscription.ts';
import { requireEventTypes } from '../domain/endpoint-scope.ts';
import { AppError, found, invalid } from '../domain/errors.ts';
import { saveSubscription } from '../store/changes/subscription-writes.ts';
import { knownEventTypes } from '../store/config/event-types.ts';
import type { SubscriptionRow } from '../store/config/subscriptions.ts';
import type { ConfigChange, ConfigChanges } from './config-changes.ts';
import { type OneSubscription, refuseOverlap, subscriptionOf } from './subscription-changes.ts';

/** Each node has every subscription's filters in memory, so their size is limited. */
const MAX_FILTER_BYTES = 1_048_576;
const MAX_EVENT_TYPES = 1_000;

/** Stores the filters of a subscription as `make` gives them. Its event types are those of its filters. */
export function changeFilters(
  changes: ConfigChanges,
  one: OneSubscription,
  make: (row: SubscriptionRow) => FilterRecord[],
): Promise<SubscriptionRow> {
  return changes.change(one, async (change) => {
    const row = found(await subscriptionOf(change, one), 'subscription', one.id);
    const filters = make(row);
    checkFilterSize(row.filter, filters);
    const types = filters.map((record) => record.event_type);
    const added = types.filter((type) => !row.event_types.includes(type));
    await checkEventTypes(change, added);
    requireEventTypes(one.scope, added);
    const fields = { ...row, filters, event_types: types };
    const result = await saveSubscription(change, { id: row.id, fields });
    await refuseOverlap(changes, change, { endpointId: row.endpoint_id, field: 'event_type' });
    return { result, audit: filterNotes(row, filters) };
  });
}

export function checkFilterSize(conditions: FilterConditions, records: readonly FilterRecord[]): void {
  if (records.length > MAX_EVENT_TYPES)
    throw invalid('event_types', `a subscription has at most ${MAX_EVENT_TYPES} event types`);
  if (Buffer.byteLength(JSON.stringify([conditions, records])) > MAX_FILTER_BYTES)
    throw invalid('filter', `the filters of a subscription have at most ${MAX_FILTER_BYTES} bytes together`);
}

/** Exact names must be in the project's catalogue, so that a typo is noticed. */
async function checkEventTypes(change: ConfigChange, added: readonly string[]): Promise<void> {
  const exact = added.filter((type) => !isEventTypePattern(type));
  if (exact.length === 0) return;
  const known = await knownEventTypes(change, change.projectId, exact);
  const unknown = exact.find((type) => !known.has(type));
  if (unknown !== undefined)
    throw new AppError('not_in_project', { field: 'event_type', resource: 'event type', id: unknown });
}

/** One audit note per record that was added, changed or removed. An unchanged record is still the same object. */
function filterNotes(row: SubscriptionRow, records: readonly FilterRecord[]): AuditNote[] {
  const known = new Map(row.filters.map((record) => [record.uid, record]));
  const kept = new Map(records.map((record) => [record.uid, record]));
  const shown = (record: FilterRecord | undefined) =>
    record === undefined ? null : { subscription_id: row.id, ...record };
  return [...new Set([...known.keys(), ...kept.keys()])].flatMap((uid) => {
    const [was, is] = [known.get(uid), kept.get(uid)];
    if (was === is) return [];
    const action =
      was === undefined ? 'filter.created' : is === undefined ? 'filter.deleted' : 'filter.updated';
    return [{ action, resourceId: uid, before: shown(was), after: shown(is) } as const];
  });
}
