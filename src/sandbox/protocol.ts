/**
 * The messages between the node and a sandbox process, over the process's own message channel.
 *
 * The process sends `ready` once. Then the node sends a batch, and the process answers with the results in
 * the same order. Only then may the node send the next batch. A process that ends therefore had exactly one
 * batch. Its last lines on standard error say why it ended.
 */
import type { FunctionCall, FunctionLimits, FunctionResult } from './contract.ts';

export interface WorkerCall extends FunctionCall {
  /** `check` compiles the code and finds `transform`, but does not call it. */
  kind: 'run' | 'check';
  limits: FunctionLimits;
}

export type ToWorker = WorkerCall[];

export type FromWorker = 'ready' | FunctionResult[];

/** The watchdog writes one of these to standard error just before it ends its own process. */
export const lastWords = {
  cpu: 'sandbox watchdog: cpu',
  memory: 'sandbox watchdog: memory',
  wall: 'sandbox watchdog: wall',
};
