import type { HttpClient } from '../dispatch/client/http-client.ts';
import type { Outcome } from '../dispatch/connection/outcome.ts';
import type { Metrics } from '../metrics/metrics.ts';
import type { ObserverGuard } from '../metrics/observer-guard.ts';
import type { Logger } from '../platform/logger.ts';
import { otlpTraces, type Resource } from './otlp-json.ts';
import type { Span, SpanSink } from './tracer.ts';

/**
 * Sends finished spans to a collector, OTLP over HTTP in JSON, one request at a time.
 *
 *   waiting  -> at most MAX_WAITING spans; one more is dropped and counted;
 *   sending  -> up to MAX_BATCH of them, a second after the first came or as soon as there are that many;
 *   kept     -> the collector is away or asks to wait: the same batch goes again, ever more slowly, while new spans wait;
 *   refused  -> the collector will not have the batch: it is dropped and counted.
 *
 * So a collector that is down costs bounded memory and nothing else: nobody waits for a span.
 */
export interface SpanExporterOptions {
  /** Its own client: the rule on where deliveries may go is not for the operator's collector. */
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
/** Statuses after which OTLP says to send again. */
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

  /** Sends what waits, once more where the collector is away, and drops what is left `graceMs` from now. */
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
    // Spans are for watching the node, no reason to keep it alive.
    this.#timer = setTimeout(start, isFull ? 0 : waitMs).unref();
  }

  /** A batch that cannot even be sent is dropped: it would not get better. */
  async #sendGuarded(): Promise<void> {
    const batch = this.#waiting.slice(0, MAX_BATCH);
    const isSent = await this.#options.guard.settle('trace', () => this.#send(batch), false);
    if (isSent) return;
    this.#waiting = this.#waiting.slice(batch.length);
    this.#options.metrics.spans.dropped.inc(batch.length);
  }

  /** True, also where the collector did not take it. */
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

  /** Says when the collector begins and ends to fail, not every time it does. */
  #note(outcome: Outcome, isTaken: boolean): void {
    const { log } = this.#options;
    if (isTaken && this.#failures > 0) log.info('traces are exported again');
    if (!isTaken && this.#failures === 0) {
      const reason = outcome.kind === 'response' ? outcome.statusText : outcome.message;
      log.warn({ reason }, 'traces could not be exported; deliveries go on');
    }
    this.#failures = isTaken ? 0 : this.#failures + 1;
  }
}

function mayTryAgain(outcome: Outcome): boolean {
  return outcome.kind === 'error' || TRY_AGAIN.has(outcome.status);
}

/** A collector may take a batch and say of how many spans it could make nothing. */
function rejectedSpans(body: Buffer): number {
  try {
    const { partialSuccess } = JSON.parse(body.toString()) as {
      partialSuccess?: { rejectedSpans?: string | number };
    };
    const rejected = Number(partialSuccess?.rejectedSpans ?? 0);
    return Number.isSafeInteger(rejected) && rejected > 0 ? rejected : 0;
  } catch {
    // An empty or other answer to a batch that was taken says nothing about rejected spans.
    return 0;
  }
}
