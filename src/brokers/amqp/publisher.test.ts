import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import type { ConfirmChannel } from 'amqplib';
import { expect, test } from 'vitest';
import { Publisher } from './publisher.ts';

/** The library's own channel and encoder, over a connection that keeps what is written. */
const load = createRequire(import.meta.url);
const library = (file: string) => load(join(dirname(load.resolve('amqplib')), 'lib', file));
const { ConfirmChannel: RealChannel } = library('channel_model.js') as {
  ConfirmChannel: new (connection: object) => ConfirmChannel & { allocate(): void; unconfirmed: unknown[] };
};
const { Connection } = library('connection.js') as { Connection: { prototype: object } };

function channelOf(frameMax = 131_072) {
  const written: Buffer[] = [];
  const connection = Object.assign(Object.create(Connection.prototype) as object, {
    frameMax,
    sentSinceLastCheck: false,
    freshChannel: () => 7,
    channels: Array.from({ length: 8 }, () => ({
      buffer: { write: (bytes: Buffer) => written.push(bytes) },
    })),
  });
  const channel = new RealChannel(connection);
  channel.allocate();
  Object.assign(connection.channels[7] as object, { channel });
  return { channel, connection, written, publisher: new Publisher(channel) };
}

const message = (over: object = {}) => ({
  exchange: 'events',
  routingKey: 'orders.eu',
  messageId: 'msg_1',
  type: 'order.paid',
  contentType: 'application/json',
  timestamp: 1_795_005_404,
  headers: [['webhook-id', 'msg_1']] as [string, string][],
  body: Buffer.from('{"a":1}'),
  ...over,
});

/** The bytes that the library writes for the same message. */
function byLibrary({ exchange, routingKey, body, headers, ...about }: ReturnType<typeof message>): Buffer {
  const { channel, written } = channelOf();
  const options = { ...about, persistent: true, mandatory: true, headers: Object.fromEntries(headers) };
  channel.publish(exchange, routingKey, body, options, () => undefined);
  return Buffer.concat(written);
}

test.each([
  ['of every property', {}],
  ['without a body', { body: Buffer.alloc(0) }],
  ['without headers, to the default exchange', { exchange: '', headers: [] }],
  [
    'of other letters',
    { type: 'größe.bezahlt', routingKey: '注文', headers: [['ordering-key', 'Zoë 🎺 注文']] },
  ],
  ['of one kilobyte', { body: Buffer.from('ü'.repeat(500)), headers: [['long', 'x'.repeat(4_000)]] }],
])('a message %s is the bytes that the library writes', async (_, over) => {
  const { publisher, written } = channelOf();
  publisher.publish(message(over), () => undefined);
  await turn();
  expect(Buffer.concat(written).toString('hex')).toBe(byLibrary(message(over)).toString('hex'));
});

test('the messages of a turn are one write, and a large one between them keeps its place', async () => {
  const { channel, connection, publisher, written } = channelOf();
  const large = message({ messageId: 'large', body: Buffer.alloc(70_000) });
  const sent = [message(), message({ messageId: 'b' }), large, message({ messageId: 'c' })];
  const confirms = sent.map(() => () => undefined);
  for (const [n, each] of sent.entries()) publisher.publish(each, confirms[n] as () => undefined);
  await turn();
  expect(Buffer.concat(written)).toEqual(Buffer.concat(sent.map(byLibrary)));
  expect(written[0]).toEqual(Buffer.concat(sent.slice(0, 2).map(byLibrary)));
  expect(channel.unconfirmed).toEqual(confirms);
  // Or the library would send a heartbeat as well.
  expect(connection.sentSinceLastCheck).toBe(true);
  await turn();
  expect(Buffer.concat(written).length).toBe(Buffer.concat(sent.map(byLibrary)).length);
});

test('more messages than the buffer holds are all written', async () => {
  const { publisher, written } = channelOf();
  const sent = Array.from({ length: 50 }, (_, n) =>
    message({ messageId: `m${n}`, body: Buffer.alloc(5_000) }),
  );
  for (const each of sent) publisher.publish(each, () => undefined);
  await turn();
  expect(Buffer.concat(written)).toEqual(Buffer.concat(sent.map(byLibrary)));
});

test('no frame is larger than the broker allows', async () => {
  const { publisher, written } = channelOf(4_096);
  publisher.publish(message({ body: Buffer.alloc(5_000) }), () => undefined);
  await turn();
  // The library splits the body.
  expect(written.map(({ length }) => length)).toHaveLength(3);
  expect(written.every(({ length }) => length <= 4_096)).toBe(true);
});

test('a name that is too long is refused as the library refuses it, and counts as nothing', async () => {
  const { channel, publisher, written } = channelOf();
  const headers = [['n'.repeat(256), 'x']];
  expect(() => publisher.publish(message({ headers }), () => undefined)).toThrow();
  expect(() => publisher.publish(message({ type: 't'.repeat(256) }), () => undefined)).toThrow();
  await turn();
  expect([written, channel.unconfirmed]).toEqual([[], []]);
});

test.each([
  ['with its number free', []],
  ['with another channel under its number', Array.from({ length: 8 }, () => ({ channel: {}, buffer: null }))],
])('a channel that closes within the turn is not written to, %s', async (_, channels) => {
  const { connection, publisher, written } = channelOf();
  publisher.publish(message(), () => undefined);
  Object.assign(connection, { channels });
  await turn();
  expect(written).toEqual([]);
});
