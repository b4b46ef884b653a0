import { describe, expect, test } from 'vitest';
import { codeAt, newSeed, otpauthUrl, stepAt, stepOf } from './totp.ts';

/** '12345678901234567890' of RFC 6238, appendix B, in base32. The last six of its eight digits. */
const SEED = 'GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ';

describe('a code', () => {
  test.each([
    [59, '287082'],
    [1_111_111_109, '081804'],
    [1_111_111_111, '050471'],
    [1_234_567_890, '005924'],
    [2_000_000_000, '279037'],
    [20_000_000_000, '353130'],
  ])('at %i s is that of RFC 6238', (seconds, code) => {
    expect(codeAt(SEED, stepAt(seconds * 1000))).toBe(code);
  });

  test('works for its step, the one before and the one after', () => {
    const nowMs = 1_111_111_111_000;
    const now = stepAt(nowMs);
    for (const off of [-1, 0, 1]) expect(stepOf(SEED, codeAt(SEED, now + off), nowMs)).toBe(now + off);
    for (const off of [-2, 2]) expect(stepOf(SEED, codeAt(SEED, now + off), nowMs)).toBe(null);
    expect(stepOf(SEED, '', nowMs)).toBe(null);
  });
});

test('seeds are random and have 160 bits', () => {
  const seeds = Array.from({ length: 50 }, newSeed);
  expect(new Set(seeds).size).toBe(50);
  for (const seed of seeds) expect(seed).toMatch(/^[A-Z2-7]{32}$/);
});

test('the address for apps names the account', () => {
  expect(otpauthUrl(SEED, 'ann@example.com')).toBe(
    `otpauth://totp/Posthorn%3Aann%40example.com?secret=${SEED}&issuer=Posthorn&digits=6&period=30`,
  );
});
