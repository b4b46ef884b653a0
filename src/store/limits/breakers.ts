import type { Breaker } from '../../domain/config/circuit-breaker.ts';
import type { Database, Queryable } from '../database/database.ts';

/**
 * Breakers, many per statement, because endpoints fail and recover together. Statements that lock several
 * rows lock them in the order of their ids, so that nodes cannot deadlock.
 */
export interface BreakerRow {
  endpoint_id: string;
  state: 'closed' | 'open';
  trips: number;
  probes: number;
  changed_at: number;
}

/**
 * The lease on the one probe of an endpoint. `fence` is the time at which it expires, to the microsecond: a
 * later holder has a later one, and a change of the breaker's state clears it.
 */
export interface Probe {
  endpointId: string;
  fence: string;
}

const COLUMNS = 'endpoint_id, state, trips, probes, changed_at';

export function toBreaker(row: BreakerRow): Breaker {
  return { state: row.state, trips: row.trips, probes: row.probes, changedAtMs: row.changed_at };
}

export function breakersChangedSince(
  db: Queryable,
  projectId: string,
  version: number,
): Promise<BreakerRow[]> {
  return db.query<BreakerRow>(
    `select ${COLUMNS} from endpoint_breakers where project_id = $1 and version > $2`,
    [projectId, version],
  );
}

export type LockedBreaker = BreakerRow & { fence: string | null };

/** The current breakers and the fences of their probes, by endpoint, locked against changes by other nodes. */
export async function lockBreakers(
  tx: Queryable,
  endpointIds: readonly string[],
): Promise<Map<string, LockedBreaker>> {
  const rows = await tx.query<LockedBreaker>(
    `select ${COLUMNS}, probe_until::text as fence from endpoint_breakers where endpoint_id = any($1) order by endpoint_id for update`,
    [endpointIds],
  );
  return new Map(rows.map((row) => [row.endpoint_id, row]));
}

export interface ProbeWanted {
  endpointId: string;
  /** How long the probe lease lasts. */
  seconds: number;
  /** The change of the breaker that the caller knows, in whole milliseconds. */
  changedMs: number;
}

/**
 * Takes the lease on the one probe of each endpoint, if no other node has it, and if the breaker has not changed since
 * the change that the caller knows: a caller that does not know yet that the last probe failed gets none. The lease
 * expires by itself if the node dies. By endpoint.
 */
export async function takeProbes(db: Database, wanted: readonly ProbeWanted[]): Promise<Map<string, Probe>> {
  if (wanted.length === 0) return new Map();
  const rows = await db.query<Probe>(
    `with free as materialized (
       select b.endpoint_id, w.seconds
       from endpoint_breakers b join unnest($1::text[], $2::int[], $3::float8[]) as w(endpoint_id, seconds, changed_ms) using (endpoint_id)
       where state = 'open' and (probe_until is null or probe_until < now())
         and changed_at < to_timestamp((changed_ms + 1) / 1000)
       order by b.endpoint_id for update of b
     )
     update endpoint_breakers b set probe_until = now() + free.seconds * interval '1 second'
     from free where b.endpoint_id = free.endpoint_id
     returning b.endpoint_id as "endpointId", probe_until::text as fence`,
    [
      wanted.map(({ endpointId }) => endpointId),
      wanted.map(({ seconds }) => seconds),
      wanted.map(({ changedMs }) => changedMs),
    ],
  );
  return new Map(rows.map((probe) => [probe.endpointId, probe]));
}

const LOCK_OWN = `with own as materialized (
    select b.endpoint_id
    from endpoint_breakers b join unnest($1::text[], $2::timestamptz[]) as p(endpoint_id, fence) using (endpoint_id)
    where b.probe_until = p.fence order by b.endpoint_id for update of b
  )`;
const probeValues = (probes: readonly Probe[]) => [
  probes.map(({ endpointId }) => endpointId),
  probes.map(({ fence }) => fence),
];

/** The probes were not sent, so other nodes may take them. No effect if another node has the lease by now. */
export async function releaseProbes(db: Database, probes: readonly Probe[]): Promise<void> {
  if (probes.length === 0) return;
  await db.query(
    `${LOCK_OWN} update endpoint_breakers b set probe_until = null from own where b.endpoint_id = own.endpoint_id`,
    probeValues(probes),
  );
}

/**
 * A probe of each succeeded, and the next may be sent. Returns how many succeeded in a row, by endpoint,
 * without those whose lease another node has by now.
 */
export async function countProbes(db: Database, probes: readonly Probe[]): Promise<Map<string, number>> {
  if (probes.length === 0) return new Map();
  const rows = await db.query<{ endpoint_id: string; probes: number }>(
    `${LOCK_OWN} update endpoint_breakers b set probes = probes + 1, probe_until = null
     from own where b.endpoint_id = own.endpoint_id returning b.endpoint_id, probes`,
    probeValues(probes),
  );
  return new Map(rows.map((row) => [row.endpoint_id, row.probes]));
}

/** A time in which a breaker was open. */
export interface BreakerOpening {
  endpoint_id: string;
  opened_at: number;
  /** Null: it is open. */
  closed_at: number | null;
}

/** More openings are not read: the latest are. */
const MOST_OPENINGS = 500;

/** The openings of a project, or of some of its endpoints, that lasted into a range, oldest first. */
export async function breakerOpenings(
  db: Queryable,
  projectId: string,
  asked: { fromMs: number; toMs: number; endpointIds: readonly string[] | null },
): Promise<BreakerOpening[]> {
  const rows = await db.query<BreakerOpening>(
    `select b.endpoint_id, turn.at as opened_at, b.turned_at[turn.n::int + 1] as closed_at
     from endpoint_breakers b cross join lateral unnest(b.turned_at) with ordinality as turn(at, n)
     where b.project_id = $1 and ($2::text[] is null or b.endpoint_id = any($2::text[]))
       and (b.state = 'open' or b.changed_at >= to_timestamp($3::float8 / 1000))
       and (cardinality(b.turned_at) - turn.n) % 2 = case b.state when 'open' then 0 else 1 end
       and turn.at < to_timestamp($4::float8 / 1000)
       and coalesce(b.turned_at[turn.n::int + 1], 'infinity') >= to_timestamp($3::float8 / 1000)
     order by turn.at desc, b.endpoint_id desc limit ${MOST_OPENINGS}`,
    [projectId, asked.endpointIds, asked.fromMs, asked.toMs],
  );
  return rows.toReversed();
}
