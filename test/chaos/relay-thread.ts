import { parentPort, workerData } from 'node:worker_threads';
import { Relay } from '../support/servers/relay.ts';

/** Relays to the database, one per node, in their own thread so that the work of the harness does not slow them. */
const { count, socketPath } = workerData as { count: number; socketPath: string };
const relays: Relay[] = [];
for (let n = 0; n < count; n += 1) relays.push(await Relay.start(socketPath));

parentPort?.on('message', (change: { relay: number; delayMs: number }) => {
  relays[change.relay]?.slow(change.delayMs);
});
// oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
parentPort?.postMessage(relays.map(({ port }) => port));
