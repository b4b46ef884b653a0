import { breakerState } from '../../domain/config/circuit-breaker.ts';
import { type ShownStatus, statusAt } from '../../domain/config/endpoint.ts';
import {
  endpointState,
  endpointStates,
  type ShownState,
  type Standing,
} from '../../domain/config/endpoint-state.ts';
import type { DeliveryGate } from '../../domain/delivery.ts';
import { idTime, type ProjectId } from '../../domain/ids.ts';
import { maySendNow } from '../../routing/gate.ts';
import type { ProjectRouting, RoutedEndpoint } from '../../routing/project-routing.ts';
import { endpointStandings } from '../../store/counts/endpoint-standings.ts';
import { type EndpointWindow, endpointsInRange } from '../../store/counts/endpoint-window.ts';
import type { Queryable } from '../../store/database/database.ts';
import { unlessTooSlowIn } from '../../store/database/unless-too-slow.ts';
import { type LastFailure, lastFailures } from '../../store/history/failure-groups.ts';
import { countOpen } from '../deliveries/open-counts.ts';
import type { ReadContext } from '../http/context.ts';
import type { Range } from '../projects/timeseries.ts';

export interface Waiting {
  gate: DeliveryGate;
  count: number;
  oldest: string;
}

/** How an endpoint does: its state, its counts in a range, what waits now, and the last failure. */
export interface Health {
  endpoint: RoutedEndpoint['row'];
  state: ShownState;
  status: ShownStatus;
  breaker: string;
  maySendNow: boolean;
  counts: EndpointWindow | null;
  standing: Standing;
  waiting: Waiting[];
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
/** Endpoints whose cause is read. */
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
  const standings = await endpointStandings(tx, projectId, endpointIds);
  const open = await countOpen(tx, routing, { endpointIds: [...endpointIds], nowMs });
  const waiting = Map.groupBy(open.rows, (row) => row.endpoint_id);
  const settings = routing.project.config.circuit_breaker;
  const found = endpointIds.flatMap((id) => {
    const [routed, stored] = [routing.endpoints.get(id), standings.get(id)];
    if (routed === undefined || stored === undefined) return [];
    // The breaker that this node acts by, as what waits is counted by it.
    const standing = { ...stored, breaker: routing.breaker(id) };
    const status = statusAt(routed.row, nowMs);
    return {
      endpoint: routed.row,
      status,
      state: endpointState(status, standing, { settings, nowMs }),
      maySendNow: maySendNow(routed, nowMs),
      breaker: breakerState(standing.breaker, settings, nowMs),
      counts: counts.get(id) ?? null,
      standing,
      waiting: waiting.get(id) ?? [],
    };
  });
  const failureOf = await readCauses(tx, projectId, {
    suspects: suspectsOf(found),
    fromMs: range.fromMs - DAY_MS,
  });
  const endpoints = found.map((one) => ({ ...one, failure: failureOf.get(one.endpoint.id) ?? null }));
  return { endpoints, isComplete: open.isComplete };
}

type Suspect = Omit<Health, 'failure'>;

/** Endpoints that may be failing, the largest trouble first. */
function suspectsOf(found: readonly Suspect[]): Suspect[] {
  const harm = (one: Suspect) => openCount(one) + (one.counts?.failed_attempts ?? 0);
  return found
    .filter((one) => harm(one) > 0 || isSuspect(one.standing))
    .toSorted((a, b) => harm(b) - harm(a))
    .slice(0, MOST_SUSPECTS);
}

const isSuspect = ({ trouble, breaker }: Standing) => trouble !== null || breaker.state !== 'closed';

/** Deliveries of an endpoint that are looked through for one that failed: of all, and of the worst without any. */
const LOOKED_THROUGH = 200;
const WORST = { endpoints: 10, lookedThrough: 10_000 };

/** Why endpoints fail. `suspects` has the worst first. */
async function readCauses(
  tx: Queryable,
  projectId: ProjectId,
  { suspects, fromMs }: { suspects: readonly Suspect[]; fromMs: number },
): Promise<Map<string, LastFailure>> {
  const asked = { endpointIds: suspects.map(({ endpoint }) => endpoint.id), fromMs };
  const failures = await lastFailures(tx, projectId, { ...asked, among: LOOKED_THROUGH });
  const failureOf = new Map(failures.map((failure) => [failure.endpoint_id, failure]));
  // A disabled endpoint has many discarded deliveries since its last failure.
  const endpointIds = suspects
    .filter(({ endpoint, standing }) => !failureOf.has(endpoint.id) && standing.failingSince !== null)
    .slice(0, WORST.endpoints)
    .map(({ endpoint }) => endpoint.id);
  const further = { ...asked, endpointIds, among: WORST.lookedThrough };
  const found =
    endpointIds.length === 0 ? null : await unlessTooSlowIn(tx, () => lastFailures(tx, projectId, further));
  for (const failure of found ?? []) failureOf.set(failure.endpoint_id, failure);
  return failureOf;
}

export const openCount = ({ waiting }: Pick<Health, 'waiting'>): number =>
  waiting.reduce((sum, { count }) => sum + count, 0);

export function oldestMs({ waiting }: Health): number | null {
  const ids = waiting.map(({ oldest }) => oldest).toSorted();
  return ids[0] === undefined ? null : idTime(ids[0]);
}

/** The worst first: by state, then by open deliveries, then by failed attempts. */
export function byHarm(a: Health, b: Health): number {
  const rank = ({ state }: Health) => endpointStates.indexOf(state.state);
  return (
    rank(a) - rank(b) ||
    openCount(b) - openCount(a) ||
    (b.counts?.failed_attempts ?? 0) - (a.counts?.failed_attempts ?? 0) ||
    (a.endpoint.id < b.endpoint.id ? -1 : 1)
  );
}
