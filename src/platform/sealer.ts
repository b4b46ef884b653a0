import { createCipheriv, createDecipheriv, createHmac, hkdfSync, randomBytes } from 'node:crypto';

/**
 * Keeps secrets unreadable in the database. Two keys are derived from the instance's secret key: one seals
 * (AES-256-GCM, a fresh nonce each time, the place it belongs to as associated data, so that a sealed value
 * cannot be moved to another row), one makes the lookup hashes of API keys and portal tokens.
 */
const FORMAT = 1;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

export class Sealer {
  readonly #sealKey: Buffer;
  readonly #hashKey: Buffer;

  constructor(secretKey: Buffer) {
    this.#sealKey = Buffer.from(hkdfSync('sha256', secretKey, '', 'posthorn seal', 32));
    this.#hashKey = Buffer.from(hkdfSync('sha256', secretKey, '', 'posthorn lookup', 32));
  }

  seal(text: string, place: string): Buffer {
    const nonce = randomBytes(NONCE_BYTES);
    const cipher = createCipheriv('aes-256-gcm', this.#sealKey, nonce);
    cipher.setAAD(Buffer.from(place));
    const sealed = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
    return Buffer.concat([Buffer.of(FORMAT), nonce, cipher.getAuthTag(), sealed]);
  }

  open(sealed: Buffer, place: string): string {
    if (sealed[0] !== FORMAT) throw new Error(`sealed value of unknown format ${sealed[0]} at ${place}`);
    const nonce = sealed.subarray(1, 1 + NONCE_BYTES);
    const decipher = createDecipheriv('aes-256-gcm', this.#sealKey, nonce);
    decipher.setAAD(Buffer.from(place));
    decipher.setAuthTag(sealed.subarray(1 + NONCE_BYTES, 1 + NONCE_BYTES + TAG_BYTES));
    const text = decipher.update(sealed.subarray(1 + NONCE_BYTES + TAG_BYTES), undefined, 'utf8');
    return text + decipher.final('utf8');
  }

  /** The hash by which a long random credential is found again. A keyed hash: the table alone proves nothing. */
  lookupHash(credential: string): Buffer {
    return createHmac('sha256', this.#hashKey).update(credential).digest();
  }
}
