import { OUTAGE } from '../../domain/alert.ts';
import type { Queryable } from '../database/database.ts';
import { ATTEMPTS_PER_MINUTE, LENGTH } from './read-counts.ts';

/** An endpoint that fails, by the counts of all nodes. All times in milliseconds. */
export interface Outage {
  id: string;
  /** When the first attempt failed after the last success or change of the endpoint, at most two days ago. */
  failing_since: number | null;
  /** When the alert was raised, or the endpoint changed after that. Null: it is not raised. */
  warned_at: number | null;
  /** After the alert was raised. */
  has_succeeded: boolean;
}

/** A minute counts as its end, so that no warning is early. Minutes are kept for two days, hours for longer. */
const OUTAGES = `
select e.id, greatest(seen.first_failed + interval '1 minute', e.updated_at) as failing_since,
  case when a.raised_at is not null then greatest(a.raised_at, e.updated_at) end as warned_at,
  coalesce(seen.last_success > a.raised_at, false) or exists (
    select from traffic t where t.project_id = $1 and t.subject_id = e.id and t.step = ${LENGTH.hour}
      and t.start > a.raised_at and t.attempts > t.failed_attempts) as has_succeeded
from endpoints e
left join alerts a on a.subject_id = e.id || ' ${OUTAGE}' and a.kind = '${OUTAGE}' and a.cleared_at is null
cross join lateral (
  select max(last_success) as last_success,
    min(minute) filter (where failed_attempts > 0 and (last_success is null or minute > last_success)) as first_failed
  from (
    select minute, failed_attempts, max(case when attempts > failed_attempts then minute end) over () as last_success
    from (${ATTEMPTS_PER_MINUTE}) per_minute
  ) per_minute
) seen
where e.project_id = $1 and e.id = any($2) and seen.first_failed is not null`;

/** The outages of these endpoints. An endpoint that works has none. */
export function outagesOf(db: Queryable, projectId: string, ids: readonly string[]): Promise<Outage[]> {
  return db.query<Outage>(OUTAGES, [projectId, ids]);
}
