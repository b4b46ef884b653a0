import type { Outcome } from '../../dispatch/connection/outcome.ts';
import { LANE, type Leased, TEST_EVENT_TYPE } from '../../domain/delivery.ts';
import type { Metrics } from '../../metrics/metrics.ts';
import type { Traffic } from '../../metrics/traffic.ts';
import type { Sent } from './sent.ts';

/** Counts the outcomes of deliveries once they are recorded. Meta events are not counted. */
export function countOutcome(metrics: Metrics, delivery: Leased, sent: Sent, moved: boolean): void {
  if (delivery.kind === 'meta') return;
  const { status, latencyMs } = sent.finish;
  if (sent.kind !== 'untried') {
    metrics.attempts[outcomeClass(sent.exchange.outcome)].inc();
    metrics.attemptDuration.observe(sent.exchange.outcome.timings.totalMs / 1000);
  }
  if (!moved) {
    metrics.lateOutcomes.inc();
    return;
  }
  if (latencyMs !== null) metrics.deliveryLatency.observe(Math.max(0, latencyMs) / 1000);
  switch (status) {
    case 'Success':
      return metrics.deliveriesFinished.success.inc();
    case 'Failure':
      return metrics.deliveriesFinished.failure.inc();
    case 'Discarded':
      return metrics.deliveriesFinished.discarded.inc();
    case 'Retry':
    case 'Scheduled':
      if (sent.kind === 'failure') metrics.retriesPlanned.inc();
  }
}

/** Counts it for the time series of its project, endpoint and source. */
export function countTraffic(
  traffic: Pick<Traffic, 'finished'>,
  delivery: Leased,
  sent: Sent,
  moved: boolean,
): void {
  if (delivery.kind === 'meta' || delivery.eventType === TEST_EVENT_TYPE) return;
  const { projectId, endpointId, sourceId } = delivery;
  const { status, latencyMs } = sent.finish;
  const end = moved && (status === 'Success' || status === 'Failure') ? status : null;
  const attempt = sent.kind === 'success' || sent.kind === 'failure' ? sent.kind : null;
  if (end === null && attempt === null) return;
  traffic.finished({ projectId, endpointId, sourceId, attempt, end, latencyMs: moved ? latencyMs : null });
}

/** Measures how late a retry starts. */
export function countStart(metrics: Metrics, { lane, dueAt }: Leased): void {
  if (lane === LANE.retry && dueAt !== null)
    metrics.retryLateness.observe(Math.max(0, performance.now() - dueAt) / 1000);
}

function outcomeClass(outcome: Outcome): keyof Metrics['attempts'] {
  if (outcome.kind === 'error') return 'no_answer';
  switch (Math.floor(outcome.status / 100)) {
    case 2:
      return '2xx';
    case 3:
      return '3xx';
    case 4:
      return '4xx';
    default:
      return '5xx';
  }
}
