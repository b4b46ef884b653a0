import type { Static } from 'typebox';
import { type BreakerState, breakerState } from '../../domain/config/circuit-breaker.ts';
import { statusAt } from '../../domain/config/endpoint.ts';
import { endpointState, type Standing, UNTRIED } from '../../domain/config/endpoint-state.ts';
import type { ProjectConfig } from '../../domain/config/project-config.ts';
import type { EndpointId, ProjectId } from '../../domain/ids.ts';
import type { EndpointRow } from '../../store/config/endpoints.ts';
import { endpointStandings } from '../../store/counts/endpoint-standings.ts';
import { type EndpointCounts, endpointCounts } from '../../store/counts/read-counts.ts';
import type { ReadContext } from '../http/context.ts';
import { type Endpoint, toEndpoint } from './endpoint-schema.ts';

/** Shows endpoints of a project with their counts and their state: one read of each, for any number of them. */
export async function endpointView(
  { db, cache, now }: ReadContext,
  projectId: ProjectId,
  ids: readonly string[],
): Promise<(row: EndpointRow) => Static<typeof Endpoint>> {
  const routing = await cache.get(projectId);
  const settings = routing.project.config.circuit_breaker;
  const counts = await endpointCounts(db, projectId, { ids, minutes: settings.observability_window });
  const standings = await endpointStandings(db, projectId, ids);
  return (row) => {
    // The breaker that this node acts by.
    const standing = { ...(standings.get(row.id) ?? UNTRIED), breaker: routing.breaker(row.id) };
    const known = { counts: counts.get(row.id), standing };
    return showEndpoint(row, { settings, nowMs: now() }, known);
  };
}

interface Known {
  counts?: EndpointCounts | undefined;
  standing?: Standing | undefined;
}

const NONE = { deliveries: 0, successes: 0, failures: 0 };

/** One without deliveries has neither counts nor a standing. */
export function showEndpoint(
  row: EndpointRow,
  moment: { settings: ProjectConfig['circuit_breaker']; nowMs: number },
  { counts = NONE, standing = UNTRIED }: Known = {},
): Static<typeof Endpoint> {
  const { settings, nowMs } = moment;
  return toEndpoint(row, nowMs, {
    counts,
    breaker: breakerState(standing.breaker, settings, nowMs),
    state: endpointState(statusAt(row, nowMs), standing, moment),
  });
}

/** The state of the circuit breaker of an endpoint; closed if it is not saved. */
export async function breakerOf(
  { cache, now }: ReadContext,
  projectId: ProjectId,
  endpointId: EndpointId,
): Promise<BreakerState> {
  // Another node may just have opened it.
  const routing = await cache.refresh(projectId);
  return breakerState(routing.breaker(endpointId), routing.project.config.circuit_breaker, now());
}
