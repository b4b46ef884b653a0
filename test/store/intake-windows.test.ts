import { expect, test } from 'vitest';
import { takeFromWindows } from '../../src/store/limits/intake-windows.ts';
import { createTestDatabase } from '../support/database.ts';
import { shared } from '../support/shared.ts';

/** Time passes by moving what was let in into the past; what really passes meanwhile is far below a slot's length. */
const database = await shared(createTestDatabase());
const db = database.open();

const SECONDS = 86_400;

const take = async (key: string, wanted: number, maxEvents = 10) =>
  (await takeFromWindows(db, [{ key, wanted, maxEvents, seconds: SECONDS }])).get(key);

const passes = (key: string, seconds: number) =>
  database.query(
    'update intake_windows set times = array(select t - $2::float8 from unnest(times) t order by t) where key = $1',
    [key, seconds],
  );

test('no interval contains more than the limit, also where two windows would meet', async () => {
  expect((await take('edge', 1))?.granted).toBe(1);
  await passes('edge', SECONDS - 600);
  expect((await take('edge', 20))?.granted).toBe(9);
  // The first is older than the interval, and the nine are not. They are in another slot than what comes now, whatever
  // the time of day: a slot is 1,440 seconds long.
  await passes('edge', 1_500);
  const refused = await take('edge', 20);
  expect(refused?.granted).toBe(1);
  expect(refused?.endsInSeconds).toBeGreaterThan(SECONDS - 1_800);
  expect(refused?.endsInSeconds).toBeLessThanOrEqual(SECONDS - 1_500);
  expect((await take('edge', 1))?.granted).toBe(0);
});

test('for any order of requests, every interval stays within the limit and a free one is used', async () => {
  const let_in: { at: number; count: number }[] = [];
  let at = 0;
  for (let step = 0; step < 150; step++) {
    const pause = ((step * 7_919) % 13) * 1_000;
    await passes('walk', pause);
    at += pause;
    const granted = (await take('walk', 1 + (step % 4)))?.granted ?? 0;
    if (granted > 0) let_in.push({ at, count: granted });
    const within = let_in
      .filter((past) => past.at > at - SECONDS + 60)
      .reduce((sum, { count }) => sum + count, 0);
    expect(within).toBeLessThanOrEqual(10);
  }
  const total = let_in.reduce((sum, { count }) => sum + count, 0);
  // Ten a day is what may come in; a sixtieth of a day may be lost with each.
  expect(total).toBeGreaterThanOrEqual(Math.floor((at / SECONDS) * 10 * (60 / 62)));
});

test('a row stays small for any number of events', async () => {
  for (let slot = 0; slot < 80; slot++) {
    await passes('small', SECONDS / 60);
    for (const wanted of [1, 2, 3]) await take('small', wanted, 1_000_000);
  }
  const [row] = await database.query(
    "select cardinality(times) as slots from intake_windows where key = 'small'",
  );
  expect(row?.['slots']).toBeLessThanOrEqual(61);
  expect(row?.['slots']).toBeGreaterThan(30);
});

test('a returned place can be taken again, and no more than were taken', async () => {
  expect((await take('back', 10))?.granted).toBe(10);
  await take('back', -3);
  expect((await take('back', 10))?.granted).toBe(3);
  await take('back', -1_000);
  expect((await take('back', 20))?.granted).toBe(10);
});

test('many at once share the limit', async () => {
  const grants = await Promise.all(Array.from({ length: 20 }, () => take('crowd', 3)));
  expect(grants.reduce((sum, grant) => sum + (grant?.granted ?? 0), 0)).toBe(10);
});

test('a lowered or raised limit applies from the next event on', async () => {
  expect((await take('changed', 8, 8))?.granted).toBe(8);
  expect((await take('changed', 1, 5))?.granted).toBe(0);
  expect((await take('changed', 5, 10))?.granted).toBe(2);
});
