import { constants, createPrivateKey, type KeyObject, randomUUID, sign, type webcrypto } from 'node:crypto';

/** A signed JWT that authenticates a client to a token server (RFC 7523). */

export type SigningAlgorithm =
  | 'ES256'
  | 'ES384'
  | 'ES512'
  | 'RS256'
  | 'RS384'
  | 'RS512'
  | 'PS256'
  | 'PS384'
  | 'PS512';

/** A private key as JSON (RFC 7517), EC or RSA. */
export type PrivateJwk = webcrypto.JsonWebKey & { readonly kid?: string };

export interface AssertionClaims {
  readonly issuer: string;
  readonly subject: string;
  readonly audience: string;
  readonly nowMs: number;
}

export type AssertionResult = { kind: 'assertion'; jwt: string } | { kind: 'invalid_key'; message: string };

const LIFETIME_SECONDS = 300;
const CURVES: Record<string, string> = { ES256: 'prime256v1', ES384: 'secp384r1', ES512: 'secp521r1' };
const ALGORITHM = /^(ES|RS|PS)(256|384|512)$/;

export function clientAssertion(
  jwk: PrivateJwk,
  algorithm: string,
  claims: AssertionClaims,
): AssertionResult {
  if (!ALGORITHM.test(algorithm))
    return { kind: 'invalid_key', message: 'the signing algorithm is not one we know' };
  let key: KeyObject;
  try {
    key = createPrivateKey({ key: jwk, format: 'jwk' });
  } catch {
    return { kind: 'invalid_key', message: 'the signing key is not a private key in JWK form' };
  }
  if (!fits(key, algorithm))
    return { kind: 'invalid_key', message: `the signing key cannot be used with ${algorithm}` };
  const issuedAt = Math.floor(claims.nowMs / 1_000);
  const header = { alg: algorithm, typ: 'JWT', ...(typeof jwk.kid === 'string' && { kid: jwk.kid }) };
  const payload = {
    iss: claims.issuer,
    sub: claims.subject,
    aud: claims.audience,
    iat: issuedAt,
    exp: issuedAt + LIFETIME_SECONDS,
    jti: randomUUID(),
  };
  const signed = `${base64url(header)}.${base64url(payload)}`;
  const signature = sign(`sha${algorithm.slice(2)}`, Buffer.from(signed), signOptions(key, algorithm));
  return { kind: 'assertion', jwt: `${signed}.${signature.toString('base64url')}` };
}

function fits(key: KeyObject, algorithm: string): boolean {
  const { asymmetricKeyType, asymmetricKeyDetails } = key;
  if (algorithm.startsWith('ES'))
    return asymmetricKeyType === 'ec' && asymmetricKeyDetails?.namedCurve === CURVES[algorithm];
  // Below 2048 bits RFC 7518 forbids it, and PS512 does not fit.
  return asymmetricKeyType === 'rsa' && (asymmetricKeyDetails?.modulusLength ?? 0) >= 2_048;
}

function signOptions(key: KeyObject, algorithm: string): Parameters<typeof sign>[2] {
  switch (algorithm.slice(0, 2)) {
    case 'ES':
      return { key, dsaEncoding: 'ieee-p1363' };
    case 'PS':
      return {
        key,
        padding: constants.RSA_PKCS1_PSS_PADDING,
        saltLength: constants.RSA_PSS_SALTLEN_DIGEST,
      };
    default:
      return { key, padding: constants.RSA_PKCS1_PADDING };
  }
}

function base64url(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url');
}
