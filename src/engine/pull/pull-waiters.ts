import { Loop } from '../../platform/loop.ts';
import type { EnginePart } from '../deps/engine-deps.ts';

/**
 * Consumers of this node that wait for deliveries. One query per tick looks for all of them, however many wait:
 *   idle    -> no consumer waits, and no query runs;
 *   ticking -> a query every TICK_MS, for large numbers less often, and at once when this node stores a row that a
 *              consumer waits for. For each due row one consumer of its endpoint is called.
 *
 * A consumer that is called looks for itself, and waits again if another was faster. So a call too many or too few costs
 * a query or a tick.
 */
export interface PullWaitersDeps extends EnginePart<'clock' | 'log'> {
  /** How many rows are due, by key, at most `most` of each place. */
  due(places: readonly { key: string; lane: number; most: number }[]): Promise<ReadonlyMap<string, number>>;
  lanes: readonly number[];
}

interface Waiter {
  keys: readonly string[];
  call(): void;
}

const TICK_MS = 200;
/** An index probe takes some 25 µs, so a tick over so many keys takes 5 ms of the database. */
const KEYS_PER_TICK = 200;

export class PullWaiters {
  readonly #deps: PullWaitersDeps;
  /** By queue key, in the order of arrival. No set is empty. */
  readonly #waiting = new Map<string, Set<Waiter>>();
  readonly #loop: Loop;
  #cancelTick: (() => void) | undefined;

  constructor(deps: PullWaitersDeps) {
    this.#deps = deps;
    this.#loop = new Loop({
      turn: () => this.#look(),
      onError: (error) => deps.log.debug({ err: error }, 'failed to look for deliveries to pull; retrying'),
      clock: deps.clock,
    });
    this.#loop.start();
  }

  /** Resolves when a row may be due, after `ms`, or when the signal fires. */
  wait(keys: readonly string[], ms: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const end = () => {
        cancel();
        signal.removeEventListener('abort', end);
        this.#remove(waiter);
        resolve();
      };
      const waiter: Waiter = { keys, call: end };
      const cancel = this.#deps.clock.after(ms, end);
      signal.addEventListener('abort', end, { once: true });
      for (const key of keys) this.#waiting.set(key, (this.#waiting.get(key) ?? new Set()).add(waiter));
      if (signal.aborted || this.#loop.isStopped) end();
      else this.#plan();
    });
  }

  /** This node stored a row under a key. */
  stored(key: string): void {
    if (this.#waiting.size > 0 && this.#waiting.has(key)) this.#loop.wake();
  }

  /** Calls every consumer. None waits from now on. */
  async stop(): Promise<void> {
    const stopped = this.#loop.stop();
    this.#cancelTick?.();
    for (const waiter of [...this.#waiting.values()].flatMap((set) => [...set])) waiter.call();
    await stopped;
  }

  #remove(waiter: Waiter): void {
    for (const key of waiter.keys) {
      const others = this.#waiting.get(key);
      others?.delete(waiter);
      if (others?.size === 0) this.#waiting.delete(key);
    }
  }

  #plan(): void {
    if (this.#cancelTick !== undefined || this.#waiting.size === 0) return;
    const ms = TICK_MS * Math.ceil(this.#waiting.size / KEYS_PER_TICK);
    this.#cancelTick = this.#deps.clock.after(ms, () => {
      this.#cancelTick = undefined;
      this.#loop.wake();
    });
  }

  async #look(): Promise<void> {
    try {
      const { due, lanes } = this.#deps;
      const places = [...this.#waiting].flatMap(([key, { size: most }]) =>
        lanes.map((lane) => ({ key, lane, most })),
      );
      if (places.length === 0) return;
      for (const [key, rows] of await due(places))
        for (const waiter of [...(this.#waiting.get(key) ?? [])].slice(0, rows)) waiter.call();
    } finally {
      this.#plan();
    }
  }
}
