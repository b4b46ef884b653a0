import { expect, test } from 'vitest';
import { KnownSecrets } from './known-secrets.ts';

const secrets = new KnownSecrets();
const value = secrets.make('it');
const bytes = Buffer.from(value);

test.each([
  ['itself', `... ${value} ...`],
  ['JSON', JSON.stringify({ value })],
  ['JSON in JSON', JSON.stringify({ text: JSON.stringify({ value }) })],
  ['a query', new URLSearchParams({ a: 'b', value }).toString()],
  ['a path', `/${encodeURIComponent(value)}/x`],
  ['hex', Buffer.from(`a${value}`).toString('hex')],
  ['base64', bytes.toString('base64')],
  ['base64 of something longer', Buffer.from(`a${value}bc`).toString('base64')],
  ['base64 of something longer still', Buffer.from(`ab${value}c`).toString('base64')],
  ['base64 for URLs', Buffer.from(`ab${value}c`).toString('base64url')],
  ['UTF-16 in hex', Buffer.from(`x${value}`, 'utf16le').toString('hex')],
  ['UTF-16 the other way round', Buffer.from(value, 'utf16le').swap16().toString('hex')],
  ['bytes taken for latin1', bytes.toString('latin1')],
])('a secret is found in %s', (_, text) => {
  expect(secrets.foundIn(text)).toEqual(['it']);
});

test('nothing is found in a text without secrets', () => {
  expect(secrets.foundIn(value.slice(0, -4))).toEqual([]);
});
