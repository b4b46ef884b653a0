import { expect, test } from 'vitest';
import { ConcurrencyCap } from './concurrency-cap.ts';

test('a cap starts at 32, or at its maximum if that is less', () => {
  expect(new ConcurrencyCap(100).value).toBe(32);
  expect(new ConcurrencyCap(5).value).toBe(5);
});

test('each success raises it by one, up to the maximum', () => {
  const cap = new ConcurrencyCap(34);
  const seen = [1, 2, 3, 4].map(() => {
    cap.succeeded();
    return cap.value;
  });
  expect(seen).toEqual([33, 34, 34, 34]);
});

test('strain halves it down to one and never to none', () => {
  const cap = new ConcurrencyCap(32);
  const seen = [1, 2, 3, 4, 5, 6, 7].map((n) => {
    cap.strained(n * 1_000);
    return cap.value;
  });
  expect(seen).toEqual([16, 8, 4, 2, 1, 1, 1]);
  cap.succeeded();
  expect(cap.value).toBe(2);
});

test('a burst of failures sent under the old cap halves it once', () => {
  const cap = new ConcurrencyCap(32);
  for (let n = 0; n < 32; n++) cap.strained(1_000 + n);
  expect(cap.value).toBe(16);
  cap.strained(1_500);
  expect(cap.value).toBe(8);
});

test('after a restart it grows from one', () => {
  const cap = new ConcurrencyCap(32);
  cap.restart();
  expect(cap.value).toBe(1);
  cap.succeeded();
  expect(cap.value).toBe(2);
});
