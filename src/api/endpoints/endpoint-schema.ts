import type { Static } from 'typebox';
import { shownStatuses, statusAt } from '../../domain/config/endpoint.ts';
import { signingAlgorithms } from '../../domain/config/endpoint-authentication.ts';
import { idTime } from '../../domain/ids.ts';
import { endpointFields } from '../../domain/resources/endpoint-fields.ts';
import { createInputs, outputs, shownValues, updateInputs } from '../../domain/resources/fields.ts';
import { oneOf, RequiredText, Text, Type } from '../../platform/type.ts';
import { standardWebhooksSecret } from '../../signing/signing-secrets.ts';
import type { EndpointRow } from '../../store/config/endpoints.ts';
import type { EndpointCounts } from '../../store/counts/read-counts.ts';
import { updatedAt } from '../../store/database/row-times.ts';
import { iso, isoOrNull, NullableTime, Time } from '../http/fields.ts';
import { Broker, BrokerInput, toBroker } from './broker-of-endpoint.ts';
import { MAX_HEADER_BYTES } from './endpoint-headers.ts';

const Secret = Type.Object({
  uid: Type.String(),
  value: Type.String(),
  expires_at: NullableTime,
  created_at: Time,
  updated_at: Time,
  deleted_at: NullableTime,
});

const ApiKeyAuth = Type.Object({
  header_name: RequiredText(256, 'Header of each delivery.'),
  header_value: RequiredText(8192, 'Value of that header.'),
});
const BasicAuth = Type.Object({
  username: RequiredText(1024, 'User name.'),
  password: Text(1024, 'Password.'),
});
export const OAuth2 = Type.Object(
  {
    url: RequiredText(2048, 'URL of the token server.'),
    client_id: RequiredText(1024, 'Client id.'),
    authentication_type: oneOf(
      ['shared_secret', 'client_assertion'],
      'The client authenticates by a secret or by a signed assertion.',
    ),
    client_secret: Type.Optional(Text(8192, 'Needed for `shared_secret`.')),
    grant_type: Type.Optional(Text(256, 'Requested grant. Default: `client_credentials`.')),
    scope: Type.Optional(Text(4096, 'Requested scope.')),
    audience: Type.Optional(Text(2048, 'Requested audience.')),
    signing_key: Type.Optional(
      Type.Unsafe<Record<string, unknown>>({
        type: 'object',
        description:
          'Private key as JWK: `kty`, `crv`, `x`, `y`, `d` of EC, or `kty`, `n`, `e`, `d`, `p`, `q`, `dp`, `dq`, `qi` of RSA. Needed for `client_assertion`.',
      }),
    ),
    signing_algorithm: Type.Optional(
      oneOf([...signingAlgorithms, ''], 'Algorithm of the assertion. Default: `ES256`.'),
    ),
    issuer: Type.Optional(Text(1024, 'Issuer of the assertion. Default: `client_id`.')),
    subject: Type.Optional(Text(1024, 'Subject of the assertion. Default: `client_id`.')),
    field_mapping: Type.Optional(
      Type.Object({
        access_token: Type.Optional(Text(128, 'Name of this field in the token response.')),
        token_type: Type.Optional(Text(128, 'Name of the field with the type of the token.')),
        expires_in: Type.Optional(Text(128, 'Name of the field with its lifetime.')),
      }),
    ),
    expiry_time_unit: Type.Optional(
      oneOf(['seconds', 'milliseconds', 'minutes', 'hours', ''], 'Unit of `expires_in`. Default: `seconds`.'),
    ),
  },
  { description: 'Client credentials with a secret or with an assertion signed by a key.' },
);

export const Authentication = Type.Object({
  type: Type.Optional(oneOf(['api_key', 'basic_auth', 'oauth2', ''], 'The authentication method.')),
  api_key: Type.Optional(ApiKeyAuth),
  basic_auth: Type.Optional(BasicAuth),
  oauth2: Type.Optional(OAuth2),
});

const ClientCertificate = Type.Object({
  client_cert: Text(65_536, 'Client certificate in PEM. Both parts empty: none.'),
  client_key: Text(65_536, 'Its private key in PEM. `***` keeps the stored key.'),
});

/** Stored sealed. Only who may see the secrets of the endpoint sees it (portal-view.ts, viewer-view.ts). */
const SealedText = Type.String({ format: 'password' });

const NullableNumber = Type.Union([Type.Number(), Type.Null()]);

export const Endpoint = Type.Object({
  uid: Type.String(),
  project_id: Type.String(),
  ...outputs(endpointFields),
  status: oneOf(shownStatuses, endpointFields.status.facts.text),
  expires_at: endpointFields.expires_at.output,
  secrets: Type.Array(Secret),
  standard_webhooks_secret: Type.String({
    description: 'The newest secret in the form of Standard Webhooks libraries.',
  }),
  authentication: Type.Union([Authentication, Type.Null()]),
  mtls_client_cert: Type.Optional(ClientCertificate),
  signing_key: Type.Union([Type.Object({ type: Type.String(), public_key: Type.String() }), Type.Null()]),
  slack_webhook_url: Type.String(),
  teams_webhook_url: Type.String(),
  headers: Type.Record(Type.String(), SealedText),
  broker: Type.Union([Broker, Type.Null()]),
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

const credentials = {
  authentication: Type.Optional(Authentication),
  mtls_client_cert: Type.Optional(Type.Partial(ClientCertificate)),
  signing_key: Type.Optional(
    Type.Object({
      type: Type.Optional(
        oneOf(['ed25519', ''], 'Creates a key pair that adds a signature. Empty or absent: removes it.'),
      ),
    }),
  ),
  slack_webhook_url: Type.Optional(Text(2048, 'Gets the [alerts](alerts.md) of the endpoint in Slack.')),
  teams_webhook_url: Type.Optional(Text(2048, 'Gets the [alerts](alerts.md) of the endpoint in Teams.')),
  headers: Type.Optional(
    Type.Record(Type.String(), Text(MAX_HEADER_BYTES), {
      description:
        'Headers of every delivery, at most 32. Stored sealed. They replace those of the event, and none of ours.',
    }),
  ),
  broker: Type.Optional(BrokerInput),
  is_disabled: Type.Optional(
    Type.Boolean({
      description:
        'True makes the endpoint inactive: its deliveries are discarded. False changes nothing. Use activate to activate it.',
    }),
  ),
  secret: Type.Optional(
    Text(
      1024,
      'Signs deliveries. Default: random. An update replaces all secrets at once. Use expire_secret to keep the old one signing for a while.',
    ),
  ),
};

export const CreateEndpoint = Type.Object({ ...createInputs(endpointFields), ...credentials });
export const UpdateEndpoint = Type.Object({ ...updateInputs(endpointFields), ...credentials });

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

/** The state of the breaker is closed by default. */
type EndpointHealth = EndpointCounts & { breaker?: string };

export function toEndpoint(
  row: EndpointRow,
  nowMs: number,
  health?: EndpointHealth,
): Static<typeof Endpoint> {
  const secret = row.secret.reveal();
  const { secrets, authentication, mtls_client_cert, signing_key } = secret;
  return {
    uid: row.id,
    project_id: row.project_id,
    ...shownValues(endpointFields, row),
    status: statusAt(row, nowMs),
    expires_at: isoOrNull(row.expires_at),
    delivery: row.delivery === 'device' ? 'pull' : row.delivery,
    secrets,
    standard_webhooks_secret: standardWebhooksSecret(secrets.at(-1)?.value ?? ''),
    authentication: authentication as Static<typeof Authentication> | null,
    ...(mtls_client_cert !== null && { mtls_client_cert }),
    signing_key: signing_key === null ? null : { type: 'ed25519', public_key: signing_key.public_key },
    slack_webhook_url: secret.slack_webhook_url,
    teams_webhook_url: secret.teams_webhook_url,
    headers: { ...secret.headers },
    broker: toBroker(secret.broker ?? null),
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
