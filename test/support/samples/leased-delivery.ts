import { LANE, type LeasedDelivery } from '../../../src/domain/delivery.ts';
import { firstIdAt } from '../../../src/domain/ids.ts';

/** The time of unit tests that own their clock. */
export const NOON = Date.parse('2026-06-01T12:00:00Z');

type Ids = 'id' | 'key' | 'projectId' | 'eventId' | 'endpointId' | 'target' | 'subscriptionId';
/** Tests name ids as they like. */
export type LeasedFields = Partial<
  Omit<LeasedDelivery, Ids> & Record<Exclude<Ids, 'subscriptionId'>, string>
> & {
  subscriptionId?: string | null;
};

/** A delivery of endpoint `e` in project `p`, accepted at NOON and never tried. It has three tries, 10 s apart. */
export function leasedDelivery(fields: LeasedFields = {}): LeasedDelivery {
  const delivery: Required<LeasedFields> = {
    kind: 'delivery',
    id: firstIdAt(NOON),
    fence: 1,
    key: 'e',
    lane: LANE.first,
    projectId: 'p',
    eventId: firstIdAt(NOON),
    endpointId: 'e',
    target: 'e',
    subscriptionId: 's',
    orderingId: null,
    isPlaced: true,
    isBehind: false,
    eventType: 'order.paid',
    deliveryMode: 'at_least_once',
    retry: { strategy: 'linear', intervalSeconds: 10, maxRetrySeconds: 7_200, retryLimit: 3, schedule: null },
    numTrials: 0,
    budgetFrom: 0,
    body: Buffer.from('{"a":1}'),
    hasOwnBody: false,
    isReplay: false,
    functionRequest: null,
    isStarted: false,
    pulled: null,
    isSecondRequest: false,
    probeFence: null,
    contentType: null,
    headers: null,
    urlQueryParams: null,
    idempotencyKey: null,
    sourceId: null,
    acknowledgedAtMs: NOON,
    acceptedAtMs: NOON,
    expiresAtMs: null,
    dueAt: null,
    ...fields,
  };
  return delivery as LeasedDelivery;
}
