import { afterEach, expect, test, vi } from 'vitest';
import { BodyRoom } from './body-room.ts';

const MB = 1024 ** 2;

afterEach(() => void vi.restoreAllMocks());

test('a body of the limit finds room however little memory there is', () => {
  vi.spyOn(process, 'constrainedMemory').mockReturnValue(64 * MB);
  // Four times its bytes: that is what a large one takes.
  for (const most of [5 * MB, 100 * MB]) {
    const room = new BodyRoom(most);
    expect(room.enter('p', 4 * most)).toBeUndefined();
    expect(room.enter('q', 4 * most)).toBeUndefined();
  }
});

test('a sharer alone fills half of the room, and the next one finds room', async () => {
  const room = new BodyRoom(1, 10);
  expect(room.enter('a', 5)).toBeUndefined();
  const second = room.enter('a', 1);
  expect(second).toBeInstanceOf(Promise);
  expect(room.enter('b', 2)).toBeUndefined();
  room.leave('a', 5);
  await second;
});

test('a body that is half read does not wait for more room', () => {
  const room = new BodyRoom(1, 10);
  expect(room.enter('a', 4)).toBeUndefined();
  room.grow('a', 1);
  expect(() => room.grow('a', 1)).toThrow('overloaded');
});
