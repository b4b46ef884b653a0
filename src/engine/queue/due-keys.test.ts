import { describe, expect, it } from 'vitest';
import { type DueKey, DueKeys } from './due-keys.ts';

const dueKey = (key: string, dueAt: number): DueKey => ({
  projectId: 'p',
  key,
  lane: 0,
  dueAt,
  toldAt: dueAt,
  isOwn: true,
});

const names = (dues: DueKey[]) => dues.map(({ key }) => key);

/** Numbers in [0, 1), the same in each run. */
function numbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31;
    return state / 2 ** 31;
  };
}

describe('DueKeys', () => {
  it('gives what is due, the longest due first, until it is moved or deleted', () => {
    const keys = new DueKeys();
    for (const [key, at] of Object.entries({ c: 30, a: 10, b: 20 })) keys.add(dueKey(key, at));
    expect(keys.next()).toBe(10);
    expect(names(keys.due(25))).toEqual(['a', 'b']);
    expect(names(keys.due(25))).toEqual(['a', 'b']);
    expect(keys.next()).toBe(30);
    keys.moveTo(keys.get(0, 'a') as DueKey, 40);
    keys.delete(keys.get(0, 'b') as DueKey);
    expect(names(keys.due(35))).toEqual(['c']);
    expect(keys.next()).toBe(40);
    expect(keys.size).toBe(2);
  });

  it('leaves out what is shut until its endpoint changes or its time has come', () => {
    const keys = new DueKeys();
    const now = performance.now();
    for (const key of ['a', 'b']) keys.add(dueKey(key, now));
    for (const due of keys.due(now)) keys.shut(due, `of ${due.key}`, 1_000);
    expect(keys.due(now + 999)).toEqual([]);
    expect(keys.reopen(['of c'])).toBe(false);
    expect(keys.reopen(['of b', 'of c'])).toBe(true);
    expect(names(keys.due(performance.now()))).toEqual(['b']);
    expect(names(keys.due(now + 2_000))).toEqual(['b', 'a']);
    expect(keys.reopen(['of a', 'of b'])).toBe(false);
  });

  it('agrees with a plain list under any changes', () => {
    const random = numbers(7);
    const keys = new DueKeys();
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
      expect(names(keys.due(now)).toSorted()).toEqual(expected.toSorted());
      const later = [...plain.values()].filter((dueAt) => dueAt > now);
      expect(keys.next()).toBe(later.length === 0 ? Number.POSITIVE_INFINITY : Math.min(...later));
    }
  });
});
