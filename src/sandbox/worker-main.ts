/**
 * The main file of a sandbox process. It answers one batch at a time, in order, and ends when its node ends.
 * It has no state that matters, so it may be killed at any moment.
 */
import { constants, getPriority, setPriority } from 'node:os';
import type { Role } from './call-queue.ts';
import { functionFailure } from './contract.ts';
import { IsolateCache } from './isolate-cache.ts';
import type { FromWorker, ToWorker, WorkerCall } from './protocol.ts';
import { Watchdog } from './watchdog.ts';

/** Some 3 MiB each when idle, 12 MiB at most. */
const keptIsolates = 64;

const role = process.argv[2] as Role;
// A tenth of a busy core. With less, a function of 100 ms would not end in the time that isolate-cache.ts allows.
// A node that was started with `nice` has less already, and only root may take more.
const { PRIORITY_BELOW_NORMAL } = constants.priority;
if (role === 'suspect' && getPriority() < PRIORITY_BELOW_NORMAL) setPriority(PRIORITY_BELOW_NORMAL);

const cache = new IsolateCache(keptIsolates, new Watchdog());

function answer(call: WorkerCall) {
  try {
    return cache.run(call);
  } catch (error) {
    return functionFailure('sandbox_lost', `the sandbox failed: ${String(error)}`);
  }
}

function send(message: FromWorker): void {
  process.send?.(message);
}

process.on('message', (batch: ToWorker) => send(batch.map(answer)));
process.on('disconnect', () => process.exit());
// The node handles signals sent to the whole process group.
process.on('SIGINT', () => {});
process.on('SIGTERM', () => {});
send('ready');
