import { expect, test } from 'vitest';
import { isConnectionHeader, isHeaderName, isHeaderValue } from './http-header.ts';

test('a header name is a token', () => {
  expect(["X-Key_1.~!#$%&'*+^`|", 'a'].map(isHeaderName)).toEqual([true, true]);
  expect(['', 'two words', 'näme', 'line\n', 'a:b', 'a(b)'].map(isHeaderName)).toEqual(Array(6).fill(false));
});

test('a header value is one line of Latin-1', () => {
  expect(['', 'a\tb', 'é', '~'].map(isHeaderValue)).toEqual(Array(4).fill(true));
  expect(['a\r\nb: c', '\u0000', '\u007f', '漢', 'a\n'].map(isHeaderValue)).toEqual(Array(5).fill(false));
});

test('headers of the connection are known in any case', () => {
  const names = ['Host', 'content-length', 'Expect', 'TE', 'Proxy-Connection', 'transfer-encoding'];
  expect(names.filter((name) => !isConnectionHeader(name))).toEqual([]);
  expect(['content-type', 'x-host', ''].filter(isConnectionHeader)).toEqual([]);
});
