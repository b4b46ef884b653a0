import type { Static } from 'typebox';
import { type DeliveryGate, deliveryGates, deliveryStatuses, waitsForTurn } from '../../domain/delivery.ts';
import { type EndpointScope, seesDelivery } from '../../domain/endpoint-scope.ts';
import type { ProjectId } from '../../domain/ids.ts';
import { nullable, oneOf, Type } from '../../platform/type.ts';
import { maySendNow } from '../../routing/gate.ts';
import { waitingFor } from '../../routing/waiting-for.ts';
import { getDelivery, type StoredDelivery } from '../../store/history/event-deliveries.ts';
import type { ReadContext } from '../http/context.ts';
import { isoOrNull, NullableTime, waitingForSchema } from '../http/fields.ts';

const acts = ['resend', 'skip', 'send_now', 'cancel'] as const;

/** The head of an ordering key, for the deliveries that wait behind it, and what can be done about it. */
export const WaitsBehind = nullable(
  Type.Object({
    event_delivery_id: Type.String(),
    status: oneOf(deliveryStatuses),
    waiting_for: waitingForSchema(deliveryGates),
    held_at: NullableTime,
    ordering_key_id: Type.String({ description: 'The key, for `POST /ordering-keys/skip`.' }),
    acts: Type.Array(oneOf(acts), { description: 'The acts that its state allows.' }),
  }),
  'The delivery of its ordering key that has to end first; null if it waits for none that the caller may see.',
);

const HASTENED: readonly DeliveryGate[] = ['retry', 'delayed', 'circuit_breaker'];

export async function waitsBehind(
  { db, cache, now }: ReadContext,
  { projectId, scope }: { projectId: ProjectId; scope: EndpointScope | undefined },
  { lane, key_head_id: headId, key_held_at: heldAt, ordering_id: keyId }: StoredDelivery,
): Promise<Static<typeof WaitsBehind>> {
  if (lane === null || !waitsForTurn(lane) || headId === null) return null;
  const head = await getDelivery(db, projectId, headId);
  if (head === undefined || !seesDelivery(scope, head)) return null;
  const routing = await cache.get(projectId);
  const nowMs = now();
  const waiting = waitingFor(head, { routing, nowMs });
  const mayResend = scope === undefined || scope.canRetry;
  const isReceived = maySendNow(routing.endpoints.get(head.endpoint_id), nowMs);
  const allowed: Record<(typeof acts)[number], boolean> = {
    resend: mayResend && waiting === null && head.status !== 'Success',
    skip: scope === undefined && heldAt !== null,
    send_now: mayResend && waiting !== null && HASTENED.includes(waiting.gate) && isReceived,
    cancel: scope === undefined && waiting !== null && waiting.gate !== 'sending',
  };
  return {
    event_delivery_id: head.id,
    status: head.status,
    waiting_for: waiting === null ? null : { gate: waiting.gate, until: isoOrNull(waiting.untilMs) },
    held_at: isoOrNull(heldAt),
    ordering_key_id: keyId ?? '',
    acts: acts.filter((act) => allowed[act]),
  };
}
