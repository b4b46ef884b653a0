/**
 * W3C trace context: the trace of an operation and its parent span. It arrives with a request, is stored in
 * the headers of the event's deliveries, and is sent with each of them.
 */
export interface TraceContext {
  /** 32 hexadecimal digits. */
  traceId: string;
  /** 16 hexadecimal digits: the parent span. */
  spanId: string;
  /** Whether the trace is recorded. */
  isSampled: boolean;
  /** Data of other tracing systems. Empty: none. */
  state: string;
}

type Headers = Readonly<Record<string, readonly string[]>>;

/** A version later than 00 may append fields. Its known fields are read, and 00 is sent on. */
const TRACEPARENT =
  /^(?!ff)([0-9a-f]{2})-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;
const MAX_TRACEPARENT_CHARS = 256;
const TRACESTATE = /^[\x20-\x7e]{1,512}$/;
const SAMPLED = 1;
const NAMES = /^trace(parent|state)$/i;
/** The beginning of headers with a trace, as `withTrace` writes them. */
const MARK = '{"traceparent":["';
const TRACEPARENT_CHARS = 55;

/** Null if it is missing or invalid. The reader then begins a new trace. */
export function parseTrace(traceparent: unknown, tracestate: unknown): TraceContext | null {
  if (typeof traceparent !== 'string' || traceparent.length > MAX_TRACEPARENT_CHARS) return null;
  const [, version, traceId = '', spanId = '', flags = '', more] = TRACEPARENT.exec(traceparent) ?? [];
  if (version === undefined || (version === '00' && more !== undefined)) return null;
  const state = Array.isArray(tracestate) ? tracestate.join(',') : tracestate;
  return {
    traceId,
    spanId,
    isSampled: (Number.parseInt(flags, 16) & SAMPLED) === SAMPLED,
    state: typeof state === 'string' && TRACESTATE.test(state) ? state : '',
  };
}

export function traceparent({ traceId, spanId, isSampled }: TraceContext): string {
  return `00-${traceId}-${spanId}-${isSampled ? '01' : '00'}`;
}

/** Headers of an event with its trace, which comes first and replaces any other. */
export function withTrace(headers: Headers, trace: TraceContext): Headers {
  return Object.fromEntries([
    ['traceparent', [traceparent(trace)]],
    ...(trace.state === '' ? [] : [['tracestate', [trace.state]] as const]),
    ...Object.entries(withoutTrace(headers)),
  ]);
}

export function withoutTrace(headers: Headers): Headers {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !NAMES.test(name)));
}

/** The trace in headers as the sender gave them, in any case. */
export function givenTrace(headers: Headers): TraceContext | null {
  const values = new Map<string, string>();
  for (const [name, value] of Object.entries(headers)) {
    if (NAMES.test(name)) values.set(name.toLowerCase(), value.join(','));
  }
  return values.size === 0 ? null : parseTrace(values.get('traceparent'), values.get('tracestate'));
}

/** The trace in stored headers, JSON text of `withTrace`. Headers without a trace are not parsed. */
export function storedTrace(json: string | null): TraceContext | null {
  if (json === null || !json.startsWith(MARK)) return null;
  return parseTrace(json.slice(MARK.length, MARK.length + TRACEPARENT_CHARS), storedState(json));
}

function storedState(json: string): string | undefined {
  const start = MARK.length + TRACEPARENT_CHARS;
  if (!json.startsWith('"],"tracestate":["', start)) return undefined;
  return (JSON.parse(json) as { tracestate: string[] }).tracestate[0];
}
