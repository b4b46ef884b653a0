import type { Queryable } from '../database/database.ts';
import { type CountStep, LENGTH } from './read-counts.ts';
import { TOTALS, type Totals } from './subjects.ts';

export interface EndpointWindow extends Totals {
  /** The start of the last step with an attempt that succeeded. */
  last_success: number | null;
}

/** Counts of each endpoint in a range, of those that have any. */
export async function endpointsInRange(
  db: Queryable,
  projectId: string,
  asked: { endpointIds: readonly string[]; step: CountStep; fromMs: number; toMs: number },
): Promise<Map<string, EndpointWindow>> {
  const own = TOTALS.filter((name) => name !== 'accepted').join(', ');
  const rows = await db.query<EndpointWindow & { id: string }>(
    `select id, ${TOTALS.map((name) => `sum(${name})::bigint as ${name}`).join(', ')},
       max(start) filter (where attempts > failed_attempts) as last_success from (
       select subject_id as id, start, accepted, ${own} from traffic
       where project_id = $1 and subject_id = any($2) and step = $3
       union all
       select endpoint_id, minute, deliveries, ${own} from recent_counts
       where project_id = $1 and endpoint_id = any($2)
     ) counted
     where start >= to_timestamp($4::float8 / 1000) and start < to_timestamp($5::float8 / 1000) group by 1`,
    [projectId, asked.endpointIds, LENGTH[asked.step], asked.fromMs, asked.toMs],
  );
  return new Map(rows.map(({ id, ...counts }) => [id, counts]));
}
