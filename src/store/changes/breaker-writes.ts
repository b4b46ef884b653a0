import type { BreakerRow } from '../limits/breakers.ts';
import type { ConfigChange } from './config-change.ts';

export type SavedBreaker = Pick<BreakerRow, 'endpoint_id' | 'state' | 'trips'>;

/** Saves breakers that changed state, without a probe and with the probe count at zero. */
export async function saveBreakers(change: ConfigChange, breakers: readonly SavedBreaker[]): Promise<void> {
  if (breakers.length === 0) return;
  await change.query(
    `insert into endpoint_breakers (endpoint_id, project_id, version, state, trips, probes, changed_at)
     select endpoint_id, $1, $2, state, trips, 0, now()
     from unnest($3::text[], $4::text[], $5::int[]) as b(endpoint_id, state, trips) order by endpoint_id
     on conflict (endpoint_id) do update set version = excluded.version, state = excluded.state, trips = excluded.trips,
       probes = excluded.probes, changed_at = excluded.changed_at, probe_until = null`,
    [
      change.projectId,
      change.version,
      breakers.map(({ endpoint_id }) => endpoint_id),
      breakers.map(({ state }) => state),
      breakers.map(({ trips }) => trips),
    ],
  );
}
