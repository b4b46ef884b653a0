import { hkdfSync } from 'node:crypto';

/** Tells secret keys apart without giving anything of them away. */
export function keyFingerprint(secretKey: Buffer): string {
  return Buffer.from(hkdfSync('sha256', secretKey, '', 'posthorn fingerprint', 8)).toString('hex');
}
