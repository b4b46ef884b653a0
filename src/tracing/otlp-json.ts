import type { Span } from './tracer.ts';

/** Spans as the body of an OTLP export in JSON: ids in hexadecimal, times in nanoseconds as text. */
export interface Resource {
  'service.name': string;
  'service.version': string;
  'service.instance.id': string;
}

const KINDS = { internal: 1, server: 2, client: 3 } as const;
const STATUS_ERROR = 2;
/** Longer texts are cut: an event type may have any length, and a span has a bounded size. */
const MAX_TEXT_CHARS = 512;

export function otlpTraces(spans: readonly Span[], resource: Resource): string {
  return JSON.stringify({
    resourceSpans: [
      {
        resource: { attributes: attributes({ ...resource }) },
        scopeSpans: [
          {
            scope: { name: resource['service.name'], version: resource['service.version'] },
            spans: spans.map(otlpSpan),
          },
        ],
      },
    ],
  });
}

function otlpSpan(span: Span): object {
  const { context, parentId, error } = span;
  return {
    traceId: context.traceId,
    spanId: context.spanId,
    ...(parentId !== null && { parentSpanId: parentId }),
    ...(context.state !== '' && { traceState: context.state }),
    flags: 1,
    name: span.name,
    kind: KINDS[span.kind],
    startTimeUnixNano: nanoseconds(span.startedAt),
    endTimeUnixNano: nanoseconds(span.endedAt),
    attributes: attributes(span.attributes),
    status: error === null ? {} : { code: STATUS_ERROR, message: cut(error) },
  };
}

function attributes(values: Record<string, string | number | boolean>): object[] {
  return Object.entries(values).map(([key, value]) => ({ key, value: anyValue(value) }));
}

function anyValue(value: string | number | boolean): object {
  if (typeof value === 'string') return { stringValue: cut(value) };
  if (typeof value === 'boolean') return { boolValue: value };
  return Number.isSafeInteger(value) ? { intValue: String(value) } : { doubleValue: value };
}

const cut = (text: string): string => text.slice(0, MAX_TEXT_CHARS).toWellFormed();

/** A double has microsecond, not nanosecond precision at today's milliseconds. */
function nanoseconds(ms: number): string {
  return `${Math.round(ms * 1000)}000`;
}
