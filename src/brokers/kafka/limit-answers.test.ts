import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { Producer } from '@platformatic/kafka';
import { expect, test } from 'vitest';
import { kafkaError } from './kafka-error.ts';
import { AnswerLengths, MAX_ANSWER_BYTES } from './limit-answers.ts';

const answer = (length: number, body = length): Buffer => {
  const bytes = Buffer.alloc(4 + body);
  bytes.writeInt32BE(length);
  return bytes;
};

test('lengths are found whatever the chunks are', () => {
  const stream = Buffer.concat([answer(4), answer(100), answer(7), answer(101, 0)]);
  for (const size of [1, 3, 5, 64, stream.length]) {
    const lengths = new AnswerLengths(100);
    const found: boolean[] = [];
    for (let at = 0; at < stream.length; at += size)
      found.push(lengths.areAllowed(stream.subarray(at, at + size)));
    expect(found).toEqual([...found.slice(1).map(() => true), false]);
  }
  for (const wrong of [-1, 0, 3]) expect(new AnswerLengths(100).areAllowed(answer(wrong, 0))).toBe(false);
});

test.each([
  ['before the sign-in', true],
  ['at the first request', false],
])('a broker that announces too much %s gets its connection ended', async (_, isSigningIn) => {
  const sockets = new Set<Socket>();
  const ended = Promise.withResolvers<number>();
  const server = createServer((socket) => {
    sockets.add(socket);
    let written = 0;
    const send = () => {
      // As a hostile broker does it: the length, and then bytes without an end.
      while (!socket.destroyed && socket.write(Buffer.alloc(65_536))) written += 65_536;
    };
    socket.once('data', () => {
      socket.write(answer(MAX_ANSWER_BYTES + 1, 0));
      send();
    });
    socket.on('drain', send).on('error', () => undefined);
    socket.on('close', () => ended.resolve(written));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const client = new Producer({
    clientId: 'test',
    bootstrapBrokers: [`127.0.0.1:${port}`],
    retries: 0,
    ...(isSigningIn && { sasl: { mechanism: 'PLAIN', username: 'u', password: 'p' } }),
  });
  try {
    const error = await client.metadata({ topics: [] }).then(
      () => null,
      (reason: unknown) => kafkaError(reason),
    );
    expect(error?.message).toMatch(/^The broker closed the connection/);
    expect(await ended.promise).toBeLessThan(MAX_ANSWER_BYTES);
  } finally {
    await client.close(true).catch(() => undefined);
    for (const socket of sockets) socket.destroy();
    server.close();
  }
});
