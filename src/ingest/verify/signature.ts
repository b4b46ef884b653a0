/**
 * Keyed digests and their comparison. Digests are compared as text in their canonical encoding, because a
 * lenient decoder would accept several texts for one digest. No comparison stops at the first difference.
 */
import { createHmac, createSecretKey, type KeyObject, randomBytes, timingSafeEqual } from 'node:crypto';
import { digestName, type SignatureHash } from '../../domain/config/signature-hash.ts';
import type { SignatureEncoding } from '../../domain/config/source.ts';

export interface Signer {
  /** The digest of the concatenated parts, so that a body need not be copied after its prefix. */
  sign(...parts: readonly (string | Buffer)[]): string;
  matches(given: string, ...parts: readonly (string | Buffer)[]): boolean;
}

/** The key must not be empty. The caller refuses an empty one. */
export function compileSigner(
  hash: SignatureHash,
  encoding: SignatureEncoding,
  secret: string | Buffer,
): Signer {
  const algorithm = digestName(hash);
  const key = createSecretKey(typeof secret === 'string' ? Buffer.from(secret, 'utf8') : secret);
  const sign = (...parts: readonly (string | Buffer)[]) => digest(algorithm, key, parts).toString(encoding);
  const matches = (given: string, ...parts: readonly (string | Buffer)[]) =>
    sameText(sign(...parts), encoding === 'hex' ? given.toLowerCase() : given);
  return { sign, matches };
}

function digest(algorithm: string, key: KeyObject, parts: readonly (string | Buffer)[]): Buffer {
  const hmac = createHmac(algorithm, key);
  for (const part of parts) hmac.update(part);
  return hmac.digest();
}

/** For texts whose length is no secret, as with digests. */
export function sameText(expected: string, given: string): boolean {
  const expectedBytes = Buffer.from(expected, 'utf8');
  const givenBytes = Buffer.from(given, 'utf8');
  return expectedBytes.length === givenBytes.length && timingSafeEqual(expectedBytes, givenBytes);
}

/**
 * Compares a header with a shared secret without revealing the secret's length: both sides are digested with
 * a random key. A secret outside ASCII arrives as UTF-8 bytes, which Node shows as latin1.
 */
export function compileSecretMatcher(secret: string): (given: string) => boolean {
  const key = createSecretKey(randomBytes(32));
  const expected = digest('sha256', key, [secret]);
  return (given) => {
    const bytes = Buffer.from(given, 'latin1');
    const received = bytes.toString('latin1') === given ? bytes : Buffer.from(given, 'utf8');
    return timingSafeEqual(expected, digest('sha256', key, [received]));
  };
}
