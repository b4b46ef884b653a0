import { EventEmitter } from 'node:events';
import type { ChannelModel } from 'amqplib';
import { expect, test } from 'vitest';
import { messageOut } from '../../../test/support/brokers/outgoing-message.ts';
import { AmqpProducer } from './amqp-producer.ts';

const amqp = {
  schema: 'amqp',
  host: 'h',
  port: '1',
  vhost: null,
  auth: null,
  exchange: '',
  routing_key: 'q',
};

/** The library publishes what is large. */
const message = (id: string, isAtMostOnce: boolean) =>
  messageOut({ type: 'amqp', amqp }, { id, body: Buffer.alloc(100_000), isAtMostOnce });

/** It ends, as RabbitMQ ends it, when a second message is on it. A message that goes alone is confirmed. */
class Channel extends EventEmitter {
  readonly connection = { frameMax: 65_536 };
  readonly #published: string[];
  #count = 0;

  constructor(published: string[]) {
    super();
    this.#published = published;
  }

  publish(...[, , , about, confirm]: [string, string, Buffer, { messageId: string }, (e: null) => void]) {
    this.#published.push(about.messageId);
    this.#count += 1;
    if (this.#count === 2)
      this.emit('error', new Error('message size 17 is larger than configured max size 16'));
    else setImmediate(() => this.#count === 1 && confirm(null));
  }
}

test('of messages whose channel ended for one that is too large, those that go at most once are not repeated', async () => {
  const published: string[] = [];
  const model = Object.assign(new EventEmitter(), {
    connection: { stream: { remoteAddress: '127.0.0.1', read: () => null } },
    createConfirmChannel: async () => new Channel(published),
  });
  const producer = new AmqpProducer(model as unknown as ChannelModel, {} as never);
  const [again, once] = await Promise.allSettled([
    producer.send(message('again', false)),
    producer.send(message('once', true)),
  ]);
  expect(again).toMatchObject({ status: 'fulfilled' });
  // Not one of the codes that mean that nothing was sent.
  expect(once).toMatchObject({ status: 'rejected', reason: { code: 'broker_refused' } });
  expect(published).toEqual(['again', 'once', 'again']);
});
