import { EventEmitter } from 'node:events';
import { PassThrough } from 'node:stream';
import type { ConfirmChannel } from 'amqplib';
import { expect, test } from 'vitest';
import { ConfirmLane } from './confirm-lane.ts';

const message = (id: string) => ({
  destination: {} as never,
  id,
  eventType: 'made.up',
  headers: [],
  body: Buffer.from('{}'),
  orderingKey: null,
  isAtMostOnce: false,
});

/** The events of a channel, as the library emits them. */
class Channel extends EventEmitter {
  readonly ch = 1;
  readonly connection = { channels: [null, { channel: this, buffer: new PassThrough() }] };
  readonly unconfirmed: ((error: unknown) => void)[] = [];
  readonly lane = new ConfirmLane(this as unknown as ConfirmChannel, () => undefined);

  send(id: string): Promise<string> {
    const to = { exchange: '', routingKey: 'q' };
    return this.lane.publish(message(id), to).then(
      () => 'taken',
      (error: { code: string }) => error.code,
    );
  }

  returns(messageId: string): void {
    this.emit('return', { properties: { messageId }, fields: { routingKey: 'q' } });
  }

  confirmAll(): void {
    for (const confirm of this.unconfirmed.splice(0)) confirm(null);
  }
}

test('each message that comes back is unroutable, also two of one name', async () => {
  const channel = new Channel();
  const ends = [channel.send('a'), channel.send('a'), channel.send('b')];
  channel.returns('a');
  channel.returns('a');
  channel.confirmAll();
  expect(await Promise.all(ends)).toEqual(['unroutable', 'unroutable', 'taken']);
});

test('what comes back without having been sent is not kept', async () => {
  const channel = new Channel();
  channel.returns('a');
  const ends = [channel.send('a')];
  channel.confirmAll();
  expect(await Promise.all(ends)).toEqual(['taken']);
});
