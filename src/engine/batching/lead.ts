import type { LeasedBatch, LeasedDelivery } from '../../domain/delivery.ts';
import { asId } from '../../domain/ids.ts';
import type { Sealer } from '../../platform/sealer.ts';
import type { ProjectRouting } from '../../routing/project-routing.ts';
import { storedHops, withHops } from '../../signing/hops.ts';
import { openHeaders } from '../../store/database/stored-headers.ts';

const SEVERAL_TYPES = 'batch';

/**
 * The one delivery that stands for a batch in an attempt. It has the id of the batch, and of its deliveries the most tries,
 * the first expiry, the strictest mode and the most hops. The headers of single events are left out.
 */
export function leadOf(
  batch: LeasedBatch,
  members: readonly LeasedDelivery[],
  content: { body: Buffer; contentType: string; routing: ProjectRouting | null; sealer: Sealer },
): LeasedDelivery {
  const { body, contentType, routing, sealer } = content;
  const tries = (member: LeasedDelivery) => member.numTrials - member.budgetFrom;
  const most = members.reduce((a, b) => (tries(b) > tries(a) ? b : a));
  const types = new Set(members.map(({ eventType }) => eventType));
  const { id, fence, key, lane, isStarted, isSecondRequest, probeFence, dueAt, acceptedAtMs } = batch;
  const expiries = members.flatMap(({ expiresAtMs }) => expiresAtMs ?? []);
  const hops = Math.max(
    ...members.map((member) =>
      storedHops(sealer, openHeaders(sealer, member.headers, member.eventId).headers),
    ),
  );
  return {
    ...most,
    fence,
    key,
    lane,
    isStarted,
    isSecondRequest,
    probeFence,
    dueAt,
    acceptedAtMs,
    id: asId(id),
    eventId: asId(id),
    eventType: types.size === 1 ? most.eventType : SEVERAL_TYPES,
    orderingId: null,
    deliveryMode: members.some(({ deliveryMode }) => deliveryMode === 'at_most_once')
      ? 'at_most_once'
      : 'at_least_once',
    sourceId: members.find(({ sourceId }) => routing?.isIncoming(sourceId) === true)?.sourceId ?? null,
    expiresAtMs: expiries.length === 0 ? null : Math.min(...expiries),
    body,
    contentType,
    hasOwnBody: false,
    isReplay: false,
    functionRequest: null,
    headers: hops === 0 ? null : JSON.stringify(withHops(sealer, {}, hops)),
    urlQueryParams: null,
    idempotencyKey: null,
  };
}
