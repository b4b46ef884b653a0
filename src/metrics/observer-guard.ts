import type { EventEmitter } from 'node:events';
import { pino } from 'pino';
import type { Logger } from '../platform/logger.ts';
import type { Metrics } from './metrics.ts';

/**
 * The one guard around all observers: metrics, log, traces, alerts and meta events. A failing observer ends
 * no process and fails neither a delivery nor the acceptance of an event. The failure is counted, and logged
 * once a minute at most per observer. A failure of the log itself is only counted.
 */
export const observers = ['metrics', 'log', 'trace', 'alert', 'meta_event'] as const;
export type Observer = (typeof observers)[number];

/** The fallback result of each method, for when the observer fails. */
type Instead<Target> = {
  [Method in keyof Target]?: Target[Method] extends (...args: never[]) => infer Result
    ? Awaited<Result>
    : never;
};
type Method = (...args: unknown[]) => unknown;

const LOG_EVERY_MS = 60_000;
const LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal'] as const;

export class ObserverGuard {
  readonly #log: Logger;
  readonly #faults: Metrics['observerFaults'];
  readonly #loggedAt = new Map<Observer, number>();
  #unlisten: () => void = () => {};

  constructor(log: Logger, faults: Metrics['observerFaults']) {
    this.#log = log;
    this.#faults = faults;
  }

  /** The result of `work`, or `instead` if it throws. */
  run<T>(observer: Observer, work: () => T, instead: T): T {
    try {
      return work();
    } catch (error) {
      this.#note(observer, error);
      return instead;
    }
  }

  /** Guards asynchronous work. Never rejects. */
  async settle<T>(observer: Observer, work: () => Promise<T>, instead: T): Promise<T> {
    try {
      return await work();
    } catch (error) {
      this.#note(observer, error);
      return instead;
    }
  }

  /** The observer with its methods guarded. Every method in use must be named. */
  wrap<Target extends object>(observer: Observer, target: Target, instead: Instead<Target>): Target {
    const methods = Object.entries(instead).map(([name, fallback]) => {
      const method = (target as Record<string, Method>)[name] as Method;
      return [name, this.#guarded(observer, method.bind(target), fallback)] as const;
    });
    return Object.assign(Object.create(target) as Target, Object.fromEntries(methods));
  }

  /** Leaves the destination of the log, which other nodes of the process may use too. */
  stop(): void {
    this.#unlisten();
  }

  /** Every instrument of the table. */
  metrics(metrics: Metrics): Metrics {
    const guarded = (node: object): object => {
      const names = ['inc', 'set', 'observe'].filter((name) => name in node);
      if (names.length > 0)
        return this.wrap('metrics', node, Object.fromEntries(names.map((n) => [n, undefined])));
      return Object.fromEntries(
        Object.entries(node).map(([name, child]) => [name, guarded(child as object)] as const),
      );
    };
    return guarded(metrics) as Metrics;
  }

  /** Also handles lines that the destination failed to write, which it reports later. */
  log(log: Logger): Logger {
    const stream = (log as unknown as Record<symbol, unknown>)[pino.symbols.streamSym];
    if (isEmitter(stream)) {
      const onError = (error: Error): void => this.#note('log', error);
      stream.on('error', onError);
      this.#unlisten = () => stream.off('error', onError);
    }
    return this.wrap('log', log, Object.fromEntries(LEVELS.map((level) => [level, undefined])));
  }

  /** Without the closure that `run` takes: a delivery makes eight guarded calls. */
  #guarded(observer: Observer, method: Method, instead: unknown): Method {
    return (...args) => {
      try {
        const result = method(...args);
        return result instanceof Promise ? this.settle(observer, () => result, instead) : result;
      } catch (error) {
        this.#note(observer, error);
        return instead;
      }
    };
  }

  #note(observer: Observer, error: unknown): void {
    try {
      this.#faults[observer].inc();
      const now = performance.now();
      const isDue = now - (this.#loggedAt.get(observer) ?? Number.NEGATIVE_INFINITY) >= LOG_EVERY_MS;
      if (observer === 'log' || !isDue) return;
      this.#loggedAt.set(observer, now);
      this.#log.error({ err: error, observer }, 'an observer failed; deliveries continue');
    } catch {
      // The counter and the log are observers too. If both fail, the error cannot be reported.
    }
  }
}

function isEmitter(stream: unknown): stream is EventEmitter {
  return typeof (stream as { on?: unknown } | null | undefined)?.on === 'function';
}
