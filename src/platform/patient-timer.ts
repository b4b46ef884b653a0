/**
 * Timers for limits that another party is held to: an endpoint, a name server, the database.
 *
 * This process may stand still: SIGSTOP, a move of its virtual machine, a starved processor, a long step of its own.
 * Answers then wait in the sockets while the limit runs on, and afterwards the event loop fires timers before it reads
 * sockets. So time stood still does not count, and before a limit strikes every socket is read once more:
 *
 *   running -> set for what is left of the limit;
 *   fired   -> the process stood still since: running again, with that time added; else:
 *   reading -> the event loop polls its sockets once; then the limit strikes, unless it was cleared by what came.
 *
 * A pulse measures: beats that come late by more than JITTER_MS mean that the process stood still in between. It counts
 * at least PULSE_MS as running for each beat, so a process that crawls still comes to the end of every limit.
 */
const PULSE_MS = 100;
const JITTER_MS = 50;

let stoodStillBeforeMs = 0;
let beatAt = performance.now();

/** How long this process has stood still since it began to measure. Only differences mean something. */
export function stoodStillMs(): number {
  const lateMs = performance.now() - beatAt - PULSE_MS;
  return lateMs > JITTER_MS ? stoodStillBeforeMs + lateMs : stoodStillBeforeMs;
}

setInterval(() => {
  stoodStillBeforeMs = stoodStillMs();
  beatAt = performance.now();
}, PULSE_MS).unref();

export class PatientTimer {
  readonly #limitMs: number;
  readonly #strike: () => void;
  #endsAt = 0;
  #stoodStillMs = 0;
  #timer: NodeJS.Timeout | undefined;
  #reading: NodeJS.Immediate | undefined;

  constructor(limitMs: number, strike: () => void) {
    this.#limitMs = limitMs;
    this.#strike = strike;
    this.restart();
  }

  /** The whole limit, from now. */
  restart(): void {
    this.clear();
    this.#endsAt = performance.now() + this.#limitMs;
    this.#stoodStillMs = stoodStillMs();
    this.#timer = setTimeout(fired, this.#limitMs, this);
  }

  clear(): void {
    clearTimeout(this.#timer);
    if (this.#reading !== undefined) clearImmediate(this.#reading);
  }

  fired(): void {
    const leftMs = this.#endsAt + stoodStillMs() - this.#stoodStillMs - performance.now();
    // Timers may fire up to a millisecond early.
    if (leftMs > 1) this.#timer = setTimeout(fired, leftMs, this);
    else this.#reading = setImmediate(this.#strike);
  }
}

function fired(timer: PatientTimer): void {
  timer.fired();
}
