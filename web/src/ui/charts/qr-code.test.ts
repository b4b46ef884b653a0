import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { qrCode } from './qr-code.ts';

const address = (more: number) => `otpauth://totp/Posthorn:zoë@example.com?secret=${'A'.repeat(more)}`;

// Codes of every length up to the longest were read back once with a reader of its own (jsQR 1.4.0). These are four of
// them: one block, an alignment pattern, the version in the code, and blocks of two lengths.
test.each([
  [0, 29, '35a2559c0291ff6b'],
  [80, 41, '9e390fee40abf309'],
  [200, 57, 'ccaf97c55701738d'],
  [700, 93, '70ff1eda8279467c'],
])('with %i more characters it is the code that a reader has read', (more, size, hash) => {
  const rows = qrCode(address(more)) ?? [];
  expect(rows.length).toBe(size);
  const text = rows.map((row) => row.map(Number).join('')).join('\n');
  expect(createHash('sha256').update(text).digest('hex').slice(0, 16)).toBe(hash);
});

test('a text that is too long has no code', () => {
  expect(qrCode('x'.repeat(858))?.length).toBe(97);
  expect(qrCode('x'.repeat(859))).toBe(null);
});
