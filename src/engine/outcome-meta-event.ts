import type { HeldDelivery } from '../domain/event-delivery.ts';
import { idTime } from '../domain/ids.ts';
import type { MetaEventType, NewMetaEvent } from '../domain/meta-event.ts';
import { RawJson } from '../domain/raw-json.ts';
import type { MetaEventRecorder } from '../routing/meta-event-recorder.ts';
import type { AttemptRow, Finish } from '../store/finish-deliveries.ts';
import type { ProjectRow } from '../store/projects.ts';

/** The meta event that tells how a delivery ended, if it has and its project wants to know. */
const types: Partial<Record<Finish['status'], MetaEventType>> = {
  Success: 'eventdelivery.success',
  Failure: 'eventdelivery.failed',
  Discarded: 'eventdelivery.discarded',
};

export function outcomeMetaEvent(
  recorder: MetaEventRecorder,
  project: ProjectRow,
  outcome: { delivery: HeldDelivery; finish: Finish; nowMs: number },
): NewMetaEvent | undefined {
  const { finish } = outcome;
  const type = finish.delayMs === null ? types[finish.status] : undefined;
  return type && recorder.prepare(project, type, () => deliveryData(outcome));
}

/** A delivery that has ended, and how. */
export interface EndedDelivery {
  delivery: Pick<
    HeldDelivery,
    | 'id'
    | 'projectId'
    | 'eventId'
    | 'endpointId'
    | 'subscriptionId'
    | 'eventType'
    | 'body'
    | 'contentType'
    | 'idempotencyKey'
    | 'urlQueryParams'
    | 'strategy'
    | 'intervalSeconds'
    | 'retryLimit'
    | 'maxRetrySeconds'
    | 'acknowledgedAtMs'
  >;
  finish: Pick<Finish, 'status' | 'description' | 'numTrials' | 'body' | 'attempt'>;
  nowMs: number;
}

const iso = (ms: number) => new Date(ms).toISOString();

export function deliveryData({ delivery, finish, nowMs }: EndedDelivery): object {
  const body = finish.body ?? delivery.body;
  const text = body.toString();
  return {
    uid: delivery.id,
    project_id: delivery.projectId,
    event_id: delivery.eventId,
    endpoint_id: delivery.endpointId,
    subscription_id: delivery.subscriptionId ?? '',
    event_type: delivery.eventType,
    status: finish.status,
    description: finish.description ?? '',
    idempotency_key: delivery.idempotencyKey ?? '',
    url_query_params: delivery.urlQueryParams ?? '',
    metadata: {
      data: delivery.contentType === null ? new RawJson(text) : text,
      strategy: delivery.strategy,
      num_trials: finish.numTrials,
      interval_seconds: delivery.intervalSeconds,
      retry_limit: delivery.retryLimit,
      max_retry_seconds: delivery.maxRetrySeconds,
    },
    attempt: finish.attempt === null ? null : attemptData(finish.attempt),
    acknowledged_at: iso(delivery.acknowledgedAtMs),
    created_at: iso(idTime(delivery.id)),
    updated_at: iso(nowMs),
  };
}

/** Without what the endpoint answered beyond its status: that may be long, and is read with the attempt. */
function attemptData(attempt: AttemptRow): object {
  return {
    uid: attempt.id,
    url: attempt.url,
    ip_address: attempt.ipAddress ?? '',
    http_status: attempt.httpStatus ?? '',
    error: attempt.error ?? '',
    status: attempt.succeeded,
    requested_at: iso(attempt.requestedAtMs),
  };
}
