import { format, inspect } from 'node:util';
import { describe, expect, test } from 'vitest';
import { Secret } from './secret.ts';

describe('a secret', () => {
  const secret = new Secret({ password: 'hunter2' });

  test('gives its value to who asks for it', () => {
    expect(secret.reveal()).toEqual({ password: 'hunter2' });
  });

  test.each([
    ['a text', `${secret}`],
    ['an added text', `a${String(secret)}`],
    ['JSON', JSON.stringify({ deep: [secret] })],
    ['inspection', inspect({ deep: { deeper: [secret] } }, { depth: 9, showHidden: true })],
    ['a format', format('%s %o %j', secret, secret, secret)],
    ['an error', new Error(`refused: ${secret}`).message],
    ['a copy', JSON.stringify({ ...secret }) + Object.keys(secret).join()],
  ])('is not in %s', (_, shown) => {
    expect(shown).not.toContain('hunter2');
    expect(shown).not.toContain('password');
  });
});
