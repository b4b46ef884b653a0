import { expect, test } from 'vitest';
import { Renewed } from './renewed.ts';

/** A server that gives numbered values, each for an hour. */
function world(lastsMs = 3_600_000) {
  let asked = 0;
  const state = { now: 0, isDown: false };
  const ask = async () => {
    asked += 1;
    if (state.isDown) throw new Error('down');
    return { value: asked, expiresAtMs: state.now + lastsMs };
  };
  return { state, renewed: new Renewed(ask, () => state.now), asked: () => asked };
}

const MINUTE_MS = 60_000;

test('a value is asked for once, by all who need it at the same time', async () => {
  const { renewed, asked, state } = world();
  expect(await Promise.all([renewed.get(), renewed.get(), renewed.get()])).toEqual([1, 1, 1]);
  state.now = 54 * MINUTE_MS;
  expect(await renewed.get()).toBe(1);
  expect(asked()).toBe(1);
});

test('it is renewed five minutes before its end, and one that lasts shorter at half of its time', async () => {
  const long = world();
  await long.renewed.get();
  long.state.now = 55 * MINUTE_MS;
  expect(await Promise.all([long.renewed.get(), long.renewed.get()])).toEqual([2, 2]);
  const short = world(MINUTE_MS);
  await short.renewed.get();
  short.state.now = 29_000;
  expect(await short.renewed.get()).toBe(1);
  short.state.now = 30_000;
  expect(await short.renewed.get()).toBe(2);
});

test('if it cannot be renewed the old one is given until its end, and then the failure', async () => {
  const { renewed, state, asked } = world();
  await renewed.get();
  state.isDown = true;
  state.now = 56 * MINUTE_MS;
  expect(await renewed.get()).toBe(1);
  expect(await renewed.get()).toBe(1);
  // After a failure the server has a pause.
  expect(asked()).toBe(2);
  state.now = 60 * MINUTE_MS;
  await expect(renewed.get()).rejects.toThrow('down');
  await expect(renewed.get()).rejects.toThrow('down');
  expect(asked()).toBe(3);
  state.isDown = false;
  state.now += 1_000;
  expect(await renewed.get()).toBe(4);
});
