import { breakerState } from '../../domain/config/circuit-breaker.ts';
import type { DeliveryGate } from '../../domain/delivery.ts';
import { idTime, type ProjectId } from '../../domain/ids.ts';
import type { ProjectRouting, RoutedEndpoint } from '../../routing/project-routing.ts';
import { gateSets } from '../../routing/waiting-for.ts';
import {
  type EndpointWindow,
  endpointsInRange,
  type FailingRun,
  failingRuns,
} from '../../store/counts/endpoint-window.ts';
import { countDeliveriesByGate } from '../../store/history/event-deliveries.ts';
import { type LastFailure, lastFailures } from '../../store/history/failure-groups.ts';
import type { ApiContext } from '../http/context.ts';
import type { Range } from '../projects/timeseries.ts';

/**
 * How endpoints do: their counts in a range, what waits now, since when they fail, and the last failure. Endpoints that
 * have neither failed attempts nor open deliveries cost no further reads.
 */
export type HealthState = (typeof healthStates)[number];

/** The worst first. */
export const healthStates = ['failing', 'disabled', 'degraded', 'held', 'ok'] as const;

export interface Waiting {
  gate: DeliveryGate;
  count: number;
  oldest: string;
}

export interface Health {
  endpoint: RoutedEndpoint['row'];
  state: HealthState;
  breaker: string;
  counts: EndpointWindow | null;
  waiting: Waiting[];
  run: FailingRun | null;
  failure: LastFailure | null;
}

const DAY_MS = 86_400_000;

export async function readHealth(
  context: ApiContext,
  projectId: ProjectId,
  asked: { endpointIds: readonly string[]; range: Range },
): Promise<Health[]> {
  const { db, cache, now } = context;
  const { endpointIds, range } = asked;
  const routing = await cache.get(projectId);
  const nowMs = now();
  const { counts, open } = await db.reading(projectId, async (tx) => ({
    counts: await endpointsInRange(tx, projectId, {
      ...range,
      endpointIds,
      step: range.step === 'minute' ? 'minute' : 'hour',
    }),
    open: await countDeliveriesByGate(tx, projectId, {
      endpointIds: [...endpointIds],
      sets: gateSets(routing, nowMs),
    }),
  }));
  const waiting = Map.groupBy(open, (row) => row.endpoint_id);
  const suspects = endpointIds.filter(
    (id) =>
      (counts.get(id)?.failed_attempts ?? 0) > 0 || waiting.has(id) || routing.breaker(id).state !== 'closed',
  );
  const { runs, failures } = await db.reading(projectId, async (tx) => ({
    runs: await failingRuns(tx, projectId, suspects),
    failures: await lastFailures(tx, projectId, { endpointIds: suspects, fromMs: range.fromMs - DAY_MS }),
  }));
  const failureOf = new Map(failures.map((failure) => [failure.endpoint_id, failure]));
  return endpointIds
    .flatMap((id) => routing.endpoints.get(id) ?? [])
    .map(({ row }) => {
      const found = {
        endpoint: row,
        breaker: breakerState(routing.breaker(row.id), routing.project.config.circuit_breaker, nowMs),
        counts: counts.get(row.id) ?? null,
        waiting: waiting.get(row.id) ?? [],
        run: runs.get(row.id) ?? null,
        failure: failureOf.get(row.id) ?? null,
      };
      return { ...found, state: stateOf(found, routing) };
    });
}

/** Failing: nothing has succeeded since the last failure, or the breaker is not closed. Degraded: some attempts fail. */
function stateOf(
  { endpoint, counts, waiting, run }: Omit<Health, 'state'>,
  routing: ProjectRouting,
): HealthState {
  if (endpoint.status === 'inactive') return 'disabled';
  const isWaiting = waiting.some(({ gate }) => gate === 'retry' || gate === 'circuit_breaker');
  const failed = counts?.failed_attempts ?? 0;
  if (routing.breaker(endpoint.id).state !== 'closed' || (run?.since != null && (failed > 0 || isWaiting)))
    return 'failing';
  if (endpoint.status === 'paused' && waiting.length > 0) return 'held';
  return failed > 0 || isWaiting ? 'degraded' : 'ok';
}

export const openCount = ({ waiting }: Health): number => waiting.reduce((sum, { count }) => sum + count, 0);

export function oldestMs({ waiting }: Health): number | null {
  const ids = waiting.map(({ oldest }) => oldest).toSorted();
  return ids[0] === undefined ? null : idTime(ids[0]);
}

/** The worst first: by state, then by open deliveries, then by failed attempts. */
export function byHarm(a: Health, b: Health): number {
  const rank = ({ state }: Health) => healthStates.indexOf(state);
  return (
    rank(a) - rank(b) ||
    openCount(b) - openCount(a) ||
    (b.counts?.failed_attempts ?? 0) - (a.counts?.failed_attempts ?? 0) ||
    (a.endpoint.id < b.endpoint.id ? -1 : 1)
  );
}
