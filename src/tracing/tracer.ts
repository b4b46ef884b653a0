import { randomFillSync } from 'node:crypto';
import type { TraceContext } from './trace-context.ts';

/**
 * Creates spans and passes finished ones to the sink. Only recorded traces have spans. The sampled flag
 * decides for a request with a trace; otherwise a random draw with the configured share does. An unfinished
 * span is not stored, and no work waits for a finished one.
 */
export interface Span {
  context: TraceContext;
  parentId: string | null;
  name: string;
  kind: 'server' | 'internal' | 'client';
  /** Milliseconds since 1970, with fractions. */
  startedAt: number;
  endedAt: number;
  attributes: Record<string, string | number | boolean>;
  /** The error. Null: it did not fail. */
  error: string | null;
}

/** Accepts finished spans. It never waits and never throws. */
export interface SpanSink {
  add(span: Span): void;
}

/** A running span. */
export interface OpenSpan {
  readonly context: TraceContext;
  readonly parentId: string | null;
  readonly startedAt: number;
}

type Finished = Pick<Span, 'name' | 'kind' | 'attributes' | 'error'> & { endedAt?: number };

const HEX_OF_BYTE = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'));
/** Random bytes are drawn in bulk: one call for 16 of them costs 1 µs, from the pool 0.2. */
const POOL_BYTES = 4_096;

export class Tracer {
  readonly #sink: SpanSink;
  readonly #ratio: number;
  readonly #pool = Buffer.allocUnsafe(POOL_BYTES);
  #used = POOL_BYTES;

  constructor(options: { sink: SpanSink; ratio: number }) {
    this.#sink = options.sink;
    this.#ratio = options.ratio;
  }

  /** For an incoming request: part of the caller's trace, or the root of a new one. Null: not recorded. */
  begin(incoming: TraceContext | null): OpenSpan | null {
    if (incoming !== null) return this.child(incoming);
    if (Math.random() >= this.#ratio) return null;
    const traceId = this.#hex(16);
    return this.#open({ traceId, spanId: '', isSampled: true, state: '' }, null);
  }

  /** A child span, perhaps on another node. Null: the trace is not recorded. */
  child(parent: TraceContext | null): OpenSpan | null {
    return parent?.isSampled === true ? this.#open(parent, parent.spanId) : null;
  }

  end(span: OpenSpan, { endedAt = now(), ...finished }: Finished): void {
    const { context, parentId, startedAt } = span;
    this.#sink.add({ context, parentId, startedAt, endedAt: Math.max(startedAt, endedAt), ...finished });
  }

  #open(trace: TraceContext, parentId: string | null): OpenSpan {
    return { context: { ...trace, spanId: this.#hex(8) }, parentId, startedAt: now() };
  }

  /** Random digits, not all zero, because all zero means no id. */
  #hex(bytes: number): string {
    if (this.#used + bytes > POOL_BYTES) {
      randomFillSync(this.#pool);
      this.#used = 0;
    }
    let text = '';
    for (const byte of this.#pool.subarray(this.#used, this.#used + bytes)) text += HEX_OF_BYTE[byte];
    this.#used += bytes;
    return /[1-9a-f]/.test(text) ? text : this.#hex(bytes);
  }
}

const now = (): number => performance.timeOrigin + performance.now();
