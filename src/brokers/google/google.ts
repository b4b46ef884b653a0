import { status } from '@grpc/grpc-js';
import type { GoogleSettings } from '../../domain/config/source.ts';
import type { BrokerModule, NetworkContext } from '../module/broker-module.ts';
import { runLeaseWorker } from '../module/lease-worker.ts';
import { runWorkers } from '../module/until-stopped.ts';
import { GoogleCalls } from './google-calls.ts';
import { googleError, isStatus } from './google-error.ts';
import { GoogleQueue, type Subscription } from './google-queue.ts';

/** Google Pub/Sub. Workers compete for messages (`LeasedQueue`). The service does not say how many messages wait. */
const REQUEST_MS = 10_000;
const DAY_S = 86_400;
/** No subscription keeps messages for longer. */
const LONGEST_RETENTION_S = 31 * DAY_S;

export const google: BrokerModule<'google'> = {
  consume: async ({ google: own, workers }, context) => {
    const subscription = await connect(own, context);
    try {
      const keepMs = await readKeepMs(subscription, context.signal);
      await runWorkers(workers, context.signal, (_, signal) =>
        runLeaseWorker(new GoogleQueue(subscription, keepMs, context.log), { ...context, signal }),
      );
    } finally {
      subscription.close();
    }
  },

  test: async ({ google: own }, context) => {
    const subscription = await connect(own, context);
    await tryRights(subscription, context.signal).finally(() => subscription.close());
  },

  worded: googleError,
};

const connect = (settings: GoogleSettings, context: NetworkContext): Promise<Subscription> =>
  GoogleCalls.connect('subscription', settings.subscription_id, { settings, context });

/** Taking messages needs the right to consume. So does this, and it takes none: no message has that id. */
async function tryRights(subscription: Subscription, signal: AbortSignal): Promise<void> {
  try {
    await subscription.call('acknowledge', { ackIds: ['none'] }, { timeoutMs: REQUEST_MS, signal });
  } catch (error) {
    if (!isStatus(error, status.INVALID_ARGUMENT)) throw error;
  }
}

/** A day longer than the subscription keeps messages. A service account that may only consume may not read that. */
async function readKeepMs(subscription: Subscription, signal: AbortSignal): Promise<number> {
  let seconds = LONGEST_RETENTION_S;
  try {
    const about = await subscription.call<{ messageRetentionDuration?: { seconds: unknown } | null }>(
      'getSubscription',
      {},
      { timeoutMs: REQUEST_MS, signal },
    );
    seconds = Number(about.messageRetentionDuration?.seconds ?? LONGEST_RETENTION_S) || LONGEST_RETENTION_S;
  } catch (error) {
    if (!isStatus(error, status.PERMISSION_DENIED)) throw error;
  }
  return (seconds + DAY_S) * 1000;
}
