import { ExchangeFailure } from '../dispatch/connection/outcome.ts';
import type { Turn } from '../dispatch/connection/turn.ts';
import { PatientTimer } from '../platform/time/patient-timer.ts';

/** The time limit of one message. It stands still while the message waits for its turn. */
export class Deadline {
  readonly #underWay: Set<Deadline> | undefined;
  readonly #timer: PatientTimer;
  #doing = '';
  #failure: ExchangeFailure | null = null;
  #reject: (failure: ExchangeFailure) => void = () => undefined;

  constructor(timeoutMs: number, signal: AbortSignal | undefined) {
    this.#underWay = signal === undefined ? undefined : underWayOf(signal);
    this.#underWay?.add(this);
    this.#timer = new PatientTimer(timeoutMs, () =>
      this.#end(new ExchangeFailure('timeout', `${this.#doing} within ${timeoutMs} ms.`)),
    );
    if (signal?.aborted === true) this.abort();
  }

  /** `doing`: the sentence of a timeout begins with it. */
  limit<T>(work: Promise<T>, doing: string): Promise<T> {
    this.#doing = doing;
    return this.#unlessEnded(work);
  }

  /** Resolves when the message may go: true if it had to wait. */
  async turn(turn: Turn): Promise<boolean> {
    let hasWaited = false;
    for (;;) {
      const answer = turn.take();
      if (answer === 'never') throw new ExchangeFailure('aborted', 'the message was given up', true);
      if (answer === 'now') break;
      hasWaited = true;
      this.#timer.clear();
      await this.#wait(turn);
    }
    if (hasWaited) this.#timer.restart();
    return hasWaited;
  }

  clear(): void {
    this.#timer.clear();
    this.#underWay?.delete(this);
  }

  abort(): void {
    this.#end(new ExchangeFailure('aborted', 'the message was aborted', true));
  }

  async #wait(turn: Turn): Promise<void> {
    const again = Promise.withResolvers<void>();
    const stop = turn.wait(again.resolve);
    try {
      await this.#unlessEnded(again.promise);
    } catch (error) {
      stop();
      throw error;
    }
  }

  #unlessEnded<T>(work: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      work.then(resolve, reject);
      this.#reject = reject;
      if (this.#failure !== null) reject(this.#failure);
    });
  }

  #end(failure: ExchangeFailure): void {
    this.#failure ??= failure;
    this.#reject(this.#failure);
  }
}

/** One listener for all messages. With one for each, a signal compares a new one with all the others. */
const bySignal = new WeakMap<AbortSignal, Set<Deadline>>();

function underWayOf(signal: AbortSignal): Set<Deadline> {
  const known = bySignal.get(signal);
  if (known !== undefined) return known;
  const underWay = new Set<Deadline>();
  signal.addEventListener('abort', () => {
    for (const deadline of underWay) deadline.abort();
  });
  bySignal.set(signal, underWay);
  return underWay;
}
