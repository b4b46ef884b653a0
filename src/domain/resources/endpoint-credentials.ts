import { credential, open } from '../../platform/json/schema-marks.ts';
import { oneOf, RequiredText, Text, Type } from '../../platform/type.ts';
import { brokerInput } from '../brokers/broker-schema.ts';
import { destinationKinds } from '../config/destination.ts';
import { signingAlgorithms } from '../config/endpoint-authentication.ts';

/** The credentials of an endpoint in requests, with their marks. They are stored sealed together. */
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
        Type.Unsafe<Record<string, unknown>>({
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

export const ClientCertificate = Type.Object({
  client_cert: Text(65_536, 'Client certificate in PEM. Both parts empty: none.'),
  client_key: credential(Text(65_536, 'Its private key in PEM. `***` keeps the stored key.')),
});

export const perKind = <T>(make: (kind: (typeof destinationKinds)[number]) => T): Record<string, T> =>
  Object.fromEntries(destinationKinds.map((kind) => [kind, make(kind)]));

/** The broker that deliveries go to. Its settings are nested by kind, as those of sources are. */
export const BrokerInput = Type.Partial(
  Type.Object({
    type: open(oneOf([...destinationKinds, ''])),
    ...perKind((kind) => brokerInput(kind, 'destination')),
  }),
  { description: 'See [Destinations](brokers.md#destinations).' },
);

/** Anyone with the address of a channel can post there. */
const chat = (description: string) => credential(Text(2048, description));

export const endpointCredentials = Type.Partial(
  Type.Object({
    authentication: Authentication,
    mtls_client_cert: Type.Partial(ClientCertificate),
    signing_key: Type.Partial(
      Type.Object({
        type: oneOf(
          ['ed25519', ''],
          'Creates a key pair that adds a signature. Empty or absent: removes it.',
        ),
      }),
    ),
    slack_webhook_url: chat('Gets the [alerts](alerts.md) of the endpoint in Slack.'),
    teams_webhook_url: chat('Gets the [alerts](alerts.md) of the endpoint in Teams.'),
    headers: credential(
      Type.Record(Type.String(), Text(8192), {
        description:
          'Headers of every delivery, at most 32. Stored sealed. They replace those of the event, and none of ours.',
      }),
    ),
    broker: BrokerInput,
    secret: credential(
      Text(
        1024,
        'Signs deliveries. Default: random. An update replaces all secrets at once. Use expire_secret to keep the old one signing for a while.',
      ),
    ),
  }),
).properties;
