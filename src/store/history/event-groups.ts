import type { Queryable } from '../database/database.ts';
import { type EventFilter, eventConditions } from './events.ts';

/** Counts of the events that a replay would send: duplicates are left out. The caller sets a time limit. */
export interface EventSummary {
  total: number;
  /** The id of the oldest. Null: there are none. */
  oldest: string | null;
  statuses: { status: string; count: number }[];
  /** The newest. */
  sample: { id: string; event_type: string; status: string }[];
}

export async function summarizeEvents(
  db: Queryable,
  projectId: string,
  { sample, ...filter }: EventFilter & { sample: number },
): Promise<EventSummary> {
  const where = eventConditions(projectId, filter).add('not is_duplicate');
  const conditions = where.toString();
  const statuses = await db.query<{ status: string; count: number; oldest: string }>(
    `select status, count(*) as count, min(id) as oldest from events where ${conditions} group by 1 order by 2 desc`,
    where.values,
  );
  const newest = await db.query<EventSummary['sample'][number]>(
    `select id, event_type, status from events where ${conditions} order by id desc limit ${sample}`,
    where.values,
  );
  return {
    total: statuses.reduce((sum, { count }) => sum + count, 0),
    oldest: statuses.map(({ oldest }) => oldest).sort()[0] ?? null,
    statuses: statuses.map(({ status, count }) => ({ status, count })),
    sample: newest,
  };
}
