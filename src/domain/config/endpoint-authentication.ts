import type { webcrypto } from 'node:crypto';

/** How we authenticate to an endpoint. */
export type EndpointAuthentication =
  | { type: 'api_key'; api_key: { header_name: string; header_value: string } }
  | { type: 'basic_auth'; basic_auth: { username: string; password: string } }
  | { type: 'oauth2'; oauth2: OAuth2Config };

export interface OAuth2Config {
  readonly url: string;
  readonly client_id: string;
  readonly authentication_type: 'shared_secret' | 'client_assertion';
  readonly client_secret?: string;
  readonly grant_type?: string;
  readonly scope?: string;
  readonly audience?: string;
  readonly signing_key?: PrivateJwk;
  readonly signing_algorithm?: SigningAlgorithm;
  readonly issuer?: string;
  readonly subject?: string;
  /** Other names of the fields of the response. */
  readonly field_mapping?: { access_token?: string; token_type?: string; expires_in?: string };
  readonly expiry_time_unit?: 'seconds' | 'milliseconds' | 'minutes' | 'hours';
}

export const signingAlgorithms = [
  'ES256',
  'ES384',
  'ES512',
  'RS256',
  'RS384',
  'RS512',
  'PS256',
  'PS384',
  'PS512',
] as const;
type SigningAlgorithm = (typeof signingAlgorithms)[number];

/** A private key as JSON (RFC 7517), EC or RSA. */
export type PrivateJwk = webcrypto.JsonWebKey & { readonly kid?: string };
