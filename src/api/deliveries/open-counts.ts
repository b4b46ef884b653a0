import type { Static } from 'typebox';
import { type DeliveryGate, deliveryGates } from '../../domain/delivery.ts';
import { Type } from '../../platform/type.ts';
import type { ProjectRouting } from '../../routing/project-routing.ts';
import { gateSets } from '../../routing/waiting-for.ts';
import type { Queryable } from '../../store/database/database.ts';
import { unlessTooSlowIn } from '../../store/database/unless-too-slow.ts';
import {
  countDeliveriesByGate,
  type DeliveryFilter,
  sampleDeliveriesByGate,
  type WaitingCount,
} from '../../store/history/event-deliveries.ts';
import { hasMoreOpen } from '../../store/history/failure-groups.ts';
import { queueKeys } from './find-failures.ts';

const gates = Object.fromEntries(deliveryGates.map((gate) => [gate, Type.Integer()] as const));

export const WaitingTotals = Type.Object(gates);

export const CountedTotals = Type.Object({
  ...gates,
  complete: Type.Boolean({
    description:
      'Whether all open deliveries were counted. If not, a part of each endpoint was, and the counts are lower bounds.',
  }),
});

/** Open deliveries by what they wait for. */
export function waitingTotals(
  rows: readonly { gate: DeliveryGate; count: number }[],
): Static<typeof WaitingTotals> {
  const totals = Object.fromEntries(deliveryGates.map((gate) => [gate, 0]));
  for (const { gate, count } of rows) totals[gate] = (totals[gate] ?? 0) + count;
  return totals;
}

/** More open deliveries of a project are not all counted. */
const MOST_OPEN = 200_000;
const SAMPLED = 50_000;

export interface OpenCounts {
  rows: WaitingCount[];
  /** All open deliveries of the filter were counted. */
  isComplete: boolean;
}

/** The open deliveries of a filter by gate, or of a sample of each queue key if the project has too many to count. */
export async function countOpen(
  tx: Queryable,
  routing: ProjectRouting,
  { nowMs, ...filter }: DeliveryFilter & { nowMs: number },
): Promise<OpenCounts> {
  const projectId = routing.project.id;
  const sets = gateSets(routing, nowMs);
  if (!(await hasMoreOpen(tx, projectId, MOST_OPEN))) {
    const counted = () => countDeliveriesByGate(tx, projectId, { ...filter, sets });
    const rows = await unlessTooSlowIn(tx, counted);
    if (rows !== null) return { rows, isComplete: true };
  }
  const keys = queueKeys(routing, filter.endpointIds ?? []);
  const most = Math.max(1, Math.floor(SAMPLED / keys.length));
  const rows = await sampleDeliveriesByGate(tx, projectId, { ...filter, sets, keys, most });
  return { rows, isComplete: false };
}
