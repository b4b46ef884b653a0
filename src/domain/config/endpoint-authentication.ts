import type { webcrypto } from 'node:crypto';
import type { Static } from 'typebox';
import { credential, open } from '../../platform/json/schema-marks.ts';
import { type Chosen, oneOf, RequiredText, Text, Type } from '../../platform/type.ts';

/** How we authenticate to an endpoint. */
/** A private key as JSON (RFC 7517), EC or RSA. */
export type PrivateJwk = webcrypto.JsonWebKey & { readonly kid?: string };

const signingAlgorithms = [
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

const ApiKeyAuth = Type.Object({
  header_name: open(RequiredText(256, 'Header of each delivery.')),
  header_value: credential(RequiredText(8192, 'Value of that header.')),
});
const BasicAuth = Type.Object({
  username: RequiredText(1024, 'User name.'),
  password: credential(Text(1024, 'Password.')),
});
export const OAuth2 = Type.Object(
  {
    url: open(RequiredText(2048, 'URL of the token server.')),
    client_id: RequiredText(1024, 'Client id.'),
    authentication_type: open(
      oneOf(
        ['shared_secret', 'client_assertion'],
        'The client authenticates by a secret or by a signed assertion.',
      ),
    ),
    client_secret: Type.Optional(credential(Text(8192, 'Needed for `shared_secret`.'))),
    grant_type: Type.Optional(Text(256, 'Requested grant. Default: `client_credentials`.')),
    scope: Type.Optional(Text(4096, 'Requested scope.')),
    audience: Type.Optional(Text(2048, 'Requested audience.')),
    signing_key: Type.Optional(
      credential(
        Type.Unsafe<PrivateJwk>({
          type: 'object',
          description:
            'Private key as JWK: `kty`, `crv`, `x`, `y`, `d` of EC, or `kty`, `n`, `e`, `d`, `p`, `q`, `dp`, `dq`, `qi` of RSA. Needed for `client_assertion`.',
        }),
      ),
    ),
    signing_algorithm: Type.Optional(
      oneOf([...signingAlgorithms, ''], 'Algorithm of the assertion. Default: `ES256`.'),
    ),
    issuer: Type.Optional(Text(1024, 'Issuer of the assertion. Default: `client_id`.')),
    subject: Type.Optional(Text(1024, 'Subject of the assertion. Default: `client_id`.')),
    field_mapping: Type.Optional(
      Type.Partial(
        Type.Object({
          access_token: Text(128, 'Name of this field in the token response.'),
          token_type: Text(128, 'Name of the field with the type of the token.'),
          expires_in: Text(128, 'Name of the field with its lifetime.'),
        }),
      ),
    ),
    expiry_time_unit: Type.Optional(
      oneOf(['seconds', 'milliseconds', 'minutes', 'hours', ''], 'Unit of `expires_in`. Default: `seconds`.'),
    ),
  },
  { description: 'Client credentials with a secret or with an assertion signed by a key.' },
);

export const Authentication = Type.Partial(
  Type.Object({
    type: open(oneOf(['api_key', 'basic_auth', 'oauth2', ''], 'The authentication method.')),
    api_key: ApiKeyAuth,
    basic_auth: BasicAuth,
    oauth2: OAuth2,
  }),
);

type Given<T> = { readonly [Name in keyof T]: Exclude<T[Name], ''> };
/** As it is stored: without empty texts. */
export type OAuth2Config = Given<Static<typeof OAuth2>>;

export type EndpointAuthentication = Chosen<{
  api_key: Static<typeof ApiKeyAuth>;
  basic_auth: Static<typeof BasicAuth>;
  oauth2: OAuth2Config;
}>;
