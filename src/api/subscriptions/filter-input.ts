import type { Static } from 'typebox';
import { type FilterRecord, noConditions } from '../../domain/config/subscription.ts';
import { found, invalid } from '../../domain/errors.ts';
import type { SubscriptionRow } from '../../store/config/subscriptions.ts';
import type { ReadContext } from '../http/context.ts';
import { iso } from '../http/fields.ts';
import { updated } from '../http/updated.ts';
import { readConditions } from './filter-conditions.ts';
import { type CreateFilter, readEnabledAt, UpdateFilter } from './filter-schema.ts';

type Creation = Static<typeof CreateFilter>;
type Change = Static<typeof UpdateFilter> & { uid: string };

/** The records of a subscription plus new ones. A new record has no condition in scopes that it omits. */
export function addedFilters(
  context: Pick<ReadContext, 'ids' | 'now'>,
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

/** The records of a subscription with changes. Given scopes become the record's own. */
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
