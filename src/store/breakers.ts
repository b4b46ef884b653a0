import type { Breaker } from '../domain/circuit-breaker.ts';
import type { Database, Queryable } from './database.ts';

export interface BreakerRow {
  endpoint_id: string;
  state: 'closed' | 'open';
  trips: number;
  probes: number;
  changed_at: number;
}

/**
 * The right to send the one probe of an endpoint, as its holder knows it. `fence` is the time at which the right lapses,
 * to the microsecond: a later holder has a later one, and a change of the breaker's state leaves none.
 */
export interface Probe {
  endpointId: string;
  fence: string;
}

export function toBreaker(row: BreakerRow): Breaker {
  return { state: row.state, trips: row.trips, probes: row.probes, changedAtMs: row.changed_at };
}

export function breakersChangedSince(
  db: Queryable,
  projectId: string,
  version: number,
): Promise<BreakerRow[]> {
  return db.query<BreakerRow>(
    'select endpoint_id, state, trips, probes, changed_at from endpoint_breakers where project_id = $1 and version > $2',
    [projectId, version],
  );
}

/** The breaker as it is now and the fence of its probe, locked against other nodes' changes. */
export async function lockBreaker(
  tx: Queryable,
  endpointId: string,
): Promise<(BreakerRow & { fence: string | null }) | undefined> {
  const [row] = await tx.query<BreakerRow & { fence: string | null }>(
    `select endpoint_id, state, trips, probes, changed_at, probe_until::text as fence
     from endpoint_breakers where endpoint_id = $1 for update`,
    [endpointId],
  );
  return row;
}

export async function saveBreaker(
  tx: Queryable,
  endpoint: { id: string; projectId: string; version: number },
  breaker: Omit<Breaker, 'changedAtMs'>,
): Promise<void> {
  await tx.query(
    `insert into endpoint_breakers (endpoint_id, project_id, version, state, trips, probes, changed_at)
     values ($1, $2, $3, $4, $5, $6, now())
     on conflict (endpoint_id) do update set version = excluded.version, state = excluded.state, trips = excluded.trips,
       probes = excluded.probes, changed_at = excluded.changed_at, probe_until = null`,
    [endpoint.id, endpoint.projectId, endpoint.version, breaker.state, breaker.trips, breaker.probes],
  );
}

/** Takes the right to send the one probe; it lapses by itself should the node die with it. null: another has it. */
export async function takeProbe(db: Database, endpointId: string, seconds: number): Promise<Probe | null> {
  const [row] = await db.query<{ fence: string }>(
    `update endpoint_breakers set probe_until = now() + $2 * interval '1 second'
     where endpoint_id = $1 and state = 'open' and (probe_until is null or probe_until < now())
     returning probe_until::text as fence`,
    [endpointId, seconds],
  );
  return row === undefined ? null : { endpointId, fence: row.fence };
}

/** The probe was not sent after all: another may go. Without effect once another node holds the right. */
export async function releaseProbe(db: Database, { endpointId, fence }: Probe): Promise<void> {
  await db.query(
    'update endpoint_breakers set probe_until = null where endpoint_id = $1 and probe_until = $2::timestamptz',
    [endpointId, fence],
  );
}

/** A probe succeeded: the next may go. Returns how many did in a row; 0 where another node holds the right by now. */
export async function countProbe(db: Database, { endpointId, fence }: Probe): Promise<number> {
  const [row] = await db.query<{ probes: number }>(
    `update endpoint_breakers set probes = probes + 1, probe_until = null
     where endpoint_id = $1 and probe_until = $2::timestamptz returning probes`,
    [endpointId, fence],
  );
  return row?.probes ?? 0;
}

/** Attempts of one endpoint since a time, over all nodes; counted in whole minutes. */
export async function attemptsSince(
  db: Queryable,
  endpointId: string,
  since: { minutes: number; afterMs: number },
): Promise<{ successes: number; failures: number }> {
  const [row] = await db.query<{ successes: number; failures: number }>(
    `select coalesce(sum(successes), 0)::int as successes, coalesce(sum(failures), 0)::int as failures
     from endpoint_counters
     where endpoint_id = $1 and minute > now() - $2 * interval '1 minute' and minute >= to_timestamp($3::float8 / 1000)`,
    [endpointId, since.minutes, since.afterMs],
  );
  return row ?? { successes: 0, failures: 0 };
}
