/**
 * What passes between the node and a sandbox process, over the process's own message channel.
 *
 * The process says `ready` once. Then the node sends a batch, the process answers it with the results
 * in the same order, and only then may the node send the next: a process that ends is therefore known
 * to have held exactly one batch. What it wrote to standard error last says why it ended.
 */
import type { FunctionLimits, FunctionResult } from './contract.ts';

export interface WorkerCall {
  /** `check` compiles the code and finds `transform`, but does not call it. */
  kind: 'run' | 'check';
  code: string;
  version: string;
  tenant: string;
  input: string;
  seed: string;
  nowMs: number;
  limits: FunctionLimits;
}

export type ToWorker = WorkerCall[];

export type FromWorker = 'ready' | FunctionResult[];

/** Written to standard error by the watchdog of a process just before it ends its own process. */
export const lastWords = {
  cpu: 'sandbox watchdog: cpu',
  memory: 'sandbox watchdog: memory',
  wall: 'sandbox watchdog: wall',
};
