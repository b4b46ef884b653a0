import type { Static } from 'typebox';
import { breakerState } from '../../domain/config/circuit-breaker.ts';
import type { ProjectId } from '../../domain/ids.ts';
import type { EndpointRow } from '../../store/config/endpoints.ts';
import { endpointCounts } from '../../store/counts/read-counts.ts';
import type { ReadContext } from '../http/context.ts';
import { type Endpoint, toEndpoint, UNUSED } from './endpoint-schema.ts';

/**
 * Shows endpoints of a project with their counts and the state of their circuit breaker. The counts of all of
 * them are one read; the breakers are in memory.
 */
export async function endpointView(
  { db, cache, now }: ReadContext,
  projectId: ProjectId,
  ids: readonly string[],
): Promise<(row: EndpointRow) => Static<typeof Endpoint>> {
  const routing = await cache.get(projectId);
  const settings = routing.project.config.circuit_breaker;
  const counts = await endpointCounts(db, projectId, { ids, minutes: settings.observability_window });
  return (row) => {
    const nowMs = now();
    const breaker = breakerState(routing.breaker(row.id), settings, nowMs);
    return toEndpoint(row, nowMs, { ...UNUSED, ...counts.get(row.id), breaker });
  };
}
