import fc from 'fast-check';
import { expect, test } from 'vitest';
import { jsonStart } from './json-start.ts';

test('a value that fits is its JSON, and of another one it is the beginning', () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.nat(60), (value, chars) => {
      const json = JSON.stringify(value);
      const start = jsonStart(value, chars);
      if (json.length <= chars) expect(start).toBe(json);
      else {
        expect(start.length).toBeGreaterThan(chars);
        expect(start.slice(0, chars)).toBe(json.slice(0, chars));
      }
    }),
  );
});

test('no more of a list is read than is written', () => {
  let reads = 0;
  const list = new Proxy(Array<number>(100_000).fill(1), {
    get: (target, key, receiver) => {
      reads++;
      return Reflect.get(target, key, receiver) as unknown;
    },
  });
  expect(jsonStart({ list }, 80).slice(0, 12)).toBe('{"list":[1,1');
  expect(reads).toBeLessThan(200);
});

test('any number of levels is as deep as it is long', () => {
  let deep: unknown = 1;
  for (let level = 0; level < 100_000; level++) deep = [deep];
  expect(jsonStart(deep, 4_096)).toBe('['.repeat(4_097));
});
