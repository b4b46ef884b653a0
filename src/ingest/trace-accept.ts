import { AppError } from '../domain/errors.ts';
import type { OpenSpan, Tracer } from '../tracing/tracer.ts';
import type { NewEvent } from './new-event.ts';
import type { AcceptedEvent } from './prepare-event.ts';

type Result = AcceptedEvent | AppError;

/** Accepts events, each in a span. Its deliveries are child spans of it, on any node and at any time. */
export async function traceAccept(
  tracer: Tracer,
  events: readonly NewEvent[],
  accept: (events: readonly NewEvent[]) => Promise<Result[]>,
): Promise<Result[]> {
  const spans = events.map((event) => tracer.child(event.trace));
  if (spans.every((span) => span === null)) return accept(events);
  const end = (resultOf: (index: number) => unknown) => {
    for (const [n, event] of events.entries()) {
      const span = spans[n] ?? null;
      if (span !== null) endSpan(tracer, span, { event, result: resultOf(n) });
    }
  };
  try {
    const traced = events.map((event, n) => ({ ...event, trace: spans[n]?.context ?? event.trace }));
    const results = await accept(traced);
    end((n) => results[n]);
    return results;
  } catch (reason) {
    end(() => reason);
    throw reason;
  }
}

/** `result`: the accepted event, or why it was not. */
function endSpan(
  tracer: Tracer,
  span: OpenSpan,
  { event, result }: { event: NewEvent; result: unknown },
): void {
  const accepted = isAccepted(result) ? result : undefined;
  const error = accepted !== undefined ? null : result instanceof AppError ? result.code : 'internal_error';
  tracer.end(span, {
    name: 'accept event',
    kind: 'internal',
    attributes: {
      'posthorn.project.id': event.projectId,
      'posthorn.event.type': event.eventType,
      'posthorn.payload.bytes': event.payload.length,
      ...(accepted !== undefined && {
        'posthorn.event.id': accepted.event.id,
        'posthorn.event.duplicate': accepted.isDuplicate,
        'posthorn.event.endpoints': accepted.event.endpointIds.length,
      }),
      ...(error !== null && { 'error.type': error }),
    },
    error,
  });
}

const isAccepted = (result: unknown): result is AcceptedEvent =>
  typeof result === 'object' && result !== null && 'isDuplicate' in result;
