import { hkdfSync } from 'node:crypto';

/** Distinguishes secret keys without revealing anything about them. */
export function keyFingerprint(secretKey: Buffer): string {
  return Buffer.from(hkdfSync('sha256', secretKey, '', 'posthorn fingerprint', 8)).toString('hex');
}
