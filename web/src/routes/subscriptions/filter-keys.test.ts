import { expect, test } from 'vitest';
import { filterKeys } from './filter-keys.ts';

const samples = [
  { body: { amount: 5, customer: { country: 'DE' } }, headers: { 'x-kind': ['push'] } },
  { body: { lines: [{ sku: 'A1' }] }, headers: {} },
  { body: 'text', headers: {} },
];

test('a filter begins with its parts', () => {
  expect(filterKeys([], samples)).toEqual(['body', 'headers', 'query', 'path']);
});

test('a part has the fields of recent events, nested, dotted and of any element', () => {
  expect(filterKeys(['body'], samples)).toEqual(['amount', 'customer', 'lines', '$or', '$and']);
  expect(filterKeys(['body', '$or'], samples)).toEqual(filterKeys(['body'], samples));
  expect(filterKeys(['body', 'customer'], samples)).toContain('country');
  expect(filterKeys(['body', 'lines.$'], samples)).toContain('sku');
  expect(filterKeys(['headers'], samples)).toContain('x-kind');
});

test('a field has the operators', () => {
  expect(filterKeys(['body', 'amount'], samples)).toEqual(expect.arrayContaining(['$gte', '$exist']));
  expect(filterKeys(['body', 'none', 'such'], samples)).toContain('$eq');
});
