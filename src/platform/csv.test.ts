import { expect, test } from 'vitest';
import { parseCsv } from './csv.ts';

test.each([
  [
    'a,b\n1,2\n',
    [
      ['a', 'b'],
      ['1', '2'],
    ],
  ],
  [
    'a,b\r\n1,2',
    [
      ['a', 'b'],
      ['1', '2'],
    ],
  ],
  ['\ufeffa\n\n  \nb', [['a'], ['b']]],
  ['"a,1","say ""hi""","two\nlines"', [['a,1', 'say "hi"', 'two\nlines']]],
  [' a , b ', [['a', 'b']]],
  [
    'a,\n,b',
    [
      ['a', ''],
      ['', 'b'],
    ],
  ],
  ['a,', [['a', '']]],
  ['', []],
  ['Zoë,日本', [['Zoë', '日本']]],
  ['in"ner,x', [['in"ner', 'x']]],
])('%j is parsed', (text, rows) => {
  expect(parseCsv(text)?.map(({ cells }) => cells)).toEqual(rows);
});

test.each(['"never ends', 'a,"b\nc', '"a"b,c'])('%j is refused', (text) => {
  expect(parseCsv(text)).toBeNull();
});

test('a large text takes time in proportion', () => {
  const text = `${'"'.repeat(2)},`.repeat(200_000);
  expect(parseCsv(text)?.[0]?.cells).toHaveLength(200_001);
});

test('each row has the number of the line it begins on', () => {
  const text = 'a\r\n\r\n"two\nlines",x\nb\n\nc';
  expect(parseCsv(text)?.map(({ line }) => line)).toEqual([1, 3, 5, 7]);
});
