import { expect, onTestFinished, test } from 'vitest';
import { quietLog } from '../../../test/support/quiet-log.ts';
import { ManualClock } from '../../../test/support/samples/manual-clock.ts';
import { OneProject, routingOf } from '../../../test/support/samples/routing.ts';
import { asId, IdFactory, type SubscriptionId } from '../../domain/ids.ts';
import type { RoutedSubscription } from '../../routing/routed-subscription.ts';
import type { Seen } from '../../store/batching/form-batches.ts';
import type { Database } from '../../store/database/database.ts';
import { BatchFormer } from './batch-former.ts';

const FULL: Seen = { count: 5_000, bytes: 1, oldestMs: 1, backlog: 0, hasUnplaced: false };

/** The batches of subscriptions `k0`, `k1` and so on, each of up to `max` deliveries. `answer`: what is seen of a key. */
function formerOf(max: number, answer: { seen: Seen | Error; isMade?: boolean }) {
  const clock = new ManualClock();
  const routing = routingOf({ subscription: { batch: { max, max_bytes: 1_000, max_wait_seconds: 10 } } });
  const subscriptions = routing.subscriptions as Map<string, RoutedSubscription>;
  const looks: string[][] = [];
  const hot = async (name: string, _text: string, [keys]: unknown[]) => {
    const named = String(keys).slice(1, -1).split(',');
    if (name === 'form-batches')
      return answer.isMade === false ? [] : named.map((key) => ({ key, count: 1 }));
    looks.push(named);
    const { seen } = answer;
    if (seen instanceof Error) throw seen;
    return named.map((key) => ({ key, ...seen }));
  };
  const former = new BatchFormer({
    db: { hot } as unknown as Database,
    cache: new OneProject(routing),
    ids: new IdFactory(() => clock.now()),
    formed: () => {},
    now: () => clock.now(),
    clock,
    log: quietLog,
  });
  former.start();
  onTestFinished(() => former.stop());
  const found = (key: string, projectId = 'p') => {
    subscriptions.set(key, subscriptions.get('s') as RoutedSubscription);
    former.found(projectId, asId<SubscriptionId>(key));
  };
  return { clock, looks, found };
}

test('a key of which nothing is made is looked at again after a second', async () => {
  const { clock, looks, found } = formerOf(10, { seen: FULL, isMade: false });
  found('k0');
  await clock.advance(900);
  expect(looks).toHaveLength(1);
  await clock.advance(200);
  expect(looks).toHaveLength(2);
});

test.each([0, 1])('a key that is found during a look that sees %i is looked at once more', async (count) => {
  const answer = {
    get seen() {
      if (looks.length === 1) found('k0');
      return { ...FULL, count };
    },
  };
  const { clock, looks, found } = formerOf(10, answer);
  found('k0');
  await clock.advance(1);
  expect(looks).toHaveLength(2);
});

test('a look is at no more keys than have 5,000 deliveries together', async () => {
  const waits = { ...FULL, count: 1 };
  const { clock, looks, found } = formerOf(1_000, { seen: waits });
  for (let n = 0; n < 12; n++) found(`k${n}`);
  await clock.advance(1);
  expect(looks.map((keys) => keys.length)).toEqual([5, 5, 2]);
  expect(new Set(looks.flat()).size).toBe(12);
});

test('after a look that failed the next one is smaller, later, and at other keys', async () => {
  const answer: { seen: Seen | Error } = { seen: new Error('too long') };
  const { clock, looks, found } = formerOf(1_000, answer);
  for (let n = 0; n < 8; n++) found(`k${n}`);
  await clock.advance(400);
  expect(looks.map((keys) => keys.length)).toEqual([5]);
  await clock.advance(200);
  expect(looks[1]).toEqual(['k5', 'k6']);
  answer.seen = { ...FULL, count: 0 };
  await clock.advance(5_000);
  expect(new Set(looks.slice(2).flat()).size).toBe(8);
});

test('keys that are always full leave their turn to others, and projects with many keys to those with few', async () => {
  const answer = {
    get seen() {
      return looks.length <= 30 ? FULL : { ...FULL, count: 0 };
    },
  };
  const { clock, looks, found } = formerOf(5_000, answer);
  for (let n = 0; n < 20; n++) found(`k${n}`);
  found('other', 'q');
  await clock.advance(1);
  const [first, second, ...rest] = looks.flat();
  expect([first, second]).toEqual(['k0', 'other']);
  // The other project has half of 28 further looks.
  expect(rest.slice(0, 28).filter((key) => key === 'other')).toHaveLength(14);
  expect(new Set(looks.flat()).size).toBe(21);
});
