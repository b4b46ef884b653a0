import type { HttpClient } from '../dispatch/client/http-client.ts';
import type { Outcome } from '../dispatch/connection/outcome.ts';
import type { Metrics } from '../metrics/metrics.ts';
import type { ObserverGuard } from '../metrics/observer-guard.ts';
import type { Logger } from '../platform/logger.ts';
import { otlpTraces, type Resource } from './otlp-json.ts';
import type { Span, SpanSink } from './tracer.ts';

/**
 * Sends finished spans to a collector, OTLP over HTTP in JSON, one request at a time.
 *   waiting  -> at most MAX_WAITING spans; one more is dropped and counted;
 *   sending  -> up to MAX_BATCH of them, a second after the first or as soon as there are that many;
 *   kept     -> the collector is down or asks to wait: the same batch is retried with growing pauses, while new
 *               spans wait;
 *   refused  -> the collector refuses the batch: it is dropped and counted.
 *
 * A collector that is down costs only bounded memory. No other work waits for a span.
 */
export interface SpanExporterOptions {
  /** A separate client, because the egress rule of deliveries does not apply to the operator's collector. */
  http: HttpClient;
  url: string;
  headers: readonly (readonly [string, string])[];
  resource(): Resource;
  metrics: Metrics;
  guard: ObserverGuard;
  log: Logger;
}

const MAX_WAITING = 8_192;
const MAX_BATCH = 512;
const DELAY_MS = 1_000;
const MAX_DELAY_MS = 30_000;
const TIMEOUT_MS = 10_000;
const MAX_RESPONSE_BYTES = 4_096;
/** Statuses that OTLP defines as retryable. */
const TRY_AGAIN: ReadonlySet<number> = new Set([429, 502, 503, 504]);

export class SpanExporter implements SpanSink {
  readonly #options: SpanExporterOptions;
  readonly #abort = new AbortController();
  #waiting: Span[] = [];
  #timer: NodeJS.Timeout | undefined;
  #sending: Promise<void> | undefined;
  #failures = 0;
  #stopped = false;

  constructor(options: SpanExporterOptions) {
    this.#options = options;
  }

  add(span: Span): void {
    if (this.#stopped || this.#waiting.length >= MAX_WAITING) {
      this.#options.metrics.spans.dropped.inc();
      return;
    }
    this.#waiting.push(span);
    this.#plan();
  }

  /** Sends the waiting spans, with one retry if the collector is down, and drops the rest `graceMs` from now. */
  async stop(graceMs: number): Promise<void> {
    this.#stopped = true;
    clearTimeout(this.#timer);
    const cutOff = setTimeout(() => this.#abort.abort(), graceMs);
    await this.#sending;
    let left = Number.POSITIVE_INFINITY;
    while (this.#waiting.length > 0 && this.#waiting.length < left) {
      left = this.#waiting.length;
      await this.#sendGuarded();
    }
    clearTimeout(cutOff);
    this.#options.metrics.spans.dropped.inc(this.#waiting.length);
    this.#waiting = [];
    await this.#options.http.close();
  }

  #plan(): void {
    if (this.#stopped || this.#sending !== undefined || this.#waiting.length === 0) return;
    const isFull = this.#waiting.length >= MAX_BATCH && this.#failures === 0;
    if (this.#timer !== undefined && !isFull) return;
    clearTimeout(this.#timer);
    const start = () => {
      this.#timer = undefined;
      this.#sending = this.#sendGuarded().finally(() => {
        this.#sending = undefined;
        this.#plan();
      });
    };
    const waitMs = Math.min(MAX_DELAY_MS, DELAY_MS * 2 ** this.#failures);
    // Spans must not keep the process alive.
    this.#timer = setTimeout(start, isFull ? 0 : waitMs).unref();
  }

  /** A batch that cannot even be sent is dropped, because a retry would fail the same way. */
  async #sendGuarded(): Promise<void> {
    const batch = this.#waiting.slice(0, MAX_BATCH);
    const isSent = await this.#options.guard.settle('trace', () => this.#send(batch), false);
    if (isSent) return;
    this.#waiting = this.#waiting.slice(batch.length);
    this.#options.metrics.spans.dropped.inc(batch.length);
  }

  /** Always true, even if the collector refused it. */
  async #send(batch: readonly Span[]): Promise<true> {
    const { http, url, headers, resource, metrics } = this.#options;
    const outcome = await http.send(
      {
        url,
        headers: [['Content-Type', 'application/json'], ...headers],
        body: Buffer.from(otlpTraces(batch, resource())),
        timeoutMs: TIMEOUT_MS,
        maxResponseBytes: MAX_RESPONSE_BYTES,
      },
      this.#abort.signal,
    );
    const isTaken = outcome.kind === 'response' && outcome.status >= 200 && outcome.status < 300;
    this.#note(outcome, isTaken);
    if (!isTaken && mayTryAgain(outcome)) return true;
    this.#waiting = this.#waiting.slice(batch.length);
    const rejected = isTaken ? Math.min(batch.length, rejectedSpans(outcome.body)) : batch.length;
    metrics.spans.dropped.inc(rejected);
    metrics.spans.exported.inc(batch.length - rejected);
    return true;
  }

  /** Logs when the collector starts and stops failing, not every failure. */
  #note(outcome: Outcome, isTaken: boolean): void {
    const { log } = this.#options;
    if (isTaken && this.#failures > 0) log.info('trace export works again');
    if (!isTaken && this.#failures === 0) {
      const reason = outcome.kind === 'response' ? outcome.statusText : outcome.message;
      log.warn({ reason }, 'failed to export traces; deliveries continue');
    }
    this.#failures = isTaken ? 0 : this.#failures + 1;
  }
}

function mayTryAgain(outcome: Outcome): boolean {
  return outcome.kind === 'error' || TRY_AGAIN.has(outcome.status);
}

/** A collector may accept a batch and report how many spans it rejected. */
function rejectedSpans(body: Buffer): number {
  try {
    const { partialSuccess } = JSON.parse(body.toString()) as {
      partialSuccess?: { rejectedSpans?: string | number };
    };
    const rejected = Number(partialSuccess?.rejectedSpans ?? 0);
    return Number.isSafeInteger(rejected) && rejected > 0 ? rejected : 0;
  } catch {
    // An empty or unknown reply to an accepted batch reports no rejected spans.
    return 0;
  }
}
