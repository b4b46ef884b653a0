import { AppError } from '../domain/errors.ts';
import type { Tracer } from '../tracing/tracer.ts';
import type { NewEvent } from './new-event.ts';
import type { AcceptedEvent } from './prepare-event.ts';

/** Accepts an event in a span. Its deliveries are child spans of it, on any node and at any time. */
export async function traceAccept(
  tracer: Tracer,
  event: NewEvent,
  accept: (event: NewEvent) => Promise<AcceptedEvent>,
): Promise<AcceptedEvent> {
  const span = tracer.child(event.trace);
  if (span === null) return accept(event);
  let accepted: AcceptedEvent | undefined;
  let error: string | null = null;
  try {
    accepted = await accept({ ...event, trace: span.context });
    return accepted;
  } catch (reason) {
    error = reason instanceof AppError ? reason.code : 'internal_error';
    throw reason;
  } finally {
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
}
