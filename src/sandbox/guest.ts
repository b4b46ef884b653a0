/**
 * The part of the sandbox that runs inside an isolate with the user's code. `guest` is never called here:
 * `guestSource` is its text plus that of guest-builtins.ts, compiled in each context. The rules at the head
 * of that file apply here too.
 *
 * `run` returns a letter and a text: `o` output; `l` log, newline, output; `e` a GuestFailure as JSON; `p` a
 * promise. After `p`, `collect` returns the result in the same form once the microtasks are done.
 */
import {
  catchConsole,
  freezeEverything,
  hide,
  pinClock,
  pinRandom,
  pinTemporal,
  refuseResizableBuffers,
  removeWaysOut,
  replaceConstructor,
  shower,
} from './guest-builtins.ts';

export interface GuestSettings {
  frozen: boolean;
  log: { lines: number; chars: number };
}

export interface GuestFailure {
  error: 'threw' | 'no_transform' | 'not_json' | 'output_limit' | 'never_settled';
  message: string;
  log: string[];
}

function guest(settings: GuestSettings) {
  const { parse, stringify } = JSON;
  const { apply } = Reflect;
  // oxlint-disable-next-line typescript/unbound-method -- called with Reflect.apply
  const slice = String.prototype.slice;
  const show = shower();
  const clock = { nowMs: 0 };
  let outputChars = 0;
  let settled: string | undefined;

  removeWaysOut();
  refuseResizableBuffers();
  pinClock(clock);
  pinTemporal(clock);
  const seedRandom = pinRandom();
  const log = catchConsole(settings.log);
  if (settings.frozen) freezeEverything();

  function failure(error: GuestFailure['error'], message: string): string {
    return `e{"error":"${error}","message":${stringify(message)},"log":[${log.text()}]}`;
  }

  function describe(thrown: unknown): string {
    return apply(slice, show(thrown, 'the function threw something that cannot be shown'), [0, 1_000]);
  }

  function finish(value: unknown): string {
    let output: string | undefined;
    try {
      output = stringify(value);
    } catch (thrown) {
      return failure('not_json', `the returned value cannot be written as JSON: ${describe(thrown)}`);
    }
    if (typeof output !== 'string') return failure('not_json', `${typeof value} cannot be written as JSON`);
    if (output.length > outputChars) return failure('output_limit', '');
    return log.text() === '' ? `o${output}` : `l[${log.text()}]\n${output}`;
  }

  async function settle(value: unknown): Promise<void> {
    try {
      settled = finish(await value);
    } catch (thrown) {
      settled = failure('threw', describe(thrown));
    }
  }

  /** `factory` runs the user's code and returns its `transform`. */
  function bind(factory: () => unknown) {
    /** Without input it stops before the call of `transform`. */
    return function run(
      seed: string,
      nowMs: number,
      mostChars: number,
      ...given: [input?: string, context?: string]
    ): string {
      const input = given[0];
      const context = given[1];
      clock.nowMs = nowMs;
      outputChars = mostChars;
      settled = undefined;
      seedRandom(seed);
      log.clear();
      try {
        const transform = factory();
        if (typeof transform !== 'function') {
          return failure('no_transform', 'the code does not define a function named transform');
        }
        if (input === undefined) return 'onull';
        const passed: unknown[] = context === undefined ? [parse(input)] : [parse(input), parse(context)];
        const value = apply(transform, undefined, passed) as { then?: unknown } | null | undefined;
        const isPromise = typeof value === 'object' && value !== null && typeof value.then === 'function';
        if (!isPromise) return finish(value);
        void settle(value);
        return 'p';
      } catch (thrown) {
        return failure('threw', describe(thrown));
      }
    };
  }

  function collect(): string {
    return settled ?? failure('never_settled', 'transform returned a promise that never settles');
  }

  return { bind, collect };
}

const parts = [
  hide,
  replaceConstructor,
  removeWaysOut,
  refuseResizableBuffers,
  pinClock,
  pinTemporal,
  pinRandom,
  shower,
  catchConsole,
  freezeEverything,
  guest,
];

/** In strict mode and in a function of its own, so that user code cannot reach these names or find a caller. */
export function guestSource(settings: GuestSettings): string {
  return `(() => {'use strict';${parts.map(String).join('\n')}\nreturn guest(${JSON.stringify(settings)})})()`;
}
