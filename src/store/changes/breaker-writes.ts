import type { BreakerRow } from '../limits/breakers.ts';
import type { ConfigChange } from './config-change.ts';

export type SavedBreaker = Pick<BreakerRow, 'endpoint_id' | 'state' | 'trips'>;

/** Kept of each breaker. */
const TURNS = 100;

/**
 * Saves breakers that changed state, without a probe and with the probe count at zero. One that opens again after a
 * failed probe was open all the time, so that is no turn.
 */
export async function saveBreakers(change: ConfigChange, breakers: readonly SavedBreaker[]): Promise<void> {
  if (breakers.length === 0) return;
  await change.query(
    `insert into endpoint_breakers as known (endpoint_id, project_id, version, state, trips, probes, changed_at, turned_at)
     select endpoint_id, $1, $2, state, trips, 0, now(), array[now()]
     from unnest($3::text[], $4::text[], $5::int[]) as b(endpoint_id, state, trips) order by endpoint_id
     on conflict (endpoint_id) do update set version = excluded.version, state = excluded.state, trips = excluded.trips,
       probes = excluded.probes, changed_at = excluded.changed_at, probe_until = null,
       turned_at = case when known.state = excluded.state then known.turned_at
         else (known.turned_at || now())[greatest(1, cardinality(known.turned_at) + 2 - ${TURNS}):] end`,
    [
      change.projectId,
      change.version,
      breakers.map(({ endpoint_id }) => endpoint_id),
      breakers.map(({ state }) => state),
      breakers.map(({ trips }) => trips),
    ],
  );
}

/** As if the timeout of these open breakers were over, and so many probes had succeeded. */
export async function halfOpenBreakers(
  change: ConfigChange,
  wanted: {
    endpointIds: readonly string[];
    openedBeforeMs: number;
    timeoutSeconds: number;
    probes: number;
  },
): Promise<void> {
  await change.query(
    `with mine as materialized (
       select endpoint_id from endpoint_breakers
       where endpoint_id = any($1) and project_id = $2 and state = 'open' and changed_at < to_timestamp($3::float8 / 1000)
       order by endpoint_id for update
     )
     update endpoint_breakers b set version = $4, probes = greatest(probes, $5),
       changed_at = least(changed_at, now() - $6 * interval '1 second')
     from mine where b.endpoint_id = mine.endpoint_id`,
    [
      wanted.endpointIds,
      change.projectId,
      wanted.openedBeforeMs,
      change.version,
      wanted.probes,
      wanted.timeoutSeconds,
    ],
  );
}
