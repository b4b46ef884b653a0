/**
 * Timers for limits on another party: an endpoint, a name server, the database.
 *
 * This process may stall: SIGSTOP, a migration of its virtual machine, no CPU, a long step of its own.
 * Responses then wait in the sockets while the limit runs, and afterwards the event loop fires timers before
 * it reads sockets. Therefore stalled time does not count, and every socket is read once more before a limit
 * strikes:
 *   running -> set for the rest of the limit;
 *   fired   -> if the process stalled meanwhile: running again, with that time added; else:
 *   reading -> the event loop polls its sockets once. Then the limit strikes, unless a response cleared it.
 *
 * A pulse measures stalls: a beat that is late by more than JITTER_MS means a stall. Each beat counts at
 * least PULSE_MS as running, so every limit ends even in a process that crawls.
 */
const PULSE_MS = 100;
const JITTER_MS = 50;

let stoodStillBeforeMs = 0;
let beatAt = performance.now();

/** How long this process has stalled since measuring began. Only differences are meaningful. */
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

  /** Restarts the whole limit from now. */
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
