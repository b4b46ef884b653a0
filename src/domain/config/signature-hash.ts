// The hash names of outgoing and incoming signatures, each with its name in node:crypto.
const digestNames = {
  MD5: 'md5',
  SHA1: 'sha1',
  SHA224: 'sha224',
  SHA256: 'sha256',
  SHA384: 'sha384',
  SHA512: 'sha512',
  SHA3_224: 'sha3-224',
  SHA3_256: 'sha3-256',
  SHA3_384: 'sha3-384',
  SHA3_512: 'sha3-512',
  SHA512_224: 'sha512-224',
  SHA512_256: 'sha512-256',
} as const;

export type SignatureHash = keyof typeof digestNames;

export const signatureHashes = Object.keys(digestNames) as readonly SignatureHash[];

export function isSignatureHash(name: string): name is SignatureHash {
  return Object.hasOwn(digestNames, name);
}

export function digestName(hash: SignatureHash): string {
  return digestNames[hash];
}
