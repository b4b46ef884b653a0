import { setTimeout as sleep } from 'node:timers/promises';
import type { ChannelModel } from 'amqplib';
import type { AmqpSettings } from '../../domain/config/source.ts';
import { BrokerError } from '../module/broker-error.ts';
import type { BrokerModule, ConsumerContext } from '../module/broker-module.ts';
import { unlessAborted } from '../module/until-stopped.ts';
import { amqpError } from './amqp-error.ts';
import { closed, connect } from './connect.ts';
import { checkQueue, countReady, openQueue, streamOf } from './queue.ts';
import { QueueWorker } from './queue-worker.ts';
import { ReadGate } from './read-gate.ts';

/**
 * AMQP 0-9-1, as RabbitMQ speaks it. A source has one connection on each node, and a channel for each worker. The first
 * failure of the connection or of a channel ends them all; the source connects again.
 */
const LAG_EVERY_MS = 5_000;
/** The limit of each worker. */
const MAX_HELD_BYTES = 8_388_608;

export const amqp: BrokerModule<'amqp'> = {
  consume: async ({ amqp: own, workers }, context) => {
    const model = await connect(own, context);
    const failure = new AbortController();
    const fail = (error: Error) => failure.abort(error);
    model.on('error', fail);
    model.on('close', (error) => fail(error ?? new BrokerError('The broker closed the connection.')));
    const gate = new ReadGate(model, MAX_HELD_BYTES * workers);
    const ended = AbortSignal.any([context.signal, failure.signal]);
    ended.addEventListener('abort', () => gate.remove());
    try {
      await run({ model, settings: own, gate, context, failure, ended, fail }, workers);
    } catch (error) {
      fail(error as Error);
    } finally {
      gate.remove();
      await closed(model, context.log);
    }
    failure.signal.throwIfAborted();
  },

  test: async ({ amqp: own }, context) => {
    const model = await connect(own, context);
    // The question that was asked fails too.
    model.on('error', () => undefined);
    try {
      await unlessAborted(context.signal, checkQueue(model, own));
    } finally {
      await closed(model, context.log);
    }
  },

  worded: amqpError,
};

interface Consumer {
  model: ChannelModel;
  settings: AmqpSettings;
  gate: ReadGate;
  context: ConsumerContext;
  failure: AbortController;
  /** Aborts when the source is stopped, and when it has failed. */
  ended: AbortSignal;
  fail(error: Error): void;
}

/** Until it is stopped or fails. */
async function run(consumer: Consumer, workers: number): Promise<void> {
  const { model, settings, ended, fail } = consumer;
  await unlessAborted(ended, openQueue(model, settings));
  const work = Array.from({ length: workers }, () => workerOf(consumer).run());
  // An error after the end is one of the end.
  const end = (error: Error) => (ended.aborted ? undefined : fail(error));
  await Promise.all([...work, watchLag(consumer)].map((one) => one.catch(end)));
}

function workerOf({ settings, failure, ...deps }: Consumer): QueueWorker {
  return new QueueWorker({
    ...deps,
    queue: settings.queue,
    stream: streamOf(deps.model, settings),
    isDeadLettered: settings.deadLetterExchange !== null,
    log: deps.context.log,
    failed: failure.signal,
  });
}

async function watchLag({ model, settings, context, ended, fail }: Consumer): Promise<void> {
  const channel = await unlessAborted(ended, model.createChannel());
  channel.on('error', fail);
  try {
    for (;;) {
      const waiting = await unlessAborted(ended, countReady(channel, settings.queue));
      context.lag(settings.queue, waiting);
      await sleep(LAG_EVERY_MS, undefined, { signal: ended });
    }
  } finally {
    context.lag(settings.queue, null);
  }
}
