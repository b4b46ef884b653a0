import { describe, expect, test } from 'vitest';
import { checkPassword } from './password-rules.ts';

const ann = { email: 'ann.miller@example.com', name: 'Ann Miller' };
const problem = (password: string): string => {
  try {
    checkPassword('password', password, ann);
    return '';
  } catch (error) {
    return (error as Error).message;
  }
};

describe('a password', () => {
  test.each([
    'orchid lamp quarry 7',
    'corrèct hörse battery',
    'tr0ub4dor&3-lighthouse',
    '鳥が空を高く飛んでいく静かな朝',
    'x9$Kq!2vLp#7',
    'a'.repeat(6) + 'lantern violet cobalt',
  ])('%s may be used', (password) => {
    expect(problem(password)).toBe('');
  });

  test.each([
    ['short one 1', /at least 12/],
    ['🐴🐴🐴🐴🐴🐴', /at least 12/],
    ['aaaaaaaaaaaa', /too few different/],
    ['abababababab', /too few different/],
    ['123456789012', /run of neighbouring/],
    ['qwertyuiopqw', /run of neighbouring/],
    ['abcdefghijkl', /run of neighbouring/],
    ['Password1234!', /too easy/],
    ['P@ssw0rd2026', /too easy/],
    ['letmein12345', /too easy/],
    ['welcome2026!!', /too easy/],
    ['PasswordPassword', /too easy/],
    ['posthorn-admin-1', /too easy/],
    ['ann.miller@example.com', /too easy/],
    ['ann.miller12345', /too easy/],
    ['Ann Miller 1999', /too easy/],
  ])('%s is refused', (password, reason) => {
    expect(problem(password)).toMatch(reason);
  });
});
