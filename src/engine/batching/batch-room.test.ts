import { expect, test } from 'vitest';
import { BatchRoom } from './batch-room.ts';

/** A room of 100 bytes, in which each batch takes twice its bytes. */
function visited() {
  const room = new BatchRoom(100);
  const entered: string[] = [];
  const enter = async (id: string, projectId: string, bytes: number) => {
    void room.enter({ id, projectId }, bytes).then(() => entered.push(id));
    await new Promise(setImmediate);
  };
  const leave = async (id: string) => {
    room.leave(id);
    await new Promise(setImmediate);
  };
  return { room, entered, enter, leave };
}

test('batches of a project that fill its share wait in order, and another project finds room', async () => {
  const { room, entered, enter, leave } = visited();
  await enter('a1', 'a', 20);
  await enter('a2', 'a', 15);
  await enter('a3', 'a', 15);
  await enter('a4', 'a', 1);
  await enter('b1', 'b', 10);
  expect(entered).toEqual(['a1', 'a2', 'b1']);
  await leave('a1');
  expect(entered).toEqual(['a1', 'a2', 'b1', 'a3']);
  await leave('a2');
  expect(entered).toEqual(['a1', 'a2', 'b1', 'a3', 'a4']);
  for (const id of ['a3', 'a4', 'b1', 'b1', 'unknown']) await leave(id);
  expect(room.used).toBe(0);
});

test('a batch that is larger than the room enters when there is nothing else', async () => {
  const { room, entered, enter, leave } = visited();
  await enter('large', 'a', 1_000);
  await enter('next', 'a', 1_000);
  expect(entered).toEqual(['large']);
  await leave('large');
  expect(entered).toEqual(['large', 'next']);
  await leave('next');
  expect(room.used).toBe(0);
});
