import { format, inspect } from 'node:util';
import { describe, expect, test } from 'vitest';
import { Secret } from './secret.ts';

describe('a secret', () => {
  const secret = new Secret({ password: 'hunter2' });

  test('returns its value from reveal', () => {
    expect(secret.reveal()).toEqual({ password: 'hunter2' });
  });

  test.each([
    ['a text', String(secret)],
    ['an added text', ['a', secret].join('')],
    ['JSON', JSON.stringify({ deep: [secret] })],
    ['inspection', inspect({ deep: { deeper: [secret] } }, { depth: 9, showHidden: true })],
    ['a format', format('%s %o %j', secret, secret, secret)],
    ['an error', new Error(String(secret), { cause: secret }).message],
    [
      'a copy',
      JSON.stringify([
        Object.entries(secret),
        Object.assign({}, secret),
        structuredClone(Object.keys(secret)),
      ]),
    ],
  ])('is not in %s', (_, shown) => {
    expect(shown).not.toContain('hunter2');
    expect(shown).not.toContain('password');
  });
});
