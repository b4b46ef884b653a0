import type { Static } from 'typebox';
import { deliveryKinds, endpointStatuses } from '../../domain/config/endpoint.ts';
import { signingAlgorithms } from '../../domain/config/endpoint-authentication.ts';
import { idTime } from '../../domain/ids.ts';
import { oneOf, RequiredText, Text, Type } from '../../platform/type.ts';
import { standardWebhooksSecret } from '../../signing/secrets.ts';
import type { EndpointHealth, EndpointRow } from '../../store/config/endpoints.ts';
import { updatedAt } from '../../store/database/row-times.ts';
import { iso, isoOrNull, Key, NullableTime, Time } from '../http/fields.ts';

const Secret = Type.Object({
  uid: Type.String(),
  value: Type.String(),
  expires_at: NullableTime,
  created_at: Time,
  updated_at: Time,
  deleted_at: NullableTime,
});

const ApiKeyAuth = Type.Object({
  header_name: RequiredText(256, 'Header with the key.'),
  header_value: RequiredText(8192),
});
const BasicAuth = Type.Object({ username: RequiredText(1024), password: Text(1024) });
export const OAuth2 = Type.Object(
  {
    url: RequiredText(2048, 'The token server.'),
    client_id: RequiredText(1024),
    authentication_type: oneOf(['shared_secret', 'client_assertion']),
    client_secret: Type.Optional(Text(8192, 'Needed for shared_secret.')),
    grant_type: Type.Optional(Text(256, 'client_credentials by default.')),
    scope: Type.Optional(Text(4096)),
    audience: Type.Optional(Text(2048)),
    signing_key: Type.Optional(
      Type.Unsafe<Record<string, unknown>>({
        type: 'object',
        description: 'A private key as JWK, EC or RSA. Needed for client_assertion.',
      }),
    ),
    signing_algorithm: Type.Optional(oneOf([...signingAlgorithms, ''], 'ES256 by default.')),
    issuer: Type.Optional(Text(1024, 'client_id by default.')),
    subject: Type.Optional(Text(1024, 'client_id by default.')),
    field_mapping: Type.Optional(
      Type.Object(
        {
          access_token: Type.Optional(Text(128)),
          token_type: Type.Optional(Text(128)),
          expires_in: Type.Optional(Text(128)),
        },
        { description: 'Other names of the fields of the token response.' },
      ),
    ),
    expiry_time_unit: Type.Optional(
      oneOf(['seconds', 'milliseconds', 'minutes', 'hours', ''], 'Unit of expires_in; seconds by default.'),
    ),
  },
  { description: 'Client credentials with a secret or with an assertion signed by a key.' },
);

export const Authentication = Type.Object({
  type: Type.Optional(oneOf(['api_key', 'basic_auth', 'oauth2', ''])),
  api_key: Type.Optional(ApiKeyAuth),
  basic_auth: Type.Optional(BasicAuth),
  oauth2: Type.Optional(OAuth2),
});

const ClientCertificate = Type.Object({
  client_cert: Text(65_536, 'PEM.'),
  client_key: Text(65_536, 'PEM; `***` keeps the stored key.'),
});

const NullableNumber = Type.Union([Type.Number(), Type.Null()]);

export const Endpoint = Type.Object({
  uid: Type.String(),
  project_id: Type.String(),
  owner_id: Type.String(),
  name: Type.String(),
  description: Type.String(),
  url: Type.String(),
  status: oneOf(endpointStatuses),
  secrets: Type.Array(Secret),
  standard_webhooks_secret: Type.String({
    description: 'The newest secret in the form of Standard Webhooks libraries.',
  }),
  advanced_signatures: Type.Boolean(),
  authentication: Type.Union([Authentication, Type.Null()]),
  mtls_client_cert: Type.Optional(ClientCertificate),
  signing_key: Type.Union([Type.Object({ type: Type.String(), public_key: Type.String() }), Type.Null()]),
  content_type: Type.String(),
  http_timeout: Type.Integer({ description: 'Seconds for the whole exchange; 0 = 10.' }),
  rate_limit: Type.Integer({ description: 'Sends per rate_limit_duration; 0 = no limit.' }),
  rate_limit_duration: Type.Integer({ description: 'Seconds.' }),
  support_email: Type.String(),
  delivery: oneOf(deliveryKinds, 'push: the url is called; pull: a consumer fetches the deliveries.'),
  key: Type.String(),
  slack_webhook_url: Type.String(),
  teams_webhook_url: Type.String(),
  events: Type.Integer({ description: 'Deliveries created so far.' }),
  failure_rate: Type.Integer({ description: 'Percentage of failed attempts in the observed window.' }),
  cb_state: Type.String({ description: 'State of the circuit breaker: closed, half-open or open.' }),
  period_failure_rate: NullableNumber,
  success_count: NullableNumber,
  failure_count: NullableNumber,
  retry_count: NullableNumber,
  created_at: Time,
  updated_at: Time,
  deleted_at: NullableTime,
});

const optionalFields = {
  description: Type.Optional(Text(10_000)),
  owner_id: Type.Optional(Text(256)),
  advanced_signatures: Type.Optional(Type.Boolean({ description: 'Sign with timestamps; true by default.' })),
  authentication: Type.Optional(Authentication),
  mtls_client_cert: Type.Optional(
    Type.Partial(ClientCertificate, {
      description: 'Client certificate for endpoints that require one; both parts empty removes it.',
    }),
  ),
  signing_key: Type.Optional(
    Type.Object(
      { type: Type.Optional(oneOf(['ed25519', ''])) },
      {
        description: 'ed25519 creates a key pair that adds a signature; an empty or absent type removes it.',
      },
    ),
  ),
  content_type: Type.Optional(oneOf(['application/json', 'application/x-www-form-urlencoded', ''])),
  http_timeout: Type.Optional(Type.Integer({ minimum: 0, maximum: 120 })),
  rate_limit: Type.Optional(Type.Integer({ minimum: 0, maximum: 1_000_000 })),
  rate_limit_duration: Type.Optional(Type.Integer({ minimum: 0, maximum: 86_400 })),
  support_email: Type.Optional(Type.String({ maxLength: 320, pattern: '^$|^[^@\\s]+@[^@\\s]+$' })),
  delivery: Type.Optional(
    oneOf(
      [...deliveryKinds, ''],
      'push (default): the url is called; pull: a consumer fetches the deliveries, and url is optional.',
    ),
  ),
  key: Type.Optional(Key),
  slack_webhook_url: Type.Optional(Text(2048)),
  teams_webhook_url: Type.Optional(Text(2048)),
  is_disabled: Type.Optional(
    Type.Boolean({
      description: 'true makes the endpoint inactive; false changes nothing. Use activate to activate it.',
    }),
  ),
  secret: Type.Optional(
    Type.String({
      maxLength: 1024,
      description:
        'The signing secret; generated if absent. An update replaces all secrets at once. Use expire_secret to keep the old one signing for a while.',
    }),
  ),
};

export const CreateEndpoint = Type.Object({
  name: RequiredText(256),
  url: Type.Optional(Text(2048, 'Required unless delivery is pull.')),
  app_id: Type.Optional(Text(256)),
  ...optionalFields,
});

export const UpdateEndpoint = Type.Object({
  name: Type.Optional(RequiredText(256)),
  url: Type.Optional(Text(2048)),
  ...optionalFields,
});

export const ExpireSecret = Type.Object({
  expiration: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: 31_536_000,
      description: 'Seconds until the old secret stops signing; 0 = at once.',
    }),
  ),
  secret: Type.Optional(
    Type.String({ maxLength: 1024, description: 'The new secret; generated if absent.' }),
  ),
});

export function toEndpoint(row: EndpointRow, health?: EndpointHealth): Static<typeof Endpoint> {
  const secret = row.secret.reveal();
  const { secrets, authentication, mtls_client_cert, signing_key } = secret;
  return {
    uid: row.id,
    project_id: row.project_id,
    owner_id: row.owner_id,
    name: row.name,
    description: row.description,
    url: row.url,
    status: row.status,
    secrets,
    standard_webhooks_secret: standardWebhooksSecret(secrets.at(-1)?.value ?? ''),
    advanced_signatures: row.advanced_signatures,
    authentication: authentication as Static<typeof Authentication> | null,
    ...(mtls_client_cert !== null && { mtls_client_cert }),
    signing_key: signing_key === null ? null : { type: 'ed25519', public_key: signing_key.public_key },
    content_type: row.content_type,
    http_timeout: row.http_timeout,
    rate_limit: row.rate_limit,
    rate_limit_duration: row.rate_limit_duration,
    support_email: row.support_email,
    delivery: row.delivery === 'push' ? 'push' : 'pull',
    key: row.key,
    slack_webhook_url: secret.slack_webhook_url,
    teams_webhook_url: secret.teams_webhook_url,
    events: health?.deliveries ?? 0,
    failure_rate: failureRate(health),
    cb_state: health?.breaker ?? 'closed',
    period_failure_rate: null,
    success_count: null,
    failure_count: null,
    retry_count: null,
    created_at: iso(idTime(row.id)),
    updated_at: updatedAt(row),
    deleted_at: isoOrNull(row.deleted_at),
  };
}

function failureRate(health: EndpointHealth | undefined): number {
  const attempts = (health?.successes ?? 0) + (health?.failures ?? 0);
  return attempts === 0 ? 0 : Math.round((100 * (health?.failures ?? 0)) / attempts);
}
