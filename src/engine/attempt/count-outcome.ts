import { type Held, LANE } from '../../domain/delivery.ts';
import type { Metrics } from '../../metrics/metrics.ts';
import type { Sent } from './sent.ts';

/** Counts what became of deliveries, once it is recorded. Meta events go the same way and are not counted. */
export function countOutcome(
  metrics: Metrics,
  delivery: Held,
  { kind, finish, exchange }: Sent,
  moved: boolean,
): void {
  if (delivery.kind === 'meta') return;
  const { attempt, status, latencyMs } = finish;
  if (attempt !== null) metrics.attempts[outcomeClass(attempt.httpStatus)].inc();
  if (attempt !== null && exchange !== null)
    metrics.attemptDuration.observe(exchange.outcome.timings.totalMs / 1000);
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
      if (kind === 'failure') metrics.retriesPlanned.inc();
  }
}

/** A retry leaves the queue's hands: how late is it? */
export function countStart(metrics: Metrics, { lane, dueAt }: Held): void {
  if (lane === LANE.retry && dueAt !== null)
    metrics.retryLateness.observe(Math.max(0, performance.now() - dueAt) / 1000);
}

function outcomeClass(httpStatus: string | null): keyof Metrics['attempts'] {
  switch (httpStatus?.[0]) {
    case undefined:
      return 'no_answer';
    case '2':
      return '2xx';
    case '3':
      return '3xx';
    case '4':
      return '4xx';
    default:
      return '5xx';
  }
}
