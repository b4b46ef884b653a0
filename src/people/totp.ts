import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';

/** Time-based one-time passwords, RFC 6238: SHA-1, six digits, steps of 30 s, as every authenticator app has them. */
const STEP_SECONDS = 30;
const DIGITS = 6;
const SEED_BYTES = 20;
/** Clocks differ: the codes of the step before and after are taken as well. */
const STEPS_OFF = 1;
const BASE32 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';

/** A new seed in base32. */
export function newSeed(): string {
  let text = '';
  let bits = 0;
  let value = 0;
  for (const byte of randomBytes(SEED_BYTES)) {
    value = (value << 8) | byte;
    bits += 8;
    for (; bits >= 5; bits -= 5) text += BASE32[(value >>> (bits - 5)) & 31];
    value &= (1 << bits) - 1;
  }
  return text;
}

export function codeAt(seed: string, step: number): string {
  const counter = Buffer.alloc(8);
  counter.writeBigUInt64BE(BigInt(step));
  const mac = createHmac('sha1', fromBase32(seed)).update(counter).digest();
  const offset = (mac.at(-1) as number) & 15;
  const number = mac.readUInt32BE(offset) & 0x7fff_ffff;
  return String(number % 10 ** DIGITS).padStart(DIGITS, '0');
}

export const stepAt = (ms: number): number => Math.floor(ms / 1000 / STEP_SECONDS);

/** The newest step of a code that is valid now. Null: none. */
export function stepOf(seed: string, code: string, nowMs: number): number | null {
  const now = stepAt(nowMs);
  for (let step = now + STEPS_OFF; step >= now - STEPS_OFF; step--)
    if (isSame(codeAt(seed, step), code)) return step;
  return null;
}

function isSame(expected: string, given: string): boolean {
  return given.length === expected.length && timingSafeEqual(Buffer.from(expected), Buffer.from(given));
}

function fromBase32(text: string): Buffer {
  const bytes: number[] = [];
  let bits = 0;
  let value = 0;
  for (const letter of text) {
    value = ((value << 5) | BASE32.indexOf(letter)) & 0xfff;
    bits += 5;
    if (bits < 8) continue;
    bits -= 8;
    bytes.push((value >>> bits) & 255);
  }
  return Buffer.from(bytes);
}

/** The address that authenticator apps read from a QR code. */
export function otpauthUrl(seed: string, email: string): string {
  const label = `Posthorn:${email}`;
  return `otpauth://totp/${encodeURIComponent(label)}?secret=${seed}&issuer=Posthorn&digits=${DIGITS}&period=${STEP_SECONDS}`;
}
