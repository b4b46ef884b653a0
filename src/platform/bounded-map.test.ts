import fc from 'fast-check';
import { expect, test } from 'vitest';
import { BoundedMap } from './bounded-map.ts';

test('the entry set longest ago is forgotten, and only when there is one too many', () => {
  const map = new BoundedMap<string, number>(2).set('a', 1).set('b', 2);
  expect([...map]).toEqual([
    ['a', 1],
    ['b', 2],
  ]);
  map.set('c', 3);
  expect([...map.keys()]).toEqual(['b', 'c']);
});

test('an entry that is set again counts as new, and takes no other entry away', () => {
  const map = new BoundedMap<string, number>(2).set('a', 1).set('b', 2).set('a', 3);
  expect(map.size).toBe(2);
  map.set('c', 4);
  expect([...map]).toEqual([
    ['a', 3],
    ['c', 4],
  ]);
});

test('whatever is set and deleted, the map holds the latest entries and no more than its bound', () => {
  const steps = fc.array(fc.tuple(fc.constantFrom('set', 'delete'), fc.nat({ max: 9 })));
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 5 }), steps, (max, list) => {
      const map = new BoundedMap<number, number>(max);
      let latest: number[] = [];
      for (const [step, key] of list) {
        latest = latest.filter((other) => other !== key);
        if (step === 'delete') map.delete(key);
        else {
          map.set(key, key);
          latest = [...latest, key].slice(-max);
        }
        expect([...map.keys()]).toEqual(latest);
      }
    }),
  );
});
