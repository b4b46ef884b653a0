import { setTimeout as pause } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { Deadline } from './deadline.ts';

const never = new Promise<never>(() => undefined);
const codeOf = (work: Promise<unknown>) =>
  work.then(
    () => 'done',
    (error: { code: string }) => error.code,
  );

test('a message that is not done in time ends, with what it waited for', async () => {
  const deadline = new Deadline(20, undefined);
  await expect(deadline.limit(never, 'The broker did not confirm')).rejects.toMatchObject({
    code: 'timeout',
    message: 'The broker did not confirm within 20 ms.',
  });
});

test('a signal ends all its messages that are under way, and those that begin after it', async () => {
  const stop = new AbortController();
  const all = Array.from({ length: 3 }, () => new Deadline(60_000, stop.signal));
  const ends = all.slice(0, 2).map((one) => codeOf(one.limit(never, '')));
  all[1]?.clear();
  stop.abort();
  expect(await Promise.race([...ends.slice(1), pause(50, 'not ended')])).toBe('not ended');
  expect(await ends[0]).toBe('aborted');
  expect(await codeOf(all[2]?.limit(never, '') as Promise<never>)).toBe('aborted');
  expect(await codeOf(new Deadline(60_000, stop.signal).limit(never, ''))).toBe('aborted');
  for (const one of all) one.clear();
});

test('time in which this process stands still is not that of the broker', async () => {
  // The pulse has begun.
  await pause(150);
  const deadline = new Deadline(200, undefined);
  const answered = codeOf(deadline.limit(pause(300), 'The broker did not confirm'));
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 600);
  expect(await answered).toBe('done');
  deadline.clear();
});
