import { createRequire } from 'node:module';
import type { Socket } from 'node:net';
import { dirname, join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { networkOf, outgoing } from '../../../test/support/brokers/outgoing-message.ts';
import { listenTcp } from '../../../test/support/servers/loopback-server.ts';
import { Destinations } from '../destinations.ts';

/** A broker may be anyone's. This one is written with the library's own encoder, and breaks the protocol. */
const load = createRequire(import.meta.url);
const library = (file: string) => load(join(dirname(load.resolve('amqplib')), 'lib', file));
const defs = library('defs.js') as Record<string, number> & {
  encodeMethod(method: number, channel: number, fields: object): Buffer;
  encodeProperties(properties: number, channel: number, size: number, fields: object): Buffer;
};
const frames = library('frame.js') as {
  parseFrame(bytes: Buffer, most: number): { rest: Buffer } | false;
  decodeFrame(frame: object): { id: number; channel: number };
  makeBodyFrame(channel: number, bytes: Buffer): Buffer;
};
const PROTOCOL_HEADER_BYTES = 8;

interface Method {
  name: string;
  channel: number;
  socket: Socket;
  say(name: string, fields: object, channel?: number): void;
}

const NAMES = Object.fromEntries(
  [
    'ConnectionStartOk',
    'ConnectionOpen',
    'ConnectionClose',
    'ChannelOpen',
    'ConfirmSelect',
    'BasicPublish',
  ].map((name) => [defs[name], name]),
);
const USUAL: Record<string, readonly [string, object]> = {
  ConnectionStartOk: ['ConnectionTune', { channelMax: 10, frameMax: 131_072, heartbeat: 30 }],
  ConnectionOpen: ['ConnectionOpenOk', { knownHosts: '' }],
  ConnectionClose: ['ConnectionCloseOk', {}],
  ChannelOpen: ['ChannelOpenOk', { channelId: Buffer.alloc(0) }],
  ConfirmSelect: ['ConfirmSelectOk', {}],
};

/** With the longest reason. */
const REFUSED = { replyCode: 403, replyText: 'x'.repeat(255) };

/** `script`: what it does at a method. The others get their usual answer. */
async function scene(script: Record<string, (method: Method) => void>) {
  const server = await listenTcp((socket) => {
    let read = Buffer.alloc(0);
    const say = (name: string, fields: object, channel = 0) =>
      void socket.write(defs.encodeMethod(defs[name] as number, channel, fields));
    socket.once('data', () =>
      say('ConnectionStart', {
        versionMajor: 0,
        versionMinor: 9,
        serverProperties: {},
        mechanisms: Buffer.from('PLAIN'),
        locales: Buffer.from('en_US'),
      }),
    );
    let isFirst = true;
    socket.on('data', (chunk: Buffer) => {
      read = Buffer.concat([read, isFirst ? chunk.subarray(PROTOCOL_HEADER_BYTES) : chunk]);
      isFirst = false;
      for (let frame = frames.parseFrame(read, 0); frame !== false; frame = frames.parseFrame(read, 0)) {
        read = Buffer.from(frame.rest);
        const { id, channel } = frames.decodeFrame(frame);
        const name = NAMES[id] ?? '';
        const [answer, fields] = USUAL[name] ?? [];
        if (script[name] !== undefined) script[name]({ name, channel, socket, say });
        else if (answer !== undefined) say(answer, fields ?? {}, channel);
      }
    });
  });
  const destinations = new Destinations(networkOf());
  onTestFinished(async () => {
    await destinations.close();
    await server.close();
  });
  const amqp = {
    schema: 'amqp' as const,
    host: '127.0.0.1',
    port: String(server.port),
    vhost: null,
    auth: null,
    exchange: 'x',
    routing_key: 'k',
  };
  const send = (timeoutMs: number) =>
    destinations.send(outgoing({ type: 'amqp', amqp } as never, { timeoutMs }));
  return { destinations, send };
}

test('a returned message without an end ends the connection after a megabyte', async () => {
  let written = 0;
  const { send } = await scene({
    BasicPublish: ({ channel, socket, say }) => {
      say('BasicReturn', { replyCode: 312, replyText: 'x', exchange: 'x', routingKey: 'k' }, channel);
      socket.write(defs.encodeProperties(defs['BasicProperties'] as number, channel, 1e12, {}));
      const body = frames.makeBodyFrame(channel, Buffer.alloc(120_000));
      const more = () => {
        while (!socket.destroyed && socket.write(body)) written += body.length;
      };
      socket.on('drain', more);
      more();
    },
  });
  expect(await send(20_000)).toMatchObject({ message: 'The broker sent more than was sent to it.' });
  // The rest is in the buffers of the system.
  expect(written).toBeLessThan(32 * 1024 * 1024);
});

test('a connection outlasts any number of refusals', async () => {
  let connections = 0;
  const { send } = await scene({
    ConnectionOpen: ({ say }) => {
      connections += 1;
      say('ConnectionOpenOk', { knownHosts: '' });
    },
    BasicPublish: ({ channel, say }) =>
      say('ChannelClose', { ...REFUSED, classId: 60, methodId: 40 }, channel),
    ChannelCloseOk: () => undefined,
  });
  for (let n = 0; n < 5_000; n += 1) expect(await send(20_000)).toMatchObject({ code: 'not_permitted' });
  expect(connections).toBe(1);
});

test('the confirm of a message that was not sent ends the connection', async () => {
  const { send } = await scene({
    BasicPublish: ({ channel, say }) =>
      say('BasicAck', { deliveryTag: 4_000_000_000, multiple: false }, channel),
  });
  expect(await send(20_000)).toMatchObject({ code: 'connection_reset' });
});

test('a channel that never opens holds up no stop', async () => {
  const { destinations, send } = await scene({
    ChannelOpen: () => undefined,
    ConnectionClose: () => undefined,
  });
  expect(await send(100)).toMatchObject({ code: 'timeout' });
  await destinations.close();
  expect(destinations.size).toBe(0);
});

test.each([
  ['ends it', ({ socket }: Method) => void socket.end(), 'The broker closed the connection.'],
  [
    'is shut down',
    ({ say }: Method) =>
      say('ConnectionClose', { replyCode: 320, replyText: 'CONNECTION_FORCED', classId: 0, methodId: 0 }),
    'The broker closed the connection: it is shutting down, or an operator closed it.',
  ],
])('a message on a connection whose broker %s is lost with it, with that reason', async (_, act, message) => {
  const { send } = await scene({ BasicPublish: act });
  expect(await send(20_000)).toMatchObject({ code: 'connection_reset', message, mayHaveArrived: true });
});
