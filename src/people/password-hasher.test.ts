import { randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import { Sealer } from '../platform/sealer.ts';
import { PasswordHasher } from './password-hasher.ts';

const weak = { memory: 64, passes: 1, parallelism: 1 };
const sealer = new Sealer([randomBytes(32)]);
const hasher = new PasswordHasher(sealer, weak);

test('a password is verified by its hash, with the parameters of the hash', async () => {
  const hash = await hasher.hash('orchid lamp');
  expect(hash).toMatch(/^\$argon2id\$v=19\$m=64,t=1,p=1\$/);
  expect(await hasher.verify('orchid lamp', hash)).toBe(true);
  expect(await hasher.verify('orchid lamq', hash)).toBe(false);
  const stronger = new PasswordHasher(sealer, { ...weak, passes: 2 });
  expect(await stronger.verify('orchid lamp', hash)).toBe(true);
  expect([stronger.isWeak(hash), hasher.isWeak(hash)]).toEqual([true, false]);
});

test('two hashes of one password differ, and the code points of a letter do not matter', async () => {
  const [one, two] = [await hasher.hash('caf\u00e9'), await hasher.hash('caf\u00e9')];
  expect(one).not.toBe(two);
  expect(await hasher.verify('cafe\u0301', one)).toBe(true);
});

test('a hash is worth nothing without the key of the instance', async () => {
  const other = new PasswordHasher(new Sealer([randomBytes(32)]), weak);
  expect(await other.verify('orchid lamp', await hasher.hash('orchid lamp'))).toBe(false);
});

test('without a hash, and with a damaged one, no password is right', async () => {
  for (const stored of [null, '', '$argon2id$v=19$m=64,t=1,p=1$$', '$2b$10$abc'])
    expect(await hasher.verify('orchid lamp', stored)).toBe(false);
});

test('what waits is bounded', async () => {
  const results = await Promise.allSettled(Array.from({ length: 150 }, () => hasher.hash('orchid lamp')));
  const refused = results.filter(({ status }) => status === 'rejected');
  expect(refused.length).toBeGreaterThan(0);
  expect(refused.length).toBeLessThan(60);
});
