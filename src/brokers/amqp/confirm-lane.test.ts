import { EventEmitter } from 'node:events';
import { PassThrough } from 'node:stream';
import type { ConfirmChannel } from 'amqplib';
import { expect, test } from 'vitest';
import { messageOut } from '../../../test/support/brokers/outgoing-message.ts';
import { ConfirmLane } from './confirm-lane.ts';
import { ReadLimit } from './read-limit.ts';

/** The events of a channel, as the library emits them. */
class Channel extends EventEmitter {
  readonly ch = 1;
  readonly connection = { channels: [null, { channel: this, buffer: new PassThrough() }] };
  readonly unconfirmed: ((error: unknown) => void)[] = [];
  readonly lane = new ConfirmLane(this as unknown as ConfirmChannel, {
    limit: new ReadLimit(new PassThrough() as never),
    ended: () => undefined,
  });

  publish(id: string, headers: Record<string, string>, routingKey: string): Promise<void> {
    const message = messageOut({} as never, { id, headers: Object.entries(headers) });
    return this.lane.publish(message, { exchange: '', routingKey });
  }

  send(id: string, headers: Record<string, string> = {}, routingKey = 'q'): Promise<string> {
    return this.publish(id, headers, routingKey).then(
      () => 'taken',
      (error: { code: string }) => error.code,
    );
  }

  returns(messageId: string, headers: Record<string, string> = {}): void {
    this.emit('return', { properties: { messageId, headers }, fields: { routingKey: 'q' } });
  }

  refuseAll(): void {
    for (const confirm of this.unconfirmed.splice(0)) confirm(new Error('message nacked'));
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

test('a message that the broker does not take is refused, and those of a closed channel are lost with it', async () => {
  const channel = new Channel();
  const refused = [channel.send('a'), channel.send('b')];
  channel.refuseAll();
  expect(await Promise.all(refused)).toEqual(['broker_refused', 'broker_refused']);
  const lost = [channel.send('c'), channel.send('d')];
  for (const confirm of channel.unconfirmed.splice(0)) confirm(new Error('channel closed'));
  channel.emit('close');
  expect(await Promise.all(lost)).toEqual(['connection_reset', 'connection_reset']);
});

test('of messages whose channel ended for a routing key, those with another key are not meant', async () => {
  const channel = new Channel();
  const refusals = ['q', 'other', 'q'].map((key, n) =>
    channel.publish(String(n), {}, key).catch((error: unknown) => error),
  );
  const said = "ACCESS_REFUSED - write access to topic 'q' in exchange 'e' in vhost '/' refused for user 'u'";
  channel.emit('error', Object.assign(new Error(said), { code: 403 }));
  expect(await Promise.all(refusals)).toMatchObject(
    [false, true, false].map((isShared) => ({ code: 'not_permitted', isShared })),
  );
});

test('what comes back is compared as it was written', async () => {
  const channel = new Channel();
  const end = channel.send('a', {}, 'q\ud800');
  channel.emit('return', { properties: { messageId: 'a', headers: {} }, fields: { routingKey: 'q\ufffd' } });
  channel.confirmAll();
  expect(await end).toBe('unroutable');
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
