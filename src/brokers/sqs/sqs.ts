import { QueueDoesNotExist, type SQSClient } from '@aws-sdk/client-sqs';
import { BrokerError } from '../module/broker-error.ts';
import type { BrokerModule, ConsumerContext } from '../module/broker-module.ts';
import { runLeaseWorker } from '../module/lease-worker.ts';
import { runWorkers } from '../module/until-stopped.ts';
import { connect, findQueue, type Queue, readQueue } from './sqs-client.ts';
import { sqsError } from './sqs-error.ts';
import { SqsQueue } from './sqs-queue.ts';

/**
 * Amazon SQS, standard and FIFO queues. Workers compete for messages (`LeasedQueue`). The queue is looked at every few
 * seconds: for its lag, and because a long poll does not notice that the queue was deleted, or created again.
 */
const LOOK_EVERY_MS = 5_000;

export const sqs: BrokerModule<'sqs'> = {
  consume: async ({ sqs: own, workers }, context) => {
    const gone = new AbortController();
    const open: { client?: SQSClient; timer?: NodeJS.Timeout } = {};
    try {
      const client = await connect(own, context);
      open.client = client;
      const queue = await findQueue(client, own.queue_name, context.signal);
      open.timer = setInterval(() => void look(client, queue, { context, gone }), LOOK_EVERY_MS);
      const either = AbortSignal.any([context.signal, gone.signal]);
      await runWorkers(workers, either, (_, signal) =>
        runLeaseWorker(new SqsQueue(client, queue, context.log), { ...context, signal }),
      );
      gone.signal.throwIfAborted();
    } finally {
      clearInterval(open.timer);
      context.lag('queue', null);
      open.client?.destroy();
    }
  },

  test: async ({ sqs: own }, context) => {
    const client = await connect(own, context);
    await findQueue(client, own.queue_name, context.signal).finally(() => client.destroy());
  },

  worded: sqsError,
};

async function look(
  client: SQSClient,
  queue: Queue,
  { context, gone }: { context: ConsumerContext; gone: AbortController },
): Promise<void> {
  const { signal, lag, log } = context;
  try {
    const now = await readQueue(client, queue.url, signal);
    if (now.id !== queue.id) throw new BrokerError('The queue was deleted and created again.');
    lag('queue', now.waiting);
  } catch (error) {
    if (error instanceof BrokerError || error instanceof QueueDoesNotExist) gone.abort(error);
    else log.debug({ err: error }, 'SQS: the queue could not be looked at');
  }
}
