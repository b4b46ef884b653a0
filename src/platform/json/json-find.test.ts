import { expect, test } from 'vitest';
import { valueFinder } from './json-find.ts';

const find = (text: string, document: string) => valueFinder(text)(Buffer.from(document));

test('a value is found at any depth, with its path', () => {
  const document = '{"a":1,"invoice":{"lines":[{"sku":"x"},{"sku":"INV-7/42"}]}}';
  expect(find('INV-7', document)).toEqual({ path: 'invoice.lines.1.sku', value: 'INV-7/42' });
  expect(find('inv-7', document)).toBeNull();
});

test('numbers and words match as a whole, names of fields do not match', () => {
  const document = '{"amount":1042,"paid":true,"note":null,"42":"no"}';
  expect(find('1042', document)).toEqual({ path: 'amount', value: '1042' });
  expect(find('42', document)).toBeNull();
  expect(find('true', document)).toEqual({ path: 'paid', value: 'true' });
  expect(find('null', document)).toEqual({ path: 'note', value: 'null' });
  expect(find('amount', document)).toBeNull();
});

test('quotes, unicode and escapes are found however the document writes them', () => {
  expect(find('say "hi"', String.raw`["say \"hi\""]`)).toEqual({ path: '0', value: 'say "hi"' });
  expect(find('Zoë', '{"name":"Zoë"}')).toEqual({ path: 'name', value: 'Zoë' });
  expect(find('Zoë', String.raw`{"name":"Zo\u00eb"}`)).toEqual({ path: 'name', value: 'Zoë' });
});

test('a document that is no JSON, deep or long harms nothing', () => {
  expect(find('a', 'a{')).toBeNull();
  const deep = `${'['.repeat(50_000)}"needle"${']'.repeat(50_000)}`;
  expect(find('needle', deep)?.value).toBe('needle');
  const long = JSON.stringify({ text: `${'x'.repeat(5_000)}needle${'y'.repeat(5_000)}` });
  expect(find('needle', long)?.value).toHaveLength(200);
  expect(find('needle', long)?.value).toContain('needle');
});
