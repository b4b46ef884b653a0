import { isExpired } from '../domain/config/endpoint.ts';
import type { Place } from '../domain/delivery.ts';
import { wrongState } from '../domain/errors.ts';
import type { Queryable } from '../store/database/database.ts';
import { type LockedDelivery, reopenDeliveries } from '../store/queue/resend-deliveries.ts';
import { standingGate } from './gate.ts';
import type { ProjectRouting } from './project-routing.ts';

/** Why a delivery cannot be resent now, or null if it can. At a paused endpoint it waits, which is fine. */
export function resendProblem(
  routing: ProjectRouting,
  delivery: { endpoint_id: string },
  nowMs: number,
): string | null {
  const endpoint = routing.endpoints.get(delivery.endpoint_id);
  const gate = standingGate(endpoint, nowMs);
  if (gate?.kind === 'gone') return 'The endpoint of this delivery was deleted.';
  if (gate?.kind !== 'inactive') return null;
  return endpoint !== undefined && isExpired(endpoint.row, nowMs)
    ? 'The endpoint has expired; give it a later expires_at first.'
    : 'The endpoint is inactive; activate it first.';
}

/** Puts locked deliveries back into the queue. Returns the places, for the wake-up after the commit. */
export async function resend(
  tx: Queryable,
  routing: ProjectRouting,
  wanted: {
    deliveries: readonly LockedDelivery[];
    lane: number;
    /** They take no place in their ordering keys, and end no hold. */
    ignoresOrder: boolean;
    nowMs: number;
  },
): Promise<Place[]> {
  const { lane, ignoresOrder, nowMs } = wanted;
  const deliveries = wanted.deliveries.map((delivery) => {
    const problem = resendProblem(routing, delivery, nowMs);
    if (problem !== null) throw wrongState(problem);
    const ordering_id = ignoresOrder ? null : delivery.ordering_id;
    return {
      ...delivery,
      ordering_id,
      key: routing.keyOf(delivery.endpoint_id, delivery.subscription_id),
    };
  });
  const projectId = routing.project.id;
  await reopenDeliveries(tx, projectId, { deliveries, lane });
  return [...new Set(deliveries.map(({ key }) => key))].map((key) => ({ projectId, key, lane }));
}
