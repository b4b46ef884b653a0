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
    try {
      await new Consumer({ model, settings: own, gate, context, failure }).run(workers);
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

interface ConsumerDeps {
  model: ChannelModel;
  settings: AmqpSettings;
  gate: ReadGate;
  context: ConsumerContext;
  failure: AbortController;
}

class Consumer {
  readonly #deps: ConsumerDeps;
  readonly #ended: AbortSignal;

  constructor(deps: ConsumerDeps) {
    this.#deps = deps;
    this.#ended = AbortSignal.any([deps.context.signal, deps.failure.signal]);
    this.#ended.addEventListener('abort', () => deps.gate.remove());
  }

  /** Until it is stopped or fails. */
  async run(workers: number): Promise<void> {
    const { model, settings } = this.#deps;
    await unlessAborted(this.#ended, openQueue(model, settings));
    const work = Array.from({ length: workers }, () => this.#worker().run());
    // An error after the end is one of the end.
    const end = (error: Error) => (this.#ended.aborted ? undefined : this.#fail(error));
    await Promise.all([...work, this.#watchLag()].map((one) => one.catch(end)));
  }

  readonly #fail = (error: Error): void => this.#deps.failure.abort(error);

  #worker(): QueueWorker {
    const { model, settings, gate, context, failure } = this.#deps;
    const { queue, deadLetterExchange } = settings;
    return new QueueWorker({
      model,
      queue,
      stream: streamOf(model, settings),
      isDeadLettered: deadLetterExchange !== null,
      gate,
      context,
      log: context.log,
      ended: this.#ended,
      failed: failure.signal,
      fail: this.#fail,
    });
  }

  async #watchLag(): Promise<void> {
    const { model, settings, context } = this.#deps;
    const channel = await unlessAborted(this.#ended, model.createChannel());
    channel.on('error', this.#fail);
    try {
      for (;;) {
        const waiting = await unlessAborted(this.#ended, countReady(channel, settings.queue));
        context.lag(settings.queue, waiting);
        await sleep(LAG_EVERY_MS, undefined, { signal: this.#ended });
      }
    } finally {
      context.lag(settings.queue, null);
    }
  }
}
