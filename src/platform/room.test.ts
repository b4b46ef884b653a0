import { expect, test } from 'vitest';
import { Room } from './shared-room.ts';

/** A room of 100 bytes. */
function visited() {
  const room = new Room(100);
  const entered: string[] = [];
  const gaveUp: string[] = [];
  const stop = new AbortController();
  const enter = async (id: string, sharer: string, bytes: number) => {
    void room.enter({ id, sharer }, bytes, stop.signal).then((isInside) => {
      (isInside ? entered : gaveUp).push(id);
    });
    await new Promise(setImmediate);
  };
  const leave = async (id: string) => {
    room.leave(id);
    await new Promise(setImmediate);
  };
  return { room, entered, gaveUp, stop, enter, leave };
}

test('pieces of work of a sharer that fill its share wait in order, and another sharer finds room', async () => {
  const { room, entered, enter, leave } = visited();
  await enter('a1', 'a', 40);
  await enter('a2', 'a', 30);
  await enter('a3', 'a', 30);
  await enter('a4', 'a', 2);
  await enter('b1', 'b', 20);
  expect(entered).toEqual(['a1', 'a2', 'b1']);
  await leave('a1');
  expect(entered).toEqual(['a1', 'a2', 'b1', 'a3']);
  await leave('a2');
  expect(entered).toEqual(['a1', 'a2', 'b1', 'a3', 'a4']);
  for (const id of ['a3', 'a4', 'b1', 'b1', 'unknown']) await leave(id);
  expect(room.used).toBe(0);
});

test('one piece at a time may be in excess of the room, of a sharer that has none inside', async () => {
  const { room, entered, enter, leave } = visited();
  await enter('a1', 'a', 1_000);
  await enter('a2', 'a', 1_000);
  await enter('b1', 'b', 1_000);
  await enter('c1', 'c', 40);
  expect(entered).toEqual(['a1', 'c1']);
  await leave('a1');
  expect(entered).toEqual(['a1', 'c1', 'a2']);
  await leave('a2');
  expect(entered).toEqual(['a1', 'c1', 'a2', 'b1']);
  for (const id of ['b1', 'c1']) await leave(id);
  expect(room.used).toBe(0);
});

test('a large piece enters while small ones of two sharers keep the room full', async () => {
  const { room, entered, enter, leave } = visited();
  // Each sharer has more than there is room for.
  for (let n = 0; n < 60; n++) for (const sharer of ['a', 'b']) await enter(`${sharer}${n}`, sharer, 1);
  expect(room.used).toBeGreaterThan(80);
  for (const id of ['large 1', 'large 2']) await enter(id, id, 30);
  expect(entered).toContain('large 1');
  for (let n = 60; n < 70; n++)
    for (const sharer of ['a', 'b']) {
      await leave(`${sharer}${n - 60}`);
      await enter(`${sharer}${n}`, sharer, 1);
    }
  expect(entered).not.toContain('large 2');
  await leave('large 1');
  expect(entered.at(-1)).toBe('large 2');
});

test('a piece that waits gives up with a stop, and takes no room', async () => {
  const { room, entered, gaveUp, stop, enter, leave } = visited();
  await enter('a1', 'a', 70);
  await enter('a2', 'a', 70);
  stop.abort();
  await enter('a3', 'a', 1);
  expect([entered, gaveUp.toSorted()]).toEqual([['a1'], ['a2', 'a3']]);
  await leave('a1');
  expect(entered).toEqual(['a1']);
  expect(room.used).toBe(0);
});

test('a piece that gives up lets those behind it enter', async () => {
  const room = new Room(100);
  const [own, others] = [new AbortController(), new AbortController()];
  const inside: string[] = [];
  const enter = (id: string, bytes: number, { signal }: AbortController) =>
    room.enter({ id, sharer: 'a' }, bytes, signal).then((isInside) => isInside && inside.push(id));
  await enter('first', 50, others);
  void enter('large', 90, own);
  void enter('small', 10, others);
  own.abort();
  await new Promise(setImmediate);
  expect(inside).toEqual(['first', 'small']);
});
