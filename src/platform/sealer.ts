import { createCipheriv, createDecipheriv, createHmac, hkdfSync, randomBytes } from 'node:crypto';

/**
 * Encrypts secrets for the database with AES-256-GCM and a fresh nonce each time. The associated data is the
 * place of the value, so a sealed value cannot be moved to another row. The first key seals; every key opens.
 * A sealed value is
 *   2 (the format), key id (8 bytes), nonce (12), tag (16), text
 *
 * One more key makes the lookup hashes of API keys and portal tokens. What it hashed cannot be hashed again, so it
 * stays the same when the others change (src/start/secret-key.ts keeps it, sealed).
 */
const FORMAT = 2;
const KEY_ID_BYTES = 8;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** Ids are shown in hex, as PostgreSQL shows bytes. */
export const keyIdOf = (secretKey: Buffer): string =>
  derive(secretKey, 'posthorn key id', KEY_ID_BYTES).toString('hex');

export const lookupKeyOf = (secretKey: Buffer): Buffer => derive(secretKey, 'posthorn lookup', 32);

/** A value that cannot be opened: it is damaged, or this node lacks its key. */
export class SealError extends Error {
  override readonly name = 'SealError';
}

export class Sealer {
  /** The sealing key's id is first. */
  readonly keyIds: readonly string[];
  /** The first bytes of every value that is sealed now: format and key id. */
  readonly head: Buffer;
  readonly #keys: ReadonlyMap<string, Buffer>;
  readonly #lookupKey: Buffer;

  constructor(secretKeys: readonly [Buffer, ...Buffer[]], lookupKey = lookupKeyOf(secretKeys[0])) {
    this.#keys = new Map(secretKeys.map((key) => [keyIdOf(key), derive(key, 'posthorn seal', 32)]));
    this.keyIds = [...this.#keys.keys()];
    this.head = Buffer.concat([Buffer.of(FORMAT), Buffer.from(this.keyId, 'hex')]);
    this.#lookupKey = lookupKey;
  }

  /** The id of the key that seals. */
  get keyId(): string {
    return this.keyIds[0] as string;
  }

  seal(text: string, place: string): Buffer {
    const nonce = randomBytes(NONCE_BYTES);
    const cipher = createCipheriv('aes-256-gcm', this.#keys.get(this.keyId) as Buffer, nonce);
    cipher.setAAD(Buffer.from(place));
    const sealed = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
    return Buffer.concat([this.head, nonce, cipher.getAuthTag(), sealed]);
  }

  open(sealed: Buffer, place: string): string {
    const [format] = sealed;
    if (format !== FORMAT)
      throw new SealError(`the sealed value of ${place} has the unknown format ${format}`);
    const id = sealed.toString('hex', 1, 1 + KEY_ID_BYTES);
    const key = this.#keys.get(id);
    if (key === undefined)
      throw new SealError(`${place} is sealed with the secret key ${id}, which this node does not have`);
    const text = decipher(key, sealed.subarray(1 + KEY_ID_BYTES), place);
    if (text === null) throw new SealError(`the sealed value of ${place} is damaged or belongs elsewhere`);
    return text;
  }

  /** Whether sealing it again would change nothing but the nonce. */
  isCurrent(sealed: Buffer): boolean {
    return sealed.subarray(0, 1 + KEY_ID_BYTES).equals(this.head);
  }

  /** The hash by which a long random credential is found again. A keyed hash: the table alone proves nothing. */
  lookupHash(credential: string): Buffer {
    return createHmac('sha256', this.#lookupKey).update(credential).digest();
  }
}

/** Null if the key is wrong or a bit has changed. */
function decipher(key: Buffer, sealed: Buffer, place: string): string | null {
  if (sealed.length < NONCE_BYTES + TAG_BYTES) return null;
  const cipher = createDecipheriv('aes-256-gcm', key, sealed.subarray(0, NONCE_BYTES));
  cipher.setAAD(Buffer.from(place));
  cipher.setAuthTag(sealed.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES));
  const text = cipher.update(sealed.subarray(NONCE_BYTES + TAG_BYTES));
  try {
    return Buffer.concat([text, cipher.final()]).toString();
  } catch {
    return null;
  }
}

function derive(secretKey: Buffer, purpose: string, bytes: number): Buffer {
  return Buffer.from(hkdfSync('sha256', secretKey, '', purpose, bytes));
}

/** Distinguishes secret keys without revealing anything about them. */
export const keyFingerprint = (secretKey: Buffer): string =>
  derive(secretKey, 'posthorn fingerprint', 8).toString('hex');
