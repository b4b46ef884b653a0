import { expect, test } from 'vitest';
import { unlessAborted } from './until-stopped.ts';

test('an abort is not held up by work that does not end', async () => {
  const stop = new AbortController();
  const waiting = unlessAborted(stop.signal, new Promise(() => undefined));
  stop.abort('stopped');
  await expect(waiting).rejects.toBe('stopped');
});

test('a failure of work after the abort ends nothing else', async () => {
  const unhandled: unknown[] = [];
  const note = (reason: unknown) => unhandled.push(reason);
  process.on('unhandledRejection', note);
  const work = Promise.withResolvers<void>();
  await expect(unlessAborted(AbortSignal.abort('stopped'), work.promise)).rejects.toBe('stopped');
  work.reject(new Error('the channel ended'));
  await new Promise((resolve) => {
    setImmediate(resolve);
  });
  process.off('unhandledRejection', note);
  expect(unhandled).toEqual([]);
});
