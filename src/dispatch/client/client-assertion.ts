import { randomUUID } from 'node:crypto';
import type { PrivateJwk } from '../../domain/config/endpoint-authentication.ts';

/** A signed JWT that authenticates a client to a token server (RFC 7523). */

export interface AssertionClaims {
  readonly issuer: string;
  readonly subject: string;
  readonly audience: string;
}

export type AssertionResult = { kind: 'assertion'; jwt: string } | { kind: 'invalid_key'; message: string };

const LIFETIME = '300s';
/** jose knows more, such as HMAC, which no token server may ask of us. */
const ALGORITHM = /^(ES|RS|PS)(256|384|512)$/;

export async function clientAssertion(
  jwk: PrivateJwk,
  algorithm: string,
  claims: AssertionClaims,
): Promise<AssertionResult> {
  const invalid = (message: string): AssertionResult => ({ kind: 'invalid_key', message });
  if (!ALGORITHM.test(algorithm)) return invalid('the signing algorithm is not one we know');
  if (jwk.d === undefined) return invalid('the signing key is not a private key in JWK form');
  // Loaded here: few endpoints have such credentials.
  const { importJWK, SignJWT } = await import('jose');
  const jwt = new SignJWT()
    .setProtectedHeader({ alg: algorithm, typ: 'JWT', ...(typeof jwk.kid === 'string' && { kid: jwk.kid }) })
    .setIssuer(claims.issuer)
    .setSubject(claims.subject)
    .setAudience(claims.audience)
    .setIssuedAt()
    .setExpirationTime(LIFETIME)
    .setJti(randomUUID());
  try {
    return { kind: 'assertion', jwt: await jwt.sign(await importJWK(jwk, algorithm)) };
  } catch {
    // A key of another kind, curve or with less than 2048 bits. The message of the error may quote the key.
    return invalid(`the signing key cannot be used with ${algorithm}`);
  }
}
