import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { CopyStream, type ServerError } from './copy-stream.ts';
import { PgoutputDecoder } from './pgoutput.ts';
import { readCopyLine } from './snapshot.ts';

/** The side of the server, and a stream that reads from it. */
async function pair(): Promise<{ server: Socket; client: Socket; stream: CopyStream }> {
  const listener = createServer().listen(0, '127.0.0.1');
  await once(listener, 'listening');
  const client = connect((listener.address() as AddressInfo).port, '127.0.0.1');
  const [server] = (await once(listener, 'connection')) as [Socket];
  listener.close();
  onTestFinished(() => {
    client.destroy();
    server.destroy();
  });
  const stream = new CopyStream(client);
  void stream.start('copy').catch(() => undefined);
  return { server, client, stream };
}

const message = (type: string, body: Buffer | string): Buffer => {
  const head = Buffer.alloc(5);
  head.write(type);
  head.writeInt32BE(Buffer.byteLength(body) + 4, 1);
  return Buffer.concat([head, Buffer.from(body)]);
};

async function texts(stream: CopyStream): Promise<string[]> {
  const all: string[] = [];
  for (let some = await stream.next(); some !== null; some = await stream.next())
    all.push(...some.map(({ data }) => data.toString()));
  return all;
}

test('messages come whole and in order, however the bytes are cut', async () => {
  const { server, stream } = await pair();
  server.setNoDelay(true);
  const bytes = Buffer.concat([
    message('H', 'x'),
    message('d', 'one'),
    message('d', ''),
    message('N', 'notice'),
    message('d', 'three'),
    message('c', ''),
    message('Z', 'I'),
  ]);
  for (const byte of bytes) {
    server.write(Buffer.from([byte]));
    await new Promise(setImmediate);
  }
  expect(await texts(stream)).toEqual(['one', '', 'three']);
});

test('an error of the server is thrown, after what came before it', async () => {
  const { server, stream } = await pair();
  server.write(Buffer.concat([message('d', 'one'), message('E', 'SERROR\0C55006\0Mslot is active\0\0')]));
  expect((await stream.next())?.map(({ data }) => data.toString())).toEqual(['one']);
  await expect(stream.next()).rejects.toMatchObject({
    code: '55006',
    message: 'slot is active',
  } satisfies Partial<ServerError>);
});

test('a connection that ends, and lengths that cannot be, are errors', async () => {
  const first = await pair();
  first.server.destroy();
  await expect(first.stream.next()).rejects.toThrow('closed the connection');
  const second = await pair();
  second.server.write(Buffer.from([0x64, 0, 0, 0, 1]));
  await expect(second.stream.next()).rejects.toThrow('does not keep to the protocol');
});

test('a wake is not lost, whether something waits for messages or not', async () => {
  const { server, stream } = await pair();
  stream.wake();
  expect(await stream.next()).toEqual([]);
  const waiting = stream.next();
  stream.wake();
  expect(await waiting).toEqual([]);
  server.write(message('d', 'one'));
  expect((await stream.next())?.length).toBe(1);
});

test('a server that sends more than is taken has to wait', async () => {
  const { server, client, stream } = await pair();
  const one = message('d', 'x'.repeat(100_000));
  let sent = 0;
  while (sent < 100_000_000) {
    sent += one.length;
    if (!server.write(one) && server.writableLength > 20_000_000) break;
  }
  while (!client.isPaused()) await new Promise(setImmediate);
  // The reader and the buffers of the two sockets hold far less than all of it.
  expect(server.writableLength).toBeGreaterThan(5_000_000);
  let taken = 0;
  while (taken < sent)
    taken += ((await stream.next()) ?? []).reduce((sum, { data }) => sum + data.length + 5, 0);
  expect(taken).toBe(sent);
});

test('of a message that is too large the beginning is kept, and the next one is whole', async () => {
  const { server, stream } = await pair();
  server.write(message('d', Buffer.alloc(20_000_000, 'x')));
  server.write(message('d', 'next'));
  const all = [];
  while (all.length < 2) all.push(...((await stream.next()) ?? []));
  expect(all.map(({ data, isCut }) => [data.length, isCut])).toEqual([
    [65_536, true],
    [4, false],
  ]);
});

const text = (value: string) => Buffer.from(`${value}\0`);
const int = (value: number, bytes: number) => {
  const buffer = Buffer.alloc(bytes);
  buffer.writeIntBE(value, 0, bytes);
  return buffer;
};
const value = (of: string, length = of.length) =>
  Buffer.concat([Buffer.from('t'), int(length, 4), Buffer.from(of)]);

test('values of a row that was cut count as not sent', () => {
  const decoder = new PgoutputDecoder();
  const column = (name: string) => Buffer.concat([int(0, 1), text(name), int(25, 4), int(-1, 4)]);
  const columns = ['a', 'b', 'c', 'd'].map(column);
  decoder.decode(
    Buffer.concat([
      Buffer.from('R'),
      int(1, 4),
      text('public'),
      text('t'),
      Buffer.from('d'),
      int(4, 2),
      ...columns,
    ]),
  );
  const head = Buffer.concat([Buffer.from('I'), int(1, 4), Buffer.from('N'), int(4, 2)]);
  const rest = [value('one'), Buffer.from('n'), value('cut', 1000)];
  const row = decoder.decode(Buffer.concat([head, ...rest]), true);
  expect(row).toMatchObject({ kind: 'row', op: 'insert', after: ['one', null, undefined, undefined] });
});

test('lines of COPY are read: nulls, escapes, and a line that was cut', () => {
  const line = (data: string, isCut = false) => readCopyLine({ data: Buffer.from(data), isCut });
  expect(line('1\t\\N\ta\\tb\\\\c\\n\t\n')).toEqual(['1', null, 'a\tb\\c\n', '']);
  expect(line('\\\\N\n')).toEqual(['\\N']);
  expect(line('1\tabc', true)).toEqual(['1']);
});
