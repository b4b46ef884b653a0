import { type Breaker, CLOSED } from '../../domain/config/circuit-breaker.ts';
import type { Standing } from '../../domain/config/endpoint-state.ts';
import type { Queryable } from '../database/database.ts';
import { HAS_TRIED } from '../history/failure-groups.ts';
import { type CountStep, LENGTH } from './read-counts.ts';

type Trouble = NonNullable<Standing['trouble']>;
/** Without a breaker that ever opened, without a failed attempt: null. */
type Row = { [Name in keyof Trouble]: Trouble[Name] | null } & {
  id: string;
  state: Breaker['state'] | null;
  trips: number;
  probes: number;
  changed_at: number;
  failing_since: number | null;
  last_success: number | null;
  is_waiting: boolean;
};

const stored = (step: CountStep) =>
  `select start from traffic where project_id = $1 and subject_id = e.id and step = ${LENGTH[step]}`;
const recent = 'recent_counts where project_id = $1 and endpoint_id = e.id';

/** Hours are few rows: most endpoints have no failure, and their minutes are not read. */
const HAS_FAILED = `(
  exists (${stored('hour')} and start > now() - interval '2 hours' and failed_attempts > 0)
  or exists (select from ${recent} and failed_attempts > 0))`;
const ofHour = (time: string) => `${time} > now() - interval '1 hour'`;

/** The failed attempts of the last hour, and what succeeded between and after them. No row: none failed. */
const TROUBLE = `
  select first_failed, last_failed, sum(failed_attempts)::int as failed,
    coalesce(sum(attempts - failed_attempts) filter (where start > first_failed and start < last_failed), 0)::int as meanwhile,
    min(start) filter (where start > last_failed and attempts > 0) as since,
    coalesce(sum(attempts) filter (where start > last_failed), 0)::int as succeeded
  from (
    select *, min(start) filter (where failed_attempts > 0) over () as first_failed,
      max(start) filter (where failed_attempts > 0) over () as last_failed
    from (
      select start, attempts, failed_attempts from traffic
      where project_id = $1 and subject_id = e.id and step = ${LENGTH.minute} and ${ofHour('start')}
      union all
      select minute, attempts, failed_attempts from ${recent} and ${ofHour('minute')}
    ) minutes where ${HAS_FAILED}
  ) m where last_failed is not null group by 1, 2`;

/**
 * Since when every attempt of an endpoint failed, in whole minutes of the last two days. The hour of the last success is
 * found first: an endpoint that is dead for two days has 48 rows of hours and 2,880 of minutes. An endpoint that neither
 * failed nor waits costs no read.
 */
const RUN = `
  select succeeded.last_success, least(
    (${stored('minute')} and failed_attempts > 0 and start > after.time order by start limit 1),
    (select min(minute) from ${recent} and failed_attempts > 0 and minute > after.time)) as failing_since
  from (
    select greatest(
      (select m.start from (
         ${stored('hour')} and attempts > failed_attempts and start > now() - interval '49 hours'
         order by start desc limit 1
       ) h cross join lateral (
         ${stored('minute')} and attempts > failed_attempts and start >= h.start and start < h.start + interval '1 hour'
         order by start desc limit 1
       ) m),
      (select max(minute) from ${recent} and attempts > failed_attempts)) as last_success
    where t.last_failed is not null or w.is_waiting or b.state = 'open'
    offset 0
  ) succeeded
  cross join lateral (select coalesce(succeeded.last_success, '-infinity') as time) after`;

const KEYS = `(select e.id union all
  select s.id from subscriptions s where s.endpoint_id = e.id and s.deleted_at is null) k(key)`;

/** One statement for any number of endpoints, each read by index. */
export async function endpointStandings(
  db: Queryable,
  projectId: string,
  endpointIds: readonly string[],
): Promise<Map<string, Standing>> {
  if (endpointIds.length === 0) return new Map();
  const rows = await db.query<Row>(
    `select e.id, b.state, b.trips, b.probes, b.changed_at, t.first_failed, t.last_failed, t.failed, t.meanwhile, t.since, t.succeeded,
       w.is_waiting, r.failing_since, r.last_success
     from unnest($2::text[]) e(id)
     left join lateral (${TROUBLE}) t on true
     left join endpoint_breakers b on b.endpoint_id = e.id
     cross join lateral (select exists (select from ${KEYS} where ${HAS_TRIED}) as is_waiting) w
     left join lateral (${RUN}) r on true`,
    [projectId, endpointIds],
  );
  return new Map(rows.map((row) => [row.id, toStanding(row)]));
}

function toStanding(row: Row): Standing {
  const { state, trips, probes, changed_at: changedAtMs, first_failed } = row;
  return {
    breaker: state === null ? CLOSED : { state, trips, probes, changedAtMs },
    trouble: first_failed === null ? null : (row as Row & Trouble),
    failingSince: row.failing_since,
    lastSuccess: row.last_success,
    isWaiting: row.is_waiting,
  };
}
