import type { FastifyRequest } from 'fastify';
import { parseTrace, type TraceContext } from '../../tracing/trace-context.ts';
import type { OpenSpan } from '../../tracing/tracer.ts';

/** The trace of a request: its own span if it is recorded, else the trace its caller sent, if any. */
export function requestTrace(request: FastifyRequest): TraceContext | null {
  return request.span?.context ?? incomingTrace(request);
}

export function incomingTrace({ headers }: FastifyRequest): TraceContext | null {
  const { traceparent } = headers;
  return traceparent === undefined ? null : parseTrace(traceparent, headers['tracestate']);
}

declare module 'fastify' {
  interface FastifyRequest {
    span?: OpenSpan;
  }
}
