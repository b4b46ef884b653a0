import { EventEmitter } from 'node:events';
import { PassThrough } from 'node:stream';
import type { ConfirmChannel } from 'amqplib';
import { expect, test } from 'vitest';
import { ConfirmLane } from './confirm-lane.ts';

const message = (id: string, headers: [string, string][] = []) => ({
  destination: {} as never,
  id,
  eventType: 'made.up',
  headers,
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

  send(id: string, headers: Record<string, string> = {}, routingKey = 'q'): Promise<string> {
    return this.lane.publish(message(id, Object.entries(headers)), { exchange: '', routingKey }).then(
      () => 'taken',
      (error: { code: string }) => error.code,
    );
  }

  returns(messageId: string, headers: Record<string, string> = {}): void {
    this.emit('return', { properties: { messageId, headers }, fields: { routingKey: 'q' } });
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

test('of two messages of one id that differ in a header, the one that comes back is unroutable', async () => {
  const channel = new Channel();
  const ends = [channel.send('a', { region: 'eu' }), channel.send('a', { region: 'us' })];
  channel.returns('a', { region: 'us' });
  channel.unconfirmed[1]?.(null);
  channel.unconfirmed[0]?.(null);
  expect(await Promise.all(ends)).toEqual(['taken', 'unroutable']);
});

test.each([
  ['a routing key', 'a', {}, 'ü'.repeat(128)],
  ['a header', 'a', { ['x'.repeat(256)]: '1' }, 'q'],
])('%s with a name of over 255 bytes does not fit the protocol', async (_, id, headers, routingKey) => {
  const channel = new Channel();
  expect(await channel.send(id, headers, routingKey)).toBe('message_unfit');
  expect(channel.unconfirmed).toEqual([]);
});
