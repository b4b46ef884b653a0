import { expect, test } from 'vitest';
import { withRequest } from './function-request.ts';
import { type ReadRequest, readRequest } from './read-request.ts';

const read = (value: unknown, variables = {}): ReadRequest => readRequest(JSON.stringify(value), variables);
const none = { headers: {}, path: null, query: {}, secrets: [] };

test('every part is read, the body byte by byte', () => {
  const output = '{"body":{"n":1.0,"b":[1e400]},"headers":{"X-A":"é"},"path":"/a b","query":{"q":"1"}}';
  expect(readRequest(output, {})).toEqual({
    kind: 'request',
    body: '{"n":1.0,"b":[1e400]}',
    request: { headers: { 'X-A': 'é' }, path: '/a b', query: { q: '1' }, secrets: [] },
  });
  expect(read({})).toEqual({ kind: 'request', body: null, request: none });
  expect(read({ body: null })).toEqual({ kind: 'request', body: 'null', request: none });
});

test.each([
  ['text', /returns an object/],
  [[], /returns an object/],
  [null, /returns an object/],
  [{ Headers: {} }, /"Headers" is none of/],
  [JSON.parse('{"__proto__":{"headers":{}}}'), /"__proto__" is none of/],
  [{ headers: [] }, /object of strings/],
  [{ headers: { a: 1 } }, /object of strings/],
  [{ headers: { a: ['x'] } }, /object of strings/],
  [{ headers: { 'x-a': 'b\r\nHost: evil' } }, /x-a is not one line/],
  [{ headers: { 'x-a': 'b\n' } }, /x-a is not one line/],
  [{ headers: { 'x-a': 'b\0' } }, /x-a is not one line/],
  [{ headers: { 'x-a': '☃' } }, /x-a is not one line/],
  [{ headers: { 'x\r\nhost': 'evil' } }, /"x\\r\\nhost" is not a header name/],
  [{ headers: { 'x a': '1' } }, /is not a header name/],
  [{ headers: { ключ: '1' } }, /is not a header name/],
  [{ headers: { '': '1' } }, /is not a header name/],
  [{ headers: JSON.parse('{"__proto__":"1"}') }, /is not a header name/],
  [{ headers: { ['n'.repeat(129)]: '1' } }, /is not a header name/],
  [{ headers: { 'X-A': '1', 'x-a': '2' } }, /x-a was set twice/],
  [{ headers: { 'x-a': 'v'.repeat(16_384) } }, /more than 16384 characters/],
  [{ headers: Object.fromEntries(Array.from({ length: 51 }, (_, n) => [`x-${n}`, ''])) }, /more than 50/],
  [{ path: 'a' }, /begins with "\/"/],
  [{ path: '' }, /begins with/],
  [{ path: 'http://other.example/' }, /begins with/],
  [{ path: '/a?b' }, /begins with/],
  [{ path: '/a#b' }, /begins with/],
  [{ path: '/\\other.example' }, /begins with/],
  [{ path: '/a\r\nb' }, /begins with/],
  [{ path: '/\ud800' }, /begins with/],
  [{ path: 7 }, /begins with/],
  [{ path: `/${'p'.repeat(2_048)}` }, /more than 2048/],
  [{ query: 'a=b' }, /object of strings/],
  [{ query: { a: null } }, /object of strings/],
  [{ query: { a: '\udfff' } }, /not well-formed/],
  [{ query: { a: 'v'.repeat(8_192) } }, /more than 8192/],
  [{ query: Object.fromEntries(Array.from({ length: 101 }, (_, n) => [`q${n}`, ''])) }, /more than 100/],
  [{ cancel: 1 }, /cancel must be/],
  [{ cancel: null }, /cancel must be/],
])('%j is refused', (value, message) => {
  const result = read(value);
  expect(result.kind === 'refused' && result.message).toMatch(message);
});

const OF_THE_CONNECTION = ['Host', 'content-length', 'Transfer-Encoding', 'connection', 'TE', 'expect'];
const OURS = [
  'webhook-id',
  'Webhook-Signature',
  'X-Posthorn-Hops',
  'X-Convoy-Signature',
  'Content-Type',
  'Ce-Id',
  'ce-anything',
];

test.each([...OF_THE_CONNECTION, ...OURS])('the header %s is ours', (name) => {
  expect(read({ headers: { [name]: '1' } })).toEqual({
    kind: 'refused',
    message: `the header ${name} is set by the service, and not by a function`,
  });
});

test('a reason to cancel is one bounded line without secrets', () => {
  const reason = (cancel: unknown, variables = {}) => {
    const result = read({ cancel, headers: { 'not a name': '' } }, variables);
    return result.kind === 'cancelled' ? result.reason : result;
  };
  expect(reason('not for\r\n\0us')).toBe('not for us');
  expect([reason(true), reason(''), reason('\n')]).toEqual(Array(3).fill('no reason given'));
  expect(reason('r'.repeat(600))).toHaveLength(500);
  expect(reason(`${'r'.repeat(499)}😀`)).toBe(`${'r'.repeat(499)}\ufffd`);
  expect(reason('as tok_123456 says', { TOKEN: 'tok_123456' })).toBe('as *** says');
});

test('values of variables in the parts are known, and short ones are not looked for', () => {
  const variables = { TOKEN: 'tok_123456', OTHER: 'tok_654321', SHORT: 'abc' };
  const result = read({ headers: { 'X-A': 'Bearer tok_123456 abc' } }, variables);
  expect(result.kind === 'request' && result.request.secrets).toEqual(['tok_123456']);
});

test.each([
  ['http://a.example:81/x?own=1', '/p', {}, 'http://a.example:81/p?own=1'],
  ['http://a.example/x', '//other.example/p', {}, 'http://a.example//other.example/p'],
  ['http://a.example/x', '/../../etc', {}, 'http://a.example/etc'],
  ['http://a.example/x', '/@other.example:1/ü ;%2F', {}, 'http://a.example/@other.example:1/%C3%BC%20;%2F'],
  ['http://a.example/x?a=%20&b=+&a=3', null, { a: '1&2', c: 'é' }, 'http://a.example/x?b=+&a=1%262&c=%C3%A9'],
  ['http://a.example/x', null, JSON.parse('{"__proto__":"1"}'), 'http://a.example/x?__proto__=1'],
  ['http://a.example/x?%61=1', null, { a: '2' }, 'http://a.example/x?a=2'],
  ['http://a.example/x?y', null, {}, 'http://a.example/x?y'],
  ['', '/p', { a: '1' }, ''],
])('%s with the path %s and the query %j is %s', (url, path, query, expected) => {
  expect(withRequest(url, { path, query })).toBe(expected);
});
