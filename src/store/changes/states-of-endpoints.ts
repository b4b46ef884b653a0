import { statusAt } from '../../domain/config/endpoint.ts';
import { endpointState, type ShownState, UNTRIED } from '../../domain/config/endpoint-state.ts';
import type { ProjectConfig } from '../../domain/config/project-config.ts';
import type { EndpointRow } from '../config/endpoints.ts';
import { endpointStandings } from '../counts/endpoint-standings.ts';
import type { Queryable } from '../database/database.ts';

type Row = Pick<
  EndpointRow,
  'id' | 'status' | 'expires_at' | 'delivery' | 'url' | 'verification' | 'verified_url'
>;

/** The states of endpoints as a change leaves them, in its transaction. A deleted endpoint has none. */
export async function statesOfEndpoints(
  change: Queryable & { projectId: string; config: ProjectConfig },
  ids: readonly string[],
): Promise<Map<string, ShownState>> {
  if (ids.length === 0) return new Map();
  const { projectId, config } = change;
  const rows = await change.query<Row & { now: number }>(
    `select id, status, expires_at, delivery, url, verification, verified_url, clock_timestamp() as now
     from endpoints where project_id = $1 and id = any($2) and deleted_at is null`,
    [projectId, ids],
  );
  const standings = await endpointStandings(change, projectId, ids);
  return new Map(
    rows.map((row) => {
      const moment = { settings: config.circuit_breaker, nowMs: row.now };
      const state = endpointState(statusAt(row, row.now), standings.get(row.id) ?? UNTRIED, moment);
      return [row.id, state];
    }),
  );
}
