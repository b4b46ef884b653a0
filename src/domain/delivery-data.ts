import { RawJson } from '../platform/json/raw-json.ts';
import type { DeliveryStatus, LeasedDelivery } from './delivery.ts';
import { idTime } from './ids.ts';
import type { MetaEventType } from './meta-event.ts';

/** A delivery that ended, as meta events show it. */
export type EndedDelivery = Pick<
  LeasedDelivery,
  | 'id'
  | 'projectId'
  | 'eventId'
  | 'endpointId'
  | 'subscriptionId'
  | 'eventType'
  | 'idempotencyKey'
  | 'urlQueryParams'
  | 'body'
  | 'contentType'
  | 'retry'
  | 'numTrials'
  | 'acknowledgedAtMs'
> & {
  status: DeliveryStatus;
  description: string | null;
  /** The try that ended it, if one did. */
  attempt: object | null;
  endedAtMs: number;
};

const types: Partial<Record<DeliveryStatus, MetaEventType>> = {
  Success: 'eventdelivery.success',
  Failure: 'eventdelivery.failed',
  Discarded: 'eventdelivery.discarded',
};

/** The meta event type of a terminal state. */
export function endingType(status: DeliveryStatus): MetaEventType | undefined {
  return types[status];
}

const iso = (ms: number) => new Date(ms).toISOString();

export function deliveryData(delivery: EndedDelivery): object {
  const text = delivery.body.toString();
  return {
    uid: delivery.id,
    project_id: delivery.projectId,
    event_id: delivery.eventId,
    endpoint_id: delivery.endpointId,
    subscription_id: delivery.subscriptionId ?? '',
    event_type: delivery.eventType,
    status: delivery.status,
    description: delivery.description ?? '',
    idempotency_key: delivery.idempotencyKey ?? '',
    url_query_params: delivery.urlQueryParams ?? '',
    metadata: {
      data: delivery.contentType === null ? new RawJson(text) : text,
      strategy: delivery.retry.strategy,
      num_trials: delivery.numTrials,
      interval_seconds: delivery.retry.intervalSeconds,
      retry_limit: delivery.retry.retryLimit,
      max_retry_seconds: delivery.retry.maxRetrySeconds,
    },
    attempt: delivery.attempt,
    acknowledged_at: iso(delivery.acknowledgedAtMs),
    created_at: iso(idTime(delivery.id)),
    updated_at: iso(delivery.endedAtMs),
  };
}
