/**
 * W3C trace context: which trace a piece of work belongs to and which span is its parent. It comes with a request,
 * is kept with the event among the headers its deliveries carry, and goes out with each of them.
 */
export interface TraceContext {
  /** 32 hexadecimal digits. */
  traceId: string;
  /** 16 hexadecimal digits: the span that caused what comes next. */
  spanId: string;
  /** Whether the trace is recorded. */
  isSampled: boolean;
  /** What other tracing systems pass along; empty: nothing. */
  state: string;
}

type Headers = Readonly<Record<string, readonly string[]>>;

/** A version later than 00 may append fields; what is known of it is read, and 00 is sent on. */
const TRACEPARENT =
  /^(?!ff)([0-9a-f]{2})-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;
const MAX_TRACEPARENT_CHARS = 256;
const TRACESTATE = /^[\x20-\x7e]{1,512}$/;
const SAMPLED = 1;
const NAMES = /^trace(parent|state)$/i;
/** How headers that carry a trace begin, as `withTrace` writes them. */
const MARK = '{"traceparent":["';
const TRACEPARENT_CHARS = 55;

/** Null where there is none or it breaks the rules; then whoever reads it begins a trace of its own. */
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

/** The trace that headers name in whatever case, as somebody gave them. */
export function givenTrace(headers: Headers): TraceContext | null {
  const values = new Map<string, string>();
  for (const [name, value] of Object.entries(headers)) {
    if (NAMES.test(name)) values.set(name.toLowerCase(), value.join(','));
  }
  return values.size === 0 ? null : parseTrace(values.get('traceparent'), values.get('tracestate'));
}

/** The trace in stored headers, JSON text as `withTrace` made it; told without parsing where there is none. */
export function storedTrace(json: string | null): TraceContext | null {
  if (json === null || !json.startsWith(MARK)) return null;
  return parseTrace(json.slice(MARK.length, MARK.length + TRACEPARENT_CHARS), storedState(json));
}

function storedState(json: string): string | undefined {
  const start = MARK.length + TRACEPARENT_CHARS;
  if (!json.startsWith('"],"tracestate":["', start)) return undefined;
  return (JSON.parse(json) as { tracestate: string[] }).tracestate[0];
}
