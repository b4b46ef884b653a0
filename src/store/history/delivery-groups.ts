import type { DeliveryStatus } from '../../domain/delivery.ts';
import { NOT_SENT } from '../../domain/delivery.ts';
import type { Queryable } from '../database/database.ts';
import { type DeliveryFilter, deliveryWalk } from './event-deliveries.ts';

/** Counts of the deliveries of a filter, by several things at once. The caller sets a time limit. */
export interface DeliverySummary {
  total: number;
  /** The id of the oldest. Null: there are none. */
  oldest: string | null;
  endpoints: { endpoint_id: string; count: number }[];
  statuses: { status: DeliveryStatus; count: number }[];
  outcomes: { outcome: string; count: number }[];
}

export const OUTCOME = `coalesce(d.last_outcome, '${NOT_SENT}')`;

export function walkOf(
  projectId: string,
  filter: DeliveryFilter,
): { from: string; where: string; values: unknown[] } {
  const { from, where, perKey } = deliveryWalk(projectId, filter);
  if (perKey !== undefined) where.add(`${perKey.column} = any(?)`, [...perKey.values]);
  return { from, where: where.toString(), values: where.values };
}

export async function summarizeDeliveries(
  db: Queryable,
  projectId: string,
  filter: DeliveryFilter,
): Promise<DeliverySummary> {
  const { from, where, values } = walkOf(projectId, filter);
  const rows = await db.query<{
    by: 'endpoint' | 'status' | 'outcome' | 'all';
    value: string;
    count: number;
    oldest: string | null;
  }>(
    `select case grouping(endpoint_id, status, outcome) when 3 then 'endpoint' when 5 then 'status' when 6 then 'outcome' else 'all' end as by,
       coalesce(endpoint_id, status, outcome) as value, sum(n)::bigint as count, min(oldest) as oldest
     from (
       select d.endpoint_id, d.status, ${OUTCOME} as outcome, count(*) as n, min(d.id) as oldest
       from ${from} where ${where} group by 1, 2, 3
     ) counted
     group by grouping sets ((endpoint_id), (status), (outcome), ()) order by count desc, value`,
    values,
  );
  const by = (wanted: string) => rows.filter((row) => row.by === wanted);
  const [all] = by('all');
  return {
    total: all?.count ?? 0,
    oldest: all?.oldest ?? null,
    endpoints: by('endpoint').map(({ value, count }) => ({ endpoint_id: value, count })),
    statuses: by('status').map(({ value, count }) => ({ status: value as DeliveryStatus, count })),
    outcomes: by('outcome').map(({ value, count }) => ({ outcome: value, count })),
  };
}
