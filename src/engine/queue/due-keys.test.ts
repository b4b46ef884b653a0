import { describe, expect, it } from 'vitest';
import { asId, type EndpointId } from '../../domain/ids.ts';
import { systemClock } from '../../platform/time/clock.ts';
import { type DueKey, DueKeys } from './due-keys.ts';

const dueKey = (key: string, dueAt: number, projectId = 'p'): DueKey => ({
  projectId,
  key: asId<EndpointId>(key),
  lane: 0,
  dueAt,
  notifiedAt: dueAt,
  isOwn: true,
  misses: 0,
});

const names = (dues: DueKey[]) => dues.map(({ key }) => key);

/** All places due now, in the order in which a round checks them. */
function dueBy(keys: DueKeys, now: number): DueKey[] {
  keys.settle(now);
  return [...keys.ready(0, () => true)];
}

/** Numbers in [0, 1), the same in each run. */
function numbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31;
    return state / 2 ** 31;
  };
}

describe('DueKeys', () => {
  it('returns due places, the longest due first, until they are moved or deleted', () => {
    const keys = new DueKeys(systemClock);
    for (const [key, at] of Object.entries({ c: 30, a: 10, b: 20 })) keys.add(dueKey(key, at));
    expect(keys.next()).toBe(10);
    expect(names(dueBy(keys, 25))).toEqual(['a', 'b']);
    expect(names(dueBy(keys, 25))).toEqual(['a', 'b']);
    expect(keys.next()).toBe(30);
    keys.moveTo(keys.get(0, 'a') as DueKey, 40);
    keys.delete(keys.get(0, 'b') as DueKey);
    expect(names(dueBy(keys, 35))).toEqual(['c']);
    expect(keys.next()).toBe(40);
    expect(keys.size).toBe(2);
  });

  it('omits shut places until their endpoint changes or their time has come', () => {
    const keys = new DueKeys(systemClock);
    const now = performance.now();
    for (const key of ['a', 'b']) keys.add(dueKey(key, now));
    for (const due of dueBy(keys, now)) keys.shut(due, `of ${due.key}`, 1_000);
    expect(dueBy(keys, now + 999)).toEqual([]);
    expect(keys.reopen(['of c'])).toBe(false);
    expect(keys.reopen(['of b', 'of c'])).toBe(true);
    expect(names(dueBy(keys, performance.now()))).toEqual(['b']);
    expect(names(dueBy(keys, now + 2_000))).toEqual(['b', 'a']);
    expect(keys.reopen(['of a', 'of b'])).toBe(false);
  });

  it('returns a place of each project in turn, and begins with the others next time', () => {
    const keys = new DueKeys(systemClock);
    for (let n = 0; n < 5; n += 1) keys.add(dueKey(`many ${n}`, n, 'many'));
    keys.add(dueKey('few', 9, 'few'));
    keys.settle(10);
    const firsts = (count: number) => {
      const seen: string[] = [];
      for (const { key } of keys.ready(0, () => true)) if (seen.push(key) === count) break;
      return seen;
    };
    expect(firsts(3)).toEqual(['many 0', 'few', 'many 1']);
    expect(firsts(3)).toEqual(['few', 'many 2', 'many 3']);
    expect(keys.isReady(0)).toBe(true);
    expect(keys.isReady(1)).toBe(false);
  });

  it('skips projects without room', () => {
    const keys = new DueKeys(systemClock);
    for (let n = 0; n < 5; n += 1) keys.add(dueKey(`full ${n}`, n, 'full'));
    keys.add(dueKey('free', 9, 'free'));
    keys.settle(10);
    expect(names([...keys.ready(0, (projectId) => projectId !== 'full')])).toEqual(['free']);
  });

  it('agrees with a plain list under any changes', () => {
    const random = numbers(7);
    const keys = new DueKeys(systemClock);
    const plain = new Map<string, number>();
    for (let now = 0; now < 5_000; now += 1) {
      const key = `k${Math.floor(random() * 200)}`;
      const at = now + Math.floor(random() * 400);
      const known = keys.get(0, key);
      if (known === undefined) keys.add(dueKey(key, at));
      else if (random() < 0.2) keys.delete(known);
      else keys.moveTo(known, at);
      if (keys.get(0, key) === undefined) plain.delete(key);
      else plain.set(key, at);
      if (now % 10 !== 0) continue;
      const expected = [...plain].filter(([, dueAt]) => dueAt <= now).map(([name]) => name);
      expect(names(dueBy(keys, now)).toSorted()).toEqual(expected.toSorted());
      const later = [...plain.values()].filter((dueAt) => dueAt > now);
      expect(keys.next()).toBe(later.length === 0 ? Number.POSITIVE_INFINITY : Math.min(...later));
    }
  });
});
