import type { Outcome } from '../../dispatch/connection/outcome.ts';
import type { LeasedDelivery } from '../../domain/delivery.ts';
import type { OpenSpan, Tracer } from '../../tracing/tracer.ts';

/** The span of one attempt: target, kind and result. No payload, no header, and only the host of the URL. */
export function endAttemptSpan(
  tracer: Tracer | null,
  span: OpenSpan | null,
  { delivery, outcome, url }: { delivery: LeasedDelivery; outcome: Outcome; url: string },
): void {
  if (tracer === null || span === null) return;
  const status = outcome.kind === 'response' ? outcome.status : null;
  const error = errorOf(outcome);
  const { dnsMs, connectMs, tlsMs, firstByteMs } = outcome.timings;
  tracer.end(span, {
    name: 'deliver event',
    kind: 'client',
    attributes: {
      'http.request.method': 'POST',
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

function serverOf(url: string): Record<string, string | number> {
  const parsed = URL.parse(url);
  if (parsed === null) return {};
  return {
    'server.address': parsed.hostname,
    'server.port': Number(parsed.port || (parsed.protocol === 'https:' ? 443 : 80)),
  };
}
