import { once } from 'node:events';
import { type AddressInfo, connect } from 'node:net';
import Fastify from 'fastify';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { BodyRoom } from './body-room.ts';
import { readBodies } from './read-bodies.ts';

class WatchedRoom extends BodyRoom {
  readonly entered: number[] = [];
  onEnter: () => void = () => undefined;

  override enter(sharer: string, bytes: number): Promise<void> | undefined {
    this.entered.push(bytes);
    this.onEnter();
    return super.enter(sharer, bytes);
  }

  override grow(sharer: string, bytes: number): void {
    this.entered.push(bytes);
    super.grow(sharer, bytes);
  }
}

const room = new WatchedRoom(1024 ** 2);
const app = Fastify();
readBodies(app, room);
// Access is read first, which takes a turn of the microtask queue.
app.addHook('onRequest', () => Promise.resolve());
app.post('/', ({ body }) => String(body));
beforeAll(() => app.listen());
afterAll(() => app.close());
afterEach(() => void room.entered.splice(0));

const headOf = (body: string): string =>
  `POST / HTTP/1.1\r\nHost: x\r\nContent-Type: text/plain\r\nContent-Length: ${body.length}\r\n\r\n`;

/** The bodies of so many answers on a connection that gets these writes, the next one with each body that takes a place. */
async function answers(count: number, ...writes: string[]): Promise<string[]> {
  const socket = connect((app.server.address() as AddressInfo).port);
  const write = () => void socket.write(writes.shift() ?? '');
  room.onEnter = write;
  write();
  let text = '';
  const found = () => [...text.matchAll(/\r\n\r\n(<\w*>)/g)].map(([, body]) => body as string);
  while (found().length < count) text += String((await once(socket, 'data'))[0]);
  socket.destroy();
  return found();
}

test('a small body that is here with its head takes no place, one request after another', async () => {
  expect(await answers(2, `${headOf('<a>')}<a>${headOf('<>')}<>`)).toEqual(['<a>', '<>']);
  expect(room.entered).toEqual([]);
});

test('a body that is still on its way takes its place first', async () => {
  expect(await answers(1, headOf('<later>'), '<later>')).toEqual(['<later>']);
  expect(await answers(1, `${headOf('<later>')}<la`, 'ter>')).toEqual(['<later>']);
  expect(room.entered).toEqual([7, 7]);
});

test('a large body counts four times, whether it tells its length or not', async () => {
  const body = `<${'a'.repeat(300 * 1024)}>`;
  const chunk = `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`;
  expect(await answers(1, headOf(body), body)).toEqual([body]);
  expect(room.entered.splice(0)).toEqual([4 * body.length]);
  await answers(1, headOf(body).replace(/Content-Length: \d+/, 'Transfer-Encoding: chunked'), chunk);
  expect(room.entered.reduce((sum, bytes) => sum + bytes)).toBe(4 * 512 * 1024);
});
