import { createHash } from 'node:crypto';
import type { ProjectKey } from '../domain/config/project-key.ts';
import { generateEd25519 } from './signing-secrets.ts';

/** One key of a JSON Web Key Set (RFC 7517, RFC 8037). */
export interface PublicJwk {
  kty: 'OKP';
  crv: 'Ed25519';
  x: string;
  kid: string;
  use: 'sig';
  alg: 'EdDSA';
}

export function newProjectKey(createdAt: string): ProjectKey {
  const { privateKeyPem, publicKey } = generateEd25519();
  const kid = thumbprint(coordinate(publicKey));
  return { kid, private_key: privateKeyPem, public_key: publicKey, created_at: createdAt, expires_at: null };
}

export function publicJwk({ kid, public_key }: Pick<ProjectKey, 'kid' | 'public_key'>): PublicJwk {
  return { kty: 'OKP', crv: 'Ed25519', x: coordinate(public_key), kid, use: 'sig', alg: 'EdDSA' };
}

const coordinate = (publicKey: string): string =>
  Buffer.from(publicKey.slice('whpk_'.length), 'base64').toString('base64url');

/** The members in the order of their names, and nothing else: RFC 7638. */
const thumbprint = (x: string): string =>
  createHash('sha256')
    .update(JSON.stringify({ crv: 'Ed25519', kty: 'OKP', x }))
    .digest('base64url');
