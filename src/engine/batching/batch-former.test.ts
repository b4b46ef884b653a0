import { expect, onTestFinished, test } from 'vitest';
import { quietLog } from '../../../test/support/quiet-log.ts';
import { ManualClock } from '../../../test/support/samples/manual-clock.ts';
import { OneProject, routingOf } from '../../../test/support/samples/routing.ts';
import { USUAL_BATCH } from '../../domain/config/batch.ts';
import { LANE } from '../../domain/delivery.ts';
import { asId, IdFactory, type SubscriptionId } from '../../domain/ids.ts';
import type { RoutedSubscription } from '../../routing/routed-subscription.ts';
import type { Seen } from '../../store/batching/look-at-collected.ts';
import type { Database } from '../../store/database/database.ts';
import { BatchFormer } from './batch-former.ts';

const FULL: Seen = {
  count: 5_000,
  bytes: null,
  newestAt: 1,
  waitMs: 9_999,
  backlog: 0,
  hasUnplaced: false,
};
const ONE: Seen = { ...FULL, count: 1, bytes: 1 };

/** The batches of subscriptions `k0`, `k1` and so on, each of up to `max` deliveries. `answer`: what is seen of a key. */
function formerOf(max: number, answer: { seen: Seen | Error; made?: number }) {
  const clock = new ManualClock();
  const batch = { ...USUAL_BATCH, max, max_bytes: 1_000, max_wait_seconds: 10 };
  const routing = routingOf({ subscription: { batch } });
  const subscriptions = routing.subscriptions as Map<string, RoutedSubscription>;
  const looks: string[][] = [];
  const forms: string[][] = [];
  const hot = async (name: string, _text: string, values: unknown[]) => {
    const named = String(values.find((value) => String(value).startsWith('{')))
      .slice(1, -1)
      .split(',');
    const { seen, made = 1 } = answer;
    (name === 'form-batches' ? forms : looks).push(named);
    if (name === 'form-batches') return made === 0 ? [] : named.map((key) => ({ key, count: made }));
    if (seen instanceof Error) throw seen;
    return named.map((key) => ({ key, ...seen }));
  };
  const former = new BatchFormer({
    db: { hot } as unknown as Database,
    nodeId: 'node',
    cache: new OneProject(routing),
    ids: new IdFactory(() => clock.now()),
    formed: () => {},
    now: () => clock.now(),
    clock,
    log: quietLog,
  });
  former.start();
  onTestFinished(() => former.stop());
  const keyOf = (key: string) => {
    subscriptions.set(key, subscriptions.get('s') as RoutedSubscription);
    return asId<SubscriptionId>(key);
  };
  return {
    clock,
    looks,
    forms,
    found: (key: string, projectId = 'p') => former.found({ projectId, key: keyOf(key), lane: LANE.first }),
    stored: (key: string, rows: number, bytes = 1) => {
      for (let n = 0; n < rows; n++)
        former.stored({ projectId: 'p', key: keyOf(key), lane: LANE.first }, bytes);
    },
    claimed: (key: string) => former.claimed(keyOf(key)),
  };
}

const upTo = (count: number) => Array.from({ length: count }, (_, n) => `k${n}`);

test('a key of which nothing is made is looked at again after a second', async () => {
  const { clock, looks, found } = formerOf(10, { seen: FULL, made: 0 });
  found('k0');
  await clock.advance(900);
  expect(looks).toHaveLength(1);
  await clock.advance(200);
  expect(looks).toHaveLength(2);
});

test.each([0, 1])('a key that is found during a look that sees %i is looked at once more', async (count) => {
  const answer = {
    get seen() {
      if (looks.length === 0) found('k0');
      return { ...ONE, count };
    },
  };
  const { clock, looks, found } = formerOf(10, answer);
  found('k0');
  await clock.advance(1);
  expect(looks).toHaveLength(2);
});

test.each([
  // It sees 4 of 10.
  ['rows', 2, 3],
  ['bytes', 1, 500],
])(
  'half of the %s that were missing are looked at once more, though they came during a look',
  async (_, rows, bytes) => {
    const answer = {
      get seen() {
        if (looks.length === 0) stored('k0', rows + 1, bytes);
        return { ...ONE, count: 4 };
      },
    };
    const { clock, looks, found, stored } = formerOf(10, answer);
    found('k0');
    await clock.advance(1);
    expect(looks).toHaveLength(2);
    // Fewer wait.
    stored('k0', 2, 3);
    await clock.advance(1);
    expect(looks).toHaveLength(2);
    stored('k0', 1, 3);
    await clock.advance(1);
    expect(looks).toHaveLength(3);
  },
);

test.each([
  ['all of it', 3, 3, 1],
  ['a part of it', 3, 2, 2],
  ['as many as are counted', 80, 80, 2],
])(
  'after a batch of %s, a key is looked at once more if others may be left',
  async (_, count, made, times) => {
    const answer = {
      get seen() {
        return looks.length === 0 ? { ...FULL, count, waitMs: 0 } : { ...ONE, count: 0 };
      },
      made,
    };
    const { clock, looks, found } = formerOf(10, answer);
    found('k0');
    await clock.advance(60_000);
    expect(looks).toHaveLength(times);
  },
);

test('rows that came while a batch was made of all others are looked at after their wait', async () => {
  const answer = {
    get seen() {
      if (looks.length === 0) stored('k0', 1);
      return { ...FULL, count: looks.length === 0 ? 1 : 0, waitMs: 0 };
    },
  };
  const { clock, looks, found, stored } = formerOf(10, answer);
  found('k0');
  await clock.advance(9_900);
  expect(looks).toHaveLength(1);
  await clock.advance(200);
  expect(looks).toHaveLength(2);
});

test('a key with eight batches that wait is looked at after a claim, or at last every 16 s, and not for its rows', async () => {
  const answer = { seen: { ...FULL, count: 0, backlog: 8 } };
  const { clock, looks, found, stored, claimed } = formerOf(1, answer);
  found('k0');
  await clock.advance(500);
  found('k0');
  await clock.advance(100);
  stored('k0', 10);
  await clock.advance(100);
  expect(looks).toHaveLength(1);
  await clock.advance(14_700);
  // After 1, 3, 7 and 15 s.
  expect(looks).toHaveLength(5);
  await clock.advance(15_000);
  expect(looks).toHaveLength(5);
  claimed('k0');
  await clock.advance(1);
  expect(looks).toHaveLength(6);
  answer.seen = { ...ONE, count: 0 };
  claimed('k0');
  claimed('another');
  await clock.advance(60_000);
  expect(looks).toHaveLength(7);
});

test('a claim during a look is not missed', async () => {
  const answer = {
    get seen() {
      if (looks.length === 0) claimed('k0');
      return { ...FULL, count: 0, backlog: looks.length === 0 ? 8 : 0 };
    },
  };
  const { clock, looks, found, claimed } = formerOf(1, answer);
  found('k0');
  await clock.advance(1);
  expect(looks).toHaveLength(2);
});

test('a look is at no more keys than have about 5,000 deliveries together, by the look before, and at 200 at most', async () => {
  const answer = { seen: { ...ONE, count: 1_000 } };
  const { clock, looks, found } = formerOf(2_000, answer);
  const sizes = async (keys: number) => {
    looks.length = 0;
    for (const key of upTo(keys)) found(key);
    await clock.advance(1);
    expect(new Set(looks.flat()).size).toBe(keys);
    return looks.map(({ length }) => length);
  };
  // Nothing is known of them.
  expect(await sizes(120)).toEqual([50, 50, 20]);
  expect(await sizes(12)).toEqual([5, 5, 2]);
  answer.seen = { ...ONE, count: 1 };
  await sizes(300);
  expect(await sizes(300)).toEqual([200, 100]);
});

test('after a look that failed the next one is smaller, later, and at other keys', async () => {
  const answer: { seen: Seen | Error } = { seen: new Error('too long') };
  const { clock, looks, found } = formerOf(1_000, answer);
  for (const key of upTo(80)) found(key);
  await clock.advance(400);
  expect(looks.map((keys) => keys.length)).toEqual([50]);
  await clock.advance(200);
  expect(looks[1]).toHaveLength(25);
  expect(new Set(looks.flat()).size).toBe(75);
  answer.seen = { ...FULL, count: 0 };
  await clock.advance(5_000);
  expect(new Set(looks.slice(2).flat()).size).toBe(80);
});

test('keys that are always full leave their turn to others, and projects with many keys to those with few', async () => {
  const answer = {
    get seen() {
      return forms.length < 30 ? FULL : { ...FULL, count: 0 };
    },
  };
  const { clock, forms, found } = formerOf(5_000, answer);
  for (const key of upTo(20)) found(key);
  found('other', 'q');
  await clock.advance(1);
  // One statement makes batches of 5,000 deliveries.
  expect(forms.map(({ length }) => length)).toEqual(Array(30).fill(1));
  expect(forms.flat().filter((key) => key === 'other')).toHaveLength(15);
  expect(new Set(forms.flat()).size).toBeGreaterThanOrEqual(15);
});
