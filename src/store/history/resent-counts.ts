import type { Queryable } from '../database/database.ts';
import { type DeliveryFilter, deliveryWalk } from './event-deliveries.ts';

export interface ResentCounts {
  delivered: number;
  failed: number;
  retrying: number;
  waiting: number;
}

/**
 * The present states of the deliveries of a filter that have changed since a time. Those with a later retry budget were sent
 * again. Those with their first one were discarded without an attempt and sent again, or were open then.
 */
export async function countChanged(
  db: Queryable,
  projectId: string,
  asked: { filter: DeliveryFilter; beforeId: string; sinceMs: number },
): Promise<Map<'later' | 'first', ResentCounts>> {
  const { filter, beforeId, sinceMs } = asked;
  const { from, where, perKey } = deliveryWalk(projectId, filter);
  if (perKey !== undefined) where.add(`${perKey.column} = any(?)`, [...perKey.values]);
  where.add('d.id < ?', beforeId).add('d.updated_at >= to_timestamp(?::float8 / 1000)', sinceMs);
  const is = (condition: string) => `(count(*) filter (where ${condition}))::int`;
  const rows = await db.query<ResentCounts & { budget: 'later' | 'first' }>(
    `select case when d.budget_from > 0 then 'later' else 'first' end as budget,
       ${is(`d.status = 'Success'`)} as delivered, ${is(`d.status in ('Failure', 'Discarded')`)} as failed,
       ${is(`d.status = 'Retry' and d.num_trials > d.budget_from`)} as retrying,
       ${is(`d.status in ('Scheduled', 'Processing') or d.status = 'Retry' and d.num_trials <= d.budget_from`)} as waiting
     from ${from} where ${where.toString()} group by 1`,
    where.values,
  );
  return new Map(rows.map(({ budget, ...counts }) => [budget, counts]));
}
