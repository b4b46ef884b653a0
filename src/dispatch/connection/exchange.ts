import type { Dispatcher } from 'undici';
import { STATUS_CODES } from '../../platform/node-http.ts';
import { PatientTimer } from '../../platform/time/patient-timer.ts';
import { addAbortListener, removeAbortListener } from './abort-listeners.ts';
import type { Progress, Target } from './connector.ts';
import { decodeBody } from './decode-body.ts';
import { droppedFailure, exchangeFailure, timeoutFailure, whereOf } from './failure-text.ts';
import { ExchangeFailure, type Outcome, type Timings } from './outcome.ts';
import { headerLists } from './response-headers.ts';
import type { Turn } from './turn.ts';

/**
 * One request and its response: the handler undici calls, and the one timer over all of it. A request is
 * written once. A retry is another exchange, so that each is recorded and counted.
 *
 * States: waiting (for a free connection) -> placed (on a line, which may still be connecting) -> parked (the
 * connection is open and reserved; a turn decides when to write, see turn.ts) -> started (written to the
 * socket) -> done. `done` is entered once, from any state, by the response's end, the bound on its size, an
 * error, the timer or the caller. Later calls of undici change nothing. The timer restarts when the exchange
 * is placed, because waiting for a connection of ours is not the endpoint's time. It restarts after parking
 * for the same reason.
 */

/** The connection an exchange runs on, as the exchange sees it. */
export interface Line {
  readonly progress: Progress;
  /** Counts this use; true if the connection served another exchange before. */
  use(): boolean;
  /** The exchange is over; the connection may serve others. */
  release(exchange: Exchange): void;
  /** The exchange ended before it was written. Stop connecting if that was for it alone. */
  abandon(): void;
  /** Send a parked exchange at once, on a new connection if its own has closed. */
  unpark(exchange: Exchange): void;
}

export interface ExchangeJob {
  readonly target: Target;
  readonly options: Dispatcher.DispatchOptions;
  readonly timeoutMs: number;
  readonly maxResponseBytes: number;
  readonly signal: AbortSignal | undefined;
  readonly turn: Turn | undefined;
  readonly resolverIsDown: () => boolean;
  readonly done: (outcome: Outcome) => void;
}

/** Thrown into undici to cancel a request that is not written yet. Unlike `abort` it keeps the connection. */
const TAKEN_BACK = new Error('taken back');
const REFUSED = Object.assign(new Error('refused by the endpoint'), { code: 'ECONNRESET' });
const CUT = new Error('no more of the answer is wanted');
/** Real servers send few 1xx. Each costs work and up to 16 KiB. */
const MAX_INTERIM_ANSWERS = 32;
const SWITCHING_PROTOCOLS = 101;

export class Exchange implements Dispatcher.DispatchHandler {
  readonly job: ExchangeJob;
  #line: Line | null = null;
  #controller: Dispatcher.DispatchController | null = null;
  #startedMs = performance.now();
  #firstByteMs: number | undefined;
  #totalMs: number | undefined;
  #progress: Progress | null = null;
  #reused = false;
  #stopWaiting: (() => void) | null = null;
  #done = false;
  #interimAnswers = 0;
  #status = 0;
  #statusText = '';
  #headers: Record<string, string[]> = {};
  #chunks: Buffer[] = [];
  #bodyBytes = 0;
  readonly #timer: PatientTimer;

  constructor(job: ExchangeJob) {
    this.job = job;
    this.#timer = new PatientTimer(job.timeoutMs, this.#onTimeout);
    if (job.signal !== undefined) addAbortListener(job.signal, this);
  }

  get isDone(): boolean {
    return this.#done;
  }

  place(line: Line, waited: boolean): void {
    this.#line = line;
    if (!waited) return;
    this.#startedMs = performance.now();
    this.#timer.restart();
  }

  /** Ends it from outside: the timer, the caller, the closing client. */
  fail(failure: ExchangeFailure): void {
    if (this.#done) return;
    this.#settle(this.#errorOutcome(failure));
    if (this.#controller !== null) this.#controller.abort(CUT);
    else this.#line?.abandon();
    this.#line?.release(this);
  }

  abort(): void {
    this.fail(new ExchangeFailure('aborted', 'the request was aborted', true));
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    if (this.#done) throw TAKEN_BACK;
    // undici restarts a request that an HTTP/2 endpoint refused or cut off by GOAWAY. Retries are the
    // caller's decision.
    if (this.#controller !== null) throw REFUSED;
    if (!this.#mayStart()) throw TAKEN_BACK;
    this.#controller = controller;
    this.#progress = this.#line!.progress;
    this.#reused = this.#line!.use();
  }

  /** False: it is parked or cancelled, and not written. */
  #mayStart(): boolean {
    const { turn } = this.job;
    if (turn === undefined) return true;
    switch (turn.take()) {
      case 'now':
        // The attempt's time is that of its request.
        this.#startedMs = performance.now();
        return true;
      case 'later':
        this.#timer.clear();
        this.#stopWaiting = turn.wait(() => this.#unpark());
        return false;
      case 'never':
        this.#settle(this.#errorOutcome(new ExchangeFailure('aborted', 'the request was given up', true)));
        this.#line?.release(this);
        return false;
    }
  }

  #unpark(): void {
    this.#stopWaiting = null;
    if (this.#done) return;
    this.#timer.restart();
    this.#line!.unpark(this);
  }

  onResponseStarted(): void {
    this.#firstByteMs ??= performance.now() - this.#startedMs;
  }

  onResponseStart(
    controller: Dispatcher.DispatchController,
    status: number,
    headers: Record<string, string | string[] | undefined>,
    statusMessage?: string,
  ): void {
    if (this.#done) return;
    this.onResponseStarted();
    if (status < 200) return this.#interim(controller, status);
    this.#status = status;
    const reason = statusMessage || STATUS_CODES[status];
    this.#statusText = reason === undefined ? String(status) : `${status} ${reason}`;
    const kept = headerLists(headers);
    if (kept === null) return this.#refuse(controller, 'answered with too many headers');
    this.#headers = kept;
  }

  #interim(controller: Dispatcher.DispatchController, status: number): void {
    if (status === SWITCHING_PROTOCOLS)
      this.#refuse(controller, 'switched to another protocol, which nothing asked for');
    else if (++this.#interimAnswers > MAX_INTERIM_ANSWERS)
      this.#refuse(controller, `sent more than ${MAX_INTERIM_ANSWERS} interim answers (1xx)`);
  }

  #refuse(controller: Dispatcher.DispatchController, text: string): void {
    controller.abort(new ExchangeFailure('invalid_response', `${this.#where()} ${text}`));
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#done) return;
    const roomBytes = this.job.maxResponseBytes - this.#bodyBytes;
    // undici passes views of its read buffer. A copy of the kept part frees that buffer.
    if (roomBytes > 0) this.#chunks.push(Buffer.from(chunk.subarray(0, roomBytes)));
    this.#bodyBytes += Math.min(chunk.length, roomBytes);
    if (chunk.length <= roomBytes) return;
    this.#done = true;
    controller.abort(CUT);
    this.#answered(true);
  }

  onResponseEnd(): void {
    if (!this.#done) this.#answered(false);
  }

  onResponseError(_controller: unknown, error: Error): void {
    if (this.#done || this.#stopWaiting !== null) return;
    const dropped = this.#wasDropped(error);
    const failure = dropped
      ? droppedFailure(this.job.target, this.#address())
      : exchangeFailure(error, this.job.target, this.#address(), this.#status !== 0);
    this.#settle(this.#errorOutcome(failure, dropped));
    this.#line?.release(this);
  }

  /** An endpoint may close an idle connection at the moment we write to it. Neither side is at fault. */
  #wasDropped(error: NodeJS.ErrnoException): boolean {
    if (this.#firstByteMs !== undefined) return false;
    if (error === REFUSED) return true;
    return (
      this.#reused &&
      (error.code === 'UND_ERR_SOCKET' || error.code === 'ECONNRESET' || error.code === 'EPIPE')
    );
  }

  #answered(cut: boolean): void {
    this.#done = true;
    const received = this.#chunks.length === 1 ? this.#chunks[0]! : Buffer.concat(this.#chunks);
    const encoding = this.#headers['content-encoding']?.join(',');
    this.#totalMs = performance.now() - this.#startedMs;
    if (encoding === undefined || received.length === 0) {
      this.#settle(this.#responseOutcome(received, cut));
    } else {
      void this.#decode(received, encoding, cut);
    }
    this.#line?.release(this);
  }

  async #decode(received: Buffer, encoding: string, cut: boolean): Promise<void> {
    const { body, truncated } = await decodeBody(received, encoding, this.job.maxResponseBytes);
    this.#settle(this.#responseOutcome(body, truncated || cut));
  }

  #responseOutcome(body: Buffer, truncated: boolean): Outcome {
    return {
      kind: 'response',
      status: this.#status,
      statusText: this.#statusText,
      headers: this.#headers,
      body,
      truncated,
      address: this.#address(),
      certificates: (this.#progress ?? this.#line?.progress)?.certificates ?? null,
      timings: this.#timings(),
      startedMs: this.#startedMs,
    };
  }

  #errorOutcome(failure: ExchangeFailure, dropped = false): Outcome {
    return {
      kind: 'error',
      code: failure.code,
      message: failure.message,
      ours: failure.ours,
      dropped,
      address: this.#address(),
      certificates: (this.#progress ?? this.#line?.progress)?.certificates ?? null,
      timings: this.#timings(),
      startedMs: this.#startedMs,
    };
  }

  #settle(outcome: Outcome): void {
    this.#done = true;
    this.#timer.clear();
    this.#stopWaiting?.();
    this.#stopWaiting = null;
    if (this.job.signal !== undefined) removeAbortListener(this.job.signal, this);
    this.job.done(outcome);
  }

  #timings(): Timings {
    const timings: Timings = { totalMs: this.#totalMs ?? performance.now() - this.#startedMs };
    if (this.#firstByteMs !== undefined) timings.firstByteMs = this.#firstByteMs;
    const progress = this.#progress ?? this.#line?.progress;
    if (progress === undefined || this.#reused) return timings;
    const { dnsMs, connectMs, tlsMs } = progress;
    if (dnsMs !== undefined) timings.dnsMs = dnsMs;
    if (connectMs !== undefined) timings.connectMs = connectMs;
    if (tlsMs !== undefined) timings.tlsMs = tlsMs;
    return timings;
  }

  #address(): string | null {
    return (this.#progress ?? this.#line?.progress)?.address ?? null;
  }

  #where(): string {
    return whereOf(this.job.target, this.#address());
  }

  readonly #onTimeout = (): void => {
    const { target, timeoutMs, resolverIsDown } = this.job;
    const progress = this.#progress ?? this.#line?.progress ?? null;
    const stage = this.#status !== 0 ? 'body' : this.#controller !== null ? 'answer' : progress?.stage;
    const failure = timeoutFailure(stage ?? 'waiting', timeoutMs, target, this.#address());
    const isOurs = failure.ours || (stage === 'dns' && resolverIsDown());
    this.fail(isOurs ? new ExchangeFailure(failure.code, failure.message, true) : failure);
  };
}
