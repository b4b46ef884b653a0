import { addAbortListener, removeAbortListener } from '../dispatch/connection/abort-listeners.ts';
import { ExchangeFailure } from '../dispatch/connection/outcome.ts';
import type { Turn } from '../dispatch/connection/turn.ts';
import { PatientTimer } from '../platform/time/patient-timer.ts';
import type { MessageLimit } from './module/producer.ts';

/** The time limit of one message. It stands still while the message waits for its turn. */
export class Deadline implements MessageLimit {
  readonly #signal: AbortSignal | undefined;
  readonly #timer: PatientTimer;
  #doing = '';
  /** Null: nothing of the message is on its way. */
  begun: 'connecting' | 'connected' | null = null;
  #failure: ExchangeFailure | null = null;
  #reject: (failure: ExchangeFailure) => void = () => undefined;
  #whenOver: (() => void) | null = null;

  constructor(timeoutMs: number, signal: AbortSignal | undefined) {
    this.#signal = signal;
    if (signal !== undefined) addAbortListener(signal, this);
    this.#timer = new PatientTimer(timeoutMs, () =>
      this.end(new ExchangeFailure('timeout', `${this.#doing} within ${timeoutMs} ms.`)),
    );
    if (signal?.aborted === true) this.abort();
  }

  get isOver(): boolean {
    return this.#failure !== null;
  }

  begin(state: Deadline['begun']): void {
    this.begun = state;
  }

  whenOver(call: () => void): void {
    this.#whenOver = call;
    if (this.isOver) call();
  }

  /** `doing`: the sentence of a timeout begins with it. */
  limit<T>(work: Promise<T>, doing: string): Promise<T> {
    this.#doing = doing;
    return this.#unlessEnded(work);
  }

  /** Waits until it may be the turn of the message. The time begins again after it. */
  async wait(turn: Turn): Promise<void> {
    this.#timer.clear();
    const again = Promise.withResolvers<void>();
    const stop = turn.wait(again.resolve);
    try {
      await this.#unlessEnded(again.promise);
    } catch (error) {
      stop();
      throw error;
    }
    this.#timer.restart();
  }

  /** The message has ended by itself. */
  clear(): void {
    this.#timer.clear();
    if (this.#signal !== undefined) removeAbortListener(this.#signal, this);
    this.#whenOver = null;
  }

  abort(): void {
    this.end(new ExchangeFailure('aborted', 'the message was aborted', true));
  }

  /** Ends the message before its time. */
  end(failure: ExchangeFailure): void {
    if (this.#failure !== null) return;
    this.#failure = failure;
    this.#reject(failure);
    this.#whenOver?.();
  }

  #unlessEnded<T>(work: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      work.then(resolve, reject);
      this.#reject = reject;
      if (this.#failure !== null) reject(this.#failure);
    });
  }
}
