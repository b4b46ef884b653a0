import { breakerState } from '../../domain/config/circuit-breaker.ts';
import { type ShownStatus, statusAt } from '../../domain/config/endpoint.ts';
import type { DeliveryGate } from '../../domain/delivery.ts';
import { idTime, type ProjectId } from '../../domain/ids.ts';
import { maySendNow } from '../../routing/gate.ts';
import type { ProjectRouting, RoutedEndpoint } from '../../routing/project-routing.ts';
import {
  type EndpointWindow,
  endpointsInRange,
  type FailingRun,
  failingRuns,
  type LastTrouble,
  lastTroubles,
} from '../../store/counts/endpoint-window.ts';
import type { Queryable } from '../../store/database/database.ts';
import { unlessTooSlowIn } from '../../store/database/unless-too-slow.ts';
import { type LastFailure, lastFailures } from '../../store/history/failure-groups.ts';
import { countOpen } from '../deliveries/open-counts.ts';
import type { ReadContext } from '../http/context.ts';
import type { Range } from '../projects/timeseries.ts';

/**
 * How endpoints do: their counts in a range, what waits now, since when they fail, and the last failure. Endpoints that
 * have neither failed attempts nor open deliveries cost no further reads.
 */
export type HealthState = (typeof healthStates)[number];

/** The worst first. */
export const healthStates = ['failing', 'disabled', 'degraded', 'held', 'recovered', 'ok'] as const;

export interface Waiting {
  gate: DeliveryGate;
  count: number;
  oldest: string;
}

export interface Health {
  endpoint: RoutedEndpoint['row'];
  state: HealthState;
  status: ShownStatus;
  breaker: string;
  maySendNow: boolean;
  counts: EndpointWindow | null;
  trouble: LastTrouble | null;
  waiting: Waiting[];
  run: FailingRun | null;
  failure: LastFailure | null;
}

export interface HealthReport {
  endpoints: Health[];
  /** Not all open deliveries were counted. */
  isComplete: boolean;
}

interface Asked {
  endpointIds: readonly string[];
  range: Range;
}

const DAY_MS = 86_400_000;
/** Endpoints whose cause is read. The state of others follows from their counts. */
const MOST_SUSPECTS = 1_000;

/** One reading: each further one would wait behind all lists that the project asks for meanwhile. */
export async function readHealth(
  { db, cache, now }: ReadContext,
  projectId: ProjectId,
  asked: Asked,
): Promise<HealthReport> {
  if (asked.endpointIds.length === 0) return { endpoints: [], isComplete: true };
  const routing = await cache.get(projectId);
  const nowMs = now();
  return db.reading(projectId, (tx) => healthOf(tx, routing, { ...asked, nowMs }));
}

async function healthOf(
  tx: Queryable,
  routing: ProjectRouting,
  { endpointIds, range, nowMs }: Asked & { nowMs: number },
): Promise<HealthReport> {
  const projectId = routing.project.id;
  const step = range.step === 'minute' ? 'minute' : 'hour';
  const counts = await endpointsInRange(tx, projectId, { ...range, endpointIds, step });
  const troubles = await lastTroubles(tx, projectId, endpointIds);
  const open = await countOpen(tx, routing, { endpointIds: [...endpointIds], nowMs });
  const waiting = Map.groupBy(open.rows, (row) => row.endpoint_id);
  const found = endpointIds
    .flatMap((id) => routing.endpoints.get(id) ?? [])
    .map((routed) => ({
      endpoint: routed.row,
      status: statusAt(routed.row, nowMs),
      maySendNow: maySendNow(routed, nowMs),
      breaker: breakerState(routing.breaker(routed.row.id), routing.project.config.circuit_breaker, nowMs),
      counts: counts.get(routed.row.id) ?? null,
      trouble: troubles.get(routed.row.id) ?? null,
      waiting: waiting.get(routed.row.id) ?? [],
    }));
  const causes = await readCauses(tx, projectId, {
    endpointIds: suspectsOf(found, routing),
    fromMs: range.fromMs - DAY_MS,
  });
  const endpoints = found.map((one) => {
    const whole = { ...one, ...causes(one.endpoint.id) };
    return { ...whole, state: stateOf(whole, routing, nowMs) };
  });
  return { endpoints, isComplete: open.isComplete };
}

type Found = Pick<Health, 'endpoint' | 'counts' | 'waiting' | 'trouble'>;

/** Endpoints that may be failing, the largest trouble first. */
function suspectsOf(found: readonly Found[], routing: ProjectRouting): string[] {
  const harm = (one: Found) => openCount(one) + (one.counts?.failed_attempts ?? 0);
  return found
    .filter(
      (one) => harm(one) > 0 || one.trouble !== null || routing.breaker(one.endpoint.id).state !== 'closed',
    )
    .toSorted((a, b) => harm(b) - harm(a))
    .slice(0, MOST_SUSPECTS)
    .map(({ endpoint }) => endpoint.id);
}

/** Deliveries of an endpoint that are looked through for one that failed: of all, and of the worst without any. */
const LOOKED_THROUGH = 200;
const WORST = { endpoints: 10, lookedThrough: 10_000 };

/** Since when endpoints fail, and why. `endpointIds` has the worst first. */
async function readCauses(
  tx: Queryable,
  projectId: ProjectId,
  asked: { endpointIds: readonly string[]; fromMs: number },
): Promise<(id: string) => Pick<Health, 'run' | 'failure'>> {
  const runs = await failingRuns(tx, projectId, asked.endpointIds);
  const failures = await lastFailures(tx, projectId, { ...asked, among: LOOKED_THROUGH });
  const failureOf = new Map(failures.map((failure) => [failure.endpoint_id, failure]));
  // A disabled endpoint has many discarded deliveries since its last failure.
  const endpointIds = asked.endpointIds
    .filter((id) => !failureOf.has(id) && runs.get(id)?.since != null)
    .slice(0, WORST.endpoints);
  const further = { ...asked, endpointIds, among: WORST.lookedThrough };
  const found =
    endpointIds.length === 0 ? null : await unlessTooSlowIn(tx, () => lastFailures(tx, projectId, further));
  for (const failure of found ?? []) failureOf.set(failure.endpoint_id, failure);
  return (id) => ({ run: runs.get(id) ?? null, failure: failureOf.get(id) ?? null });
}

/**
 * Over the last hour, whatever window was asked for. Failing: nothing has succeeded since the last failure, or the breaker
 * is not closed. Recovered: enough has succeeded since. Degraded: some attempts fail.
 */
function stateOf(
  { endpoint, status, trouble, waiting, run }: Omit<Health, 'state'>,
  routing: ProjectRouting,
  nowMs: number,
): HealthState {
  if (status === 'inactive') return 'disabled';
  const isWaiting = waiting.some(({ gate }) => gate === 'retry' || gate === 'circuit_breaker');
  if (
    routing.breaker(endpoint.id).state !== 'closed' ||
    (run?.since != null && (trouble !== null || isWaiting))
  )
    return 'failing';
  if ((status === 'paused' || status === 'pending') && waiting.length > 0) return 'held';
  if (trouble === null) return 'ok';
  return hasRecovered(trouble, isWaiting, nowMs) ? 'recovered' : 'degraded';
}

const MINUTE_MS = 60_000;
/** So many successes in a row end a trouble at once. */
const ENOUGH = 10;

/** Counts are per minute. Successes in the minute of the last failure may be older than it, so they do not count. */
function hasRecovered({ last_failed, since, succeeded }: LastTrouble, isWaiting: boolean, nowMs: number) {
  const isOver = !isWaiting && nowMs - (last_failed + MINUTE_MS) > MINUTE_MS;
  return since !== null && (succeeded >= ENOUGH || isOver);
}

export const openCount = ({ waiting }: Pick<Health, 'waiting'>): number =>
  waiting.reduce((sum, { count }) => sum + count, 0);

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
