import type { Outcome } from '../../dispatch/connection/outcome.ts';
import { LANE, type Leased, type LeasedDelivery } from '../../domain/delivery.ts';
import type { Metrics } from '../../metrics/metrics.ts';
import type { Logger } from '../../platform/logger.ts';
import {
  type AnyFinish,
  type Finish,
  isOfBatch,
  isOfMetaEvent,
  ofDeliveries,
} from '../../store/queue/finish.ts';
import type { OpenSpan, Tracer } from '../../tracing/tracer.ts';
import { type Exchange, isTried, type Sent } from './sent.ts';

/** Counts the outcomes of deliveries once they are recorded. Meta events are not counted. */
export function countOutcome(metrics: Metrics, sent: Sent<AnyFinish>, moved: boolean): void {
  if (isOfMetaEvent(sent)) return;
  if (sent.verdict !== 'untried' && sent.exchange !== null) {
    metrics.attempts[outcomeClass(sent.exchange.outcome)].inc();
    metrics.attemptDuration.observe(sent.exchange.outcome.timings.totalMs / 1000);
  }
  if (!moved) {
    metrics.lateOutcomes.inc();
    return;
  }
  const isFailure = isTried(sent) && sent.verdict !== 'success';
  for (const finish of ofDeliveries(sent)) countState(metrics, finish, isFailure);
}

function countState(metrics: Metrics, { status, latencyMs }: Finish, isFailure: boolean): void {
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
      if (isFailure) metrics.retriesPlanned.inc();
  }
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

/**
 * One wide line per attempt with all its data at the moment its outcome is recorded. It is at level debug,
 * because at thousands of deliveries a second it would be most of the log. If that level is off it costs a
 * comparison. It names hosts and addresses, never a URL (webhook URLs may contain tokens), a header or a
 * body.
 */
export function logAttempt(log: Logger, sent: Sent<AnyFinish>, moved: boolean): void {
  if (sent.exchange === null || !log.isLevelEnabled('debug')) return;
  const [first] = ofDeliveries(sent);
  if (first === undefined) return;
  const { exchange } = sent;
  if (!isOfBatch(sent)) return logOne(log, first, { exchange, moved });
  const { id, deliveryIds } = sent.delivery;
  logOne(log.child({ batch: id, deliveries: deliveryIds.length }), first, { exchange, moved });
}

function logOne(
  log: Logger,
  finish: Finish,
  { exchange, moved }: { exchange: Exchange; moved: boolean },
): void {
  const { delivery } = finish;
  const { outcome, requestBytes, trace } = exchange;
  log.debug(
    {
      project: delivery.projectId,
      event: delivery.eventId,
      eventType: delivery.eventType,
      delivery: delivery.id,
      endpoint: delivery.endpointId,
      subscription: delivery.subscriptionId,
      attempt: finish.attempt?.id,
      attemptNumber: delivery.numTrials + 1,
      lane: LANE_NAMES[delivery.lane],
      isSecondRequest: delivery.isSecondRequest || undefined,
      isProbe: delivery.probeFence !== null || undefined,
      host: URL.parse(finish.attempt?.url ?? '')?.host,
      address: outcome.address ?? undefined,
      status: outcome.kind === 'response' ? outcome.status : undefined,
      outcome: finish.status,
      // Another node claimed it or it was cancelled meanwhile, so it changed nothing.
      isLate: !moved || undefined,
      error: outcome.kind === 'error' ? outcome.code : undefined,
      description: finish.description ?? undefined,
      nextTryInMs: finish.delayMs ?? undefined,
      latencyMs: finish.latencyMs ?? undefined,
      ...rounded(outcome.timings),
      requestBytes,
      responseBytes: outcome.kind === 'response' ? outcome.body.length : undefined,
      trace: trace?.traceId,
    },
    'attempt',
  );
}

const LANE_NAMES = Object.fromEntries(Object.entries(LANE).map(([name, lane]) => [lane, name]));

/** Milliseconds to the microsecond. More digits are noise. */
function rounded(timings: object): Record<string, number> {
  return Object.fromEntries(
    Object.entries(timings).map(([part, ms]) => [part, Math.round((ms as number) * 1000) / 1000]),
  );
}

/** The span of one attempt: target, kind and result. No payload, no header, and only the host of the URL. */
export function endAttemptSpan(
  tracer: Tracer | null,
  span: OpenSpan | null,
  { delivery, outcome, url }: { delivery: LeasedDelivery; outcome: Outcome; url: string },
): void {
  if (tracer === null || span === null) return;
  const isHttp = url.startsWith('http');
  const status = outcome.kind === 'response' && isHttp ? outcome.status : null;
  const error = errorOf(outcome);
  const { dnsMs, connectMs, tlsMs, firstByteMs } = outcome.timings;
  tracer.end(span, {
    name: 'deliver event',
    kind: 'client',
    attributes: {
      ...(isHttp ? { 'http.request.method': 'POST' } : { 'messaging.system': systemOf(url) }),
      ...(status !== null && { 'http.response.status_code': status }),
      ...serverOf(url),
      ...(outcome.address !== null && { 'network.peer.address': outcome.address }),
      'posthorn.project.id': delivery.projectId,
      'posthorn.event.id': delivery.eventId,
      'posthorn.event.type': delivery.eventType,
      'posthorn.delivery.id': delivery.id,
      'posthorn.endpoint.id': delivery.endpointId,
      ...(delivery.subscriptionId !== null && { 'posthorn.subscription.id': delivery.subscriptionId }),
      'posthorn.attempt.number': delivery.numTrials + 1,
      ...(dnsMs !== undefined && { 'posthorn.attempt.dns_ms': dnsMs }),
      ...(connectMs !== undefined && { 'posthorn.attempt.connect_ms': connectMs }),
      ...(tlsMs !== undefined && { 'posthorn.attempt.tls_ms': tlsMs }),
      ...(firstByteMs !== undefined && { 'posthorn.attempt.first_byte_ms': firstByteMs }),
      ...(error !== null && { 'error.type': error.type }),
    },
    error: error?.message ?? null,
  });
}

function errorOf(outcome: Outcome): { type: string; message: string } | null {
  if (outcome.kind === 'error') return { type: outcome.code, message: outcome.message };
  if (outcome.status >= 200 && outcome.status < 300) return null;
  return { type: String(outcome.status), message: `The endpoint answered ${outcome.status}` };
}

const systemOf = (url: string): string => url.slice(0, url.indexOf(':'));

function serverOf(url: string): Record<string, string | number> {
  const parsed = URL.parse(url);
  if (parsed === null) return {};
  return {
    'server.address': parsed.hostname,
    'server.port': Number(parsed.port || (parsed.protocol === 'https:' ? 443 : 80)),
  };
}
