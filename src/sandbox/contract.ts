/** The input of a user function, its limits, and every way a run can end. */
import { createHash } from 'node:crypto';

export interface FunctionLimits {
  /** CPU time of one run, its top-level code included. */
  cpuMs: number;
  /** Heap and array buffers together. */
  heapBytes: number;
  /** UTF-8 bytes of the returned value as JSON text. */
  outputBytes: number;
}

const mib = 1024 * 1024;

const limitRanges: Record<keyof FunctionLimits, { least: number; usual: number; most: number }> = {
  cpuMs: { least: 5, usual: 100, most: 10_000 },
  heapBytes: { least: 8 * mib, usual: 32 * mib, most: 256 * mib },
  outputBytes: { least: 2, usual: 5 * mib, most: 32 * mib },
};

/**
 * If wall time exceeds CPU time by this factor, the machine is at fault, not the function. A process of the
 * lowest priority got about one hundredth of a core next to two busy loops per core.
 */
export const starvation = 200;

/** The wall times that a run gets, one after the other: each three times as long, and at last all that a starved one may take. */
export function* wallTimes(cpuMs: number): Generator<number> {
  const most = cpuMs * starvation;
  for (let wallMs = cpuMs; wallMs < most; wallMs *= 3) yield wallMs;
  yield most;
}

export const sourceLimitBytes = 512 * 1024;
export const inputLimitBytes = 32 * 1024 * 1024;
/** Limits of `console`. Output beyond them is cut, and a last line says so. The run does not fail. */
export const logLimits = { lines: 100, chars: 16 * 1024 };

export interface FunctionCall {
  /** Defines `transform`, a function of one argument. */
  code: string;
  /** `functionVersion(code)`. An isolate is reused per tenant, version and heap limit. */
  version: string;
  /** The project. Isolates are never shared across tenants, and tenants are served fairly. */
  tenant: string;
  /** JSON text of the argument. */
  input: string;
  /** JSON text of a second argument. Absent: there is none. */
  context?: string;
  /** Seeds `Math.random`. It is the event's id, so a retry sees the same numbers. */
  seed: string;
  /** The time on the clock during the whole run. */
  nowMs: number;
  limits?: Partial<FunctionLimits>;
}

export function functionVersion(code: string): string {
  return createHash('sha256').update(code).digest('hex');
}

export interface FunctionUsage {
  /** CPU time of the function. */
  cpuMs: number;
  /** CPU time of the whole call: the function, its context and reading its result. */
  busyMs: number;
  heapBytes: number;
}

export type FunctionError =
  /** Faults of the function: the same input ends the same way. */
  | 'syntax'
  | 'source_limit'
  | 'input_limit'
  | 'no_transform'
  | 'threw'
  | 'never_settled'
  | 'not_json'
  | 'cpu_limit'
  | 'memory_limit'
  | 'output_limit'
  /** The function ended its sandbox process twice, each time as the only call in it. */
  | 'crashed'
  /** Our fault: the process ended, the sandbox closed or the machine was too busy. */
  | 'sandbox_lost'
  /** Our fault: the queue is full. */
  | 'overloaded';

interface FunctionSuccess extends FunctionUsage {
  ok: true;
  /** JSON text. */
  output: string;
  log: string[];
}

export interface FunctionFailure extends FunctionUsage {
  ok: false;
  error: FunctionError;
  message: string;
  /** Only for a syntax error. */
  line?: number;
  log: string[];
  /** Our fault, not the function's. The caller may run it again at no cost to the tenant. */
  ours: boolean;
}

export type FunctionResult = FunctionSuccess | FunctionFailure;

export type FunctionCheck = { ok: true } | { ok: false; message: string; line?: number; ours: boolean };

export function functionFailure(
  error: FunctionError,
  message: string,
  known: Partial<FunctionUsage> & { log?: string[]; line?: number } = {},
): FunctionFailure {
  const { log = [], cpuMs = 0, busyMs = 0, heapBytes = 0, line } = known;
  const ours = error === 'sandbox_lost' || error === 'overloaded';
  const failure: FunctionFailure = { ok: false, error, message, log, cpuMs, busyMs, heapBytes, ours };
  return line === undefined ? failure : { ...failure, line };
}

/** Fills in defaults and clamps each limit to its range. */
export function completeLimits(limits: Partial<FunctionLimits> = {}): FunctionLimits {
  const bounded = (name: keyof FunctionLimits) => {
    const { least, usual, most } = limitRanges[name];
    return Math.min(Math.max(limits[name] ?? usual, least), most);
  };
  return { cpuMs: bounded('cpuMs'), heapBytes: bounded('heapBytes'), outputBytes: bounded('outputBytes') };
}

const sizeText = (bytes: number) => (bytes >= mib ? `${Math.round(bytes / mib)} MiB` : `${bytes} bytes`);

/** The messages of the limits. Each names its limit. */
export const limitMessages = {
  cpu: (limits: FunctionLimits) => `the function used more than its ${limits.cpuMs} ms of CPU time`,
  memory: (limits: FunctionLimits) =>
    `the function used more than its ${sizeText(limits.heapBytes)} of memory`,
  output: (limits: FunctionLimits) =>
    `the function returned more than ${sizeText(limits.outputBytes)} of JSON`,
  source: () => `the function is longer than ${sizeText(sourceLimitBytes)}`,
  input: () => `the function's argument is larger than ${sizeText(inputLimitBytes)}`,
};
