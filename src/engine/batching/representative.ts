import type { LeasedBatch, LeasedDelivery } from '../../domain/delivery.ts';
import { asId } from '../../domain/ids.ts';
import type { Sealer } from '../../platform/sealer.ts';
import type { ProjectRouting } from '../../routing/project-routing.ts';
import { storedHops, withHops } from '../../signing/hops.ts';
import { openHeaders } from '../../store/database/stored-headers.ts';

const SEVERAL_TYPES = 'batch';

/**
 * The one delivery that stands for a batch in an attempt. It has the id of the batch, and of its deliveries the fewest
 * tries left, the first expiry and the most hops. All have the same mode. The headers of single events are left out.
 */
export function representativeOf(
  batch: LeasedBatch,
  members: readonly LeasedDelivery[],
  content: { body: Buffer; contentType: string; routing: ProjectRouting | null; sealer: Sealer },
): LeasedDelivery {
  const { body, contentType, routing, sealer } = content;
  const left = ({ retry, numTrials, budgetFrom }: LeasedDelivery) =>
    retry.retryLimit - numTrials + budgetFrom;
  const fewest = members.reduce((a, b) => (left(b) < left(a) ? b : a));
  const types = new Set(members.map(({ eventType }) => eventType));
  const { id, fence, lane, isStarted, isSecondRequest, probeFence, dueAt, acceptedAtMs } = batch;
  const expiries = members.flatMap(({ expiresAtMs }) => expiresAtMs ?? []);
  const hops = Math.max(
    ...members.map((member) =>
      storedHops(sealer, openHeaders(sealer, member.headers, member.eventId).headers),
    ),
  );
  return {
    ...fewest,
    fence,
    // Its gate is that of the current key, so that is where it waits if the gate is closed.
    key: routing?.keyOf(fewest.endpointId, fewest.subscriptionId) ?? batch.key,
    lane,
    isStarted,
    isSecondRequest,
    probeFence,
    dueAt,
    acceptedAtMs,
    id: asId(id),
    eventId: asId(id),
    eventType: types.size === 1 ? fewest.eventType : SEVERAL_TYPES,
    orderingId: null,
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
