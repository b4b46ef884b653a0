import { generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto';

/**
 * Certificates with dates relative to now, which the files in `certificates` cannot have. A minimal X.509 in
 * DER: version 3, ECDSA with SHA-256, names for localhost.
 */
export interface Issued {
  cert: string;
  key: string;
}

const tlv = (tag: number, ...parts: Buffer[]): Buffer => {
  const body = Buffer.concat(parts);
  const { length } = body;
  const size = length < 128 ? [length] : length < 256 ? [0x81, length] : [0x82, length >> 8, length & 255];
  return Buffer.concat([Buffer.from([tag, ...size]), body]);
};
const sequence = (...parts: Buffer[]) => tlv(0x30, ...parts);
const oid = (hex: string) => tlv(0x06, Buffer.from(hex, 'hex'));
const octets = (part: Buffer) => tlv(0x04, part);
const bits = (part: Buffer) => tlv(0x03, Buffer.from([0]), part);
const ECDSA_SHA256 = sequence(oid('2a8648ce3d040302'));
const name = (common: string) => sequence(tlv(0x31, sequence(oid('550403'), tlv(0x0c, Buffer.from(common)))));
const time = (ms: number) =>
  tlv(0x18, Buffer.from(new Date(ms).toISOString().replaceAll(/[-:T]|\.\d+/g, '')));
const extension = (id: string, value: Buffer) => sequence(oid(id), octets(value));
const ALT_NAMES = extension(
  '551d11',
  sequence(tlv(0x82, Buffer.from('localhost')), tlv(0x87, Buffer.from([127, 0, 0, 1]))),
);
const IS_AUTHORITY = extension('551d13', sequence(tlv(0x01, Buffer.from([0xff]))));

/** An authority and its certificates. */
export class TestAuthority {
  readonly #name = 'Authority of a test';
  readonly #keys = generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
  readonly pem: string;

  constructor() {
    const dates = { from: Date.now() - 86_400_000, to: Date.now() + 86_400_000_000 };
    this.pem = this.#issue({
      common: this.#name,
      key: this.#keys.publicKey,
      extension: IS_AUTHORITY,
      ...dates,
    });
  }

  /** Valid since yesterday, for this many days more. */
  issue(common: string, days: number): Issued {
    const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
    const dates = { from: Date.now() - 86_400_000, to: Date.now() + days * 86_400_000 };
    return {
      cert: this.#issue({ common, key: publicKey, extension: ALT_NAMES, ...dates }),
      key: privateKey.export({ type: 'pkcs8', format: 'pem' }),
    };
  }

  #issue(wanted: { common: string; key: KeyObject; extension: Buffer; from: number; to: number }): string {
    const body = sequence(
      tlv(0xa0, tlv(0x02, Buffer.from([2]))),
      tlv(0x02, Buffer.from([1]), randomBytes(15)),
      ECDSA_SHA256,
      name(this.#name),
      sequence(time(wanted.from), time(wanted.to)),
      name(wanted.common),
      wanted.key.export({ type: 'spki', format: 'der' }),
      tlv(0xa3, sequence(wanted.extension)),
    );
    const signature = sign('sha256', body, this.#keys.privateKey);
    const der = sequence(body, ECDSA_SHA256, bits(signature));
    const lines = der.toString('base64').match(/.{1,64}/g) ?? [];
    return `-----BEGIN CERTIFICATE-----\n${lines.join('\n')}\n-----END CERTIFICATE-----\n`;
  }
}
