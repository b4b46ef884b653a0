import { LANE, type Leased } from '../../domain/delivery.ts';
import type { Logger } from '../../platform/logger.ts';
import type { Sent } from './sent.ts';

/**
 * One wide line per attempt with all its data at the moment its outcome is recorded. It is at level debug,
 * because at thousands of deliveries a second it would be most of the log. If that level is off it costs a
 * comparison. It names hosts and addresses, never a URL (webhook URLs may contain tokens), a header or a
 * body.
 */
export function logAttempt(log: Logger, delivery: Leased, sent: Sent, moved: boolean): void {
  if (sent.exchange === null || delivery.kind === 'meta' || !log.isLevelEnabled('debug')) return;
  const { finish } = sent;
  const { outcome, requestBytes, trace } = sent.exchange;
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
