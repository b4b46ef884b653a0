import type { Static } from 'typebox';
import type { AuditNote } from '../../domain/audit.ts';
import { AppError } from '../../domain/errors.ts';
import { type FilterRecord, isEventTypePattern, noConditions } from '../../domain/subscription.ts';
import { knownEventTypes } from '../../store/config/event-types.ts';
import type { SubscriptionRow } from '../../store/config/subscriptions.ts';
import type { Queryable } from '../../store/database/database.ts';
import type { ApiContext } from '../http/context.ts';
import { found, invalid, iso } from '../http/fields.ts';
import { updated } from '../http/updated.ts';
import { readConditions } from './filter-conditions.ts';
import { type CreateFilter, readEnabledAt, UpdateFilter } from './filter-schema.ts';

type Creation = Static<typeof CreateFilter>;
type Change = Static<typeof UpdateFilter> & { uid: string };

/** The records of a subscription with further ones. What a new record does not say, it does not ask for. */
export function addedFilters(
  context: Pick<ApiContext, 'ids' | 'now'>,
  row: SubscriptionRow,
  given: readonly { filter: Creation; field: string }[],
): FilterRecord[] {
  const added = given.map(({ filter, field }): FilterRecord => {
    const enabledAt = readEnabledAt(filter.enabled_at, `${field}enabled_at`);
    return {
      uid: context.ids.next(),
      event_type: filter.event_type,
      enabled_at: enabledAt === undefined ? iso(context.now()) : enabledAt,
      own: { ...noConditions(), ...readConditions(filter, field.replace(/\.$/, '')) },
    };
  });
  return oncePerType([...row.filters, ...added]);
}

/** The records of a subscription, some changed; scopes that are given become the record's own. */
export function changedFilters(
  row: SubscriptionRow,
  given: readonly { change: Change; field: string }[],
): FilterRecord[] {
  const records = new Map(row.filters.map((record) => [record.uid, record]));
  for (const { change, field } of given) {
    const record = found(records.get(change.uid), 'filter', change.uid);
    const given = {
      event_type: change.event_type || undefined,
      enabled_at: readEnabledAt(change.enabled_at, `${field}enabled_at`),
    };
    records.set(record.uid, {
      ...updated(record, UpdateFilter, given),
      own: { ...record.own, ...readConditions(change, field.replace(/\.$/, '')) },
    });
  }
  return oncePerType([...records.values()]);
}

function oncePerType(records: FilterRecord[]): FilterRecord[] {
  const seen = new Set<string>();
  for (const { event_type } of records) {
    if (seen.has(event_type))
      throw invalid('event_type', `the subscription has more than one filter for ${event_type}`);
    seen.add(event_type);
  }
  return records;
}

/** Exact names must stand in the project's catalogue, so that a misspelt one is noticed. */
export async function checkEventTypes(
  tx: Queryable,
  row: SubscriptionRow,
  records: readonly FilterRecord[],
): Promise<void> {
  const added = records
    .map((record) => record.event_type)
    .filter((type) => !row.event_types.includes(type) && !isEventTypePattern(type));
  if (added.length === 0) return;
  const known = await knownEventTypes(tx, row.project_id, added);
  const unknown = added.find((type) => !known.has(type));
  if (unknown !== undefined)
    throw new AppError('not_in_project', { field: 'event_type', resource: 'event type', id: unknown });
}

/** One note per record that was added, changed or taken away; one that was left alone is still the same object. */
export function filterNotes(row: SubscriptionRow, records: readonly FilterRecord[]): AuditNote[] {
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
