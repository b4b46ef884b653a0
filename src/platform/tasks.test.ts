import { expect, test } from 'vitest';
import { Tasks } from './tasks.ts';

function pending() {
  let end = () => {};
  const promise = new Promise<void>((resolve) => {
    end = resolve;
  });
  return { promise, end: () => end() };
}

test('a full set starts nothing until a task has ended', async () => {
  const tasks = new Tasks(2);
  const first = pending();
  const second = pending();
  const left = pending();
  expect(tasks.add(() => first.promise, left.end)).toBe(true);
  tasks.add(() => second.promise);
  let isStarted = false;
  const start = async () => {
    isStarted = true;
  };
  expect(tasks.isFull).toBe(true);
  expect(tasks.add(start)).toBe(false);
  expect(isStarted).toBe(false);
  first.end();
  await left.promise;
  expect([tasks.size, tasks.isFull]).toEqual([1, false]);
  expect(tasks.add(start)).toBe(true);
  expect(isStarted).toBe(true);
});

test('a set without a bound is never full', () => {
  const tasks = new Tasks();
  for (let n = 0; n < 1_000; n += 1) tasks.add(() => new Promise(() => {}));
  expect([tasks.size, tasks.isFull]).toEqual([1_000, false]);
});

test('settled waits for the tasks that run and for those they add', async () => {
  const tasks = new Tasks();
  const later = pending();
  const done: string[] = [];
  tasks.add(async () => {
    await Promise.resolve();
    tasks.add(async () => {
      await later.promise;
      done.push('second');
    });
    done.push('first');
  });
  const settled = tasks.settled().then(() => done.push('settled'));
  await new Promise((resolve) => setImmediate(resolve));
  expect(done).toEqual(['first']);
  later.end();
  await settled;
  expect(done).toEqual(['first', 'second', 'settled']);
  expect(tasks.size).toBe(0);
});

test('settled of an empty set resolves', async () => {
  await new Tasks().settled();
});
