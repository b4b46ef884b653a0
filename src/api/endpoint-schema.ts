import { type Static, Type } from 'typebox';
import { endpointStatuses } from '../domain/endpoint.ts';
import { idTime } from '../domain/ids.ts';
import { standardWebhooksSecret } from '../signing/secrets.ts';
import type { EndpointHealth, EndpointRow } from '../store/endpoints.ts';
import { iso, isoOrNull, NullableTime, oneOf, RequiredText, Text, Time } from './fields.ts';

const Secret = Type.Object({
  uid: Type.String(),
  value: Type.String(),
  expires_at: NullableTime,
  created_at: Time,
  updated_at: Time,
  deleted_at: NullableTime,
});

const ApiKeyAuth = Type.Object({
  header_name: RequiredText(256, 'Header that carries the key.'),
  header_value: RequiredText(8192),
});
const BasicAuth = Type.Object({ username: RequiredText(1024), password: Text(1024) });
const OAuth2 = Type.Object(
  { url: RequiredText(2048), client_id: RequiredText(1024) },
  {
    additionalProperties: true,
    description: 'Client credentials (`client_secret`) or a JWT assertion (`signing_key`).',
  },
);

const Authentication = Type.Object({
  type: Type.Optional(oneOf(['api_key', 'basic_auth', 'oauth2', ''])),
  api_key: Type.Optional(ApiKeyAuth),
  basic_auth: Type.Optional(BasicAuth),
  oauth2: Type.Optional(OAuth2),
});

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
    description: 'The newest secret as stock Standard Webhooks libraries take it.',
  }),
  advanced_signatures: Type.Boolean(),
  authentication: Type.Union([Authentication, Type.Null()]),
  content_type: Type.String(),
  http_timeout: Type.Integer({ description: 'Seconds for the whole exchange; 0 = 10.' }),
  rate_limit: Type.Integer({ description: 'Sends per rate_limit_duration; 0 = no limit.' }),
  rate_limit_duration: Type.Integer({ description: 'Seconds.' }),
  support_email: Type.String(),
  slack_webhook_url: Type.String(),
  teams_webhook_url: Type.String(),
  events: Type.Integer({ description: 'Deliveries made so far.' }),
  failure_rate: Type.Integer({ description: 'Percent of attempts that failed in the observed window.' }),
  created_at: Time,
  updated_at: Time,
  deleted_at: NullableTime,
});

const optionalFields = {
  description: Type.Optional(Text(10_000)),
  owner_id: Type.Optional(Text(256)),
  advanced_signatures: Type.Optional(Type.Boolean({ description: 'Sign with timestamps; true by default.' })),
  authentication: Type.Optional(Authentication),
  content_type: Type.Optional(oneOf(['application/json', 'application/x-www-form-urlencoded', ''])),
  http_timeout: Type.Optional(Type.Integer({ minimum: 0, maximum: 120 })),
  rate_limit: Type.Optional(Type.Integer({ minimum: 0, maximum: 1_000_000 })),
  rate_limit_duration: Type.Optional(Type.Integer({ minimum: 0, maximum: 86_400 })),
  support_email: Type.Optional(Type.String({ maxLength: 320, pattern: '^$|^[^@\\s]+@[^@\\s]+$' })),
  slack_webhook_url: Type.Optional(Text(2048)),
  teams_webhook_url: Type.Optional(Text(2048)),
  is_disabled: Type.Optional(Type.Boolean({ description: 'Taken for compatibility; use pause.' })),
  secret: Type.Optional(
    Type.String({ maxLength: 1024, description: 'The signing secret; made for you if absent.' }),
  ),
};

export const CreateEndpoint = Type.Object({
  name: RequiredText(256),
  url: RequiredText(2048),
  app_id: Type.Optional(Text(256)),
  ...optionalFields,
});

export const UpdateEndpoint = Type.Object({
  name: RequiredText(256),
  url: RequiredText(2048),
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
    Type.String({ maxLength: 1024, description: 'The new secret; made for you if absent.' }),
  ),
});

export function toEndpoint(row: EndpointRow, health?: EndpointHealth): Static<typeof Endpoint> {
  const { secrets, authentication } = row.secret;
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
    content_type: row.content_type,
    http_timeout: row.http_timeout,
    rate_limit: row.rate_limit,
    rate_limit_duration: row.rate_limit_duration,
    support_email: row.support_email,
    slack_webhook_url: row.slack_webhook_url,
    teams_webhook_url: row.teams_webhook_url,
    events: health?.deliveries ?? 0,
    failure_rate: failureRate(health),
    created_at: iso(idTime(row.id)),
    updated_at: iso(row.updated_at),
    deleted_at: isoOrNull(row.deleted_at),
  };
}

function failureRate(health: EndpointHealth | undefined): number {
  const attempts = (health?.successes ?? 0) + (health?.failures ?? 0);
  return attempts === 0 ? 0 : Math.round((100 * (health?.failures ?? 0)) / attempts);
}
