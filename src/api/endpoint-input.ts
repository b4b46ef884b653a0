import type { Static } from 'typebox';
import type { EndpointSecret, EndpointSecrets } from '../domain/endpoint.ts';
import type { ProjectConfig } from '../domain/project-config.ts';
import { Secret } from '../platform/secret.ts';
import { generateSecret } from '../signing/secrets.ts';
import type { EndpointFields, EndpointRow } from '../store/endpoints.ts';
import { checkUrl } from './check-url.ts';
import type { ApiContext } from './context.ts';
import { changedCredentials } from './endpoint-credentials.ts';
import type { CreateEndpoint, UpdateEndpoint } from './endpoint-schema.ts';
import { invalid, iso } from './fields.ts';

type Input = Static<typeof CreateEndpoint> | Static<typeof UpdateEndpoint>;

const JSON_TYPE = 'application/json';

export function newEndpointFields(input: Static<typeof CreateEndpoint>, id: string): EndpointFields {
  return {
    name: input.name,
    url: input.url,
    description: input.description ?? '',
    owner_id: input.owner_id ?? '',
    app_id: input.app_id || id,
    status: input.is_disabled === true ? 'inactive' : 'active',
    advanced_signatures: input.advanced_signatures ?? true,
    content_type: input.content_type || JSON_TYPE,
    http_timeout: input.http_timeout ?? 0,
    rate_limit: input.rate_limit ?? 0,
    rate_limit_duration: input.rate_limit_duration ?? 0,
    support_email: input.support_email ?? '',
  };
}

/** Fields that stand in the request replace; description, limits and content type are cleared when absent. */
export function changedEndpointFields(
  row: EndpointRow,
  input: Static<typeof UpdateEndpoint>,
): EndpointFields {
  return {
    name: input.name,
    url: input.url,
    description: input.description ?? '',
    owner_id: input.owner_id || row.owner_id,
    app_id: row.app_id,
    // Clients that know the field send false with every change, so false cannot mean more than nothing.
    status: input.is_disabled === true ? 'inactive' : row.status,
    advanced_signatures: input.advanced_signatures ?? row.advanced_signatures,
    content_type: input.content_type || JSON_TYPE,
    http_timeout: input.http_timeout || row.http_timeout,
    rate_limit: input.rate_limit ?? row.rate_limit,
    rate_limit_duration: input.rate_limit_duration ?? 0,
    support_email: input.support_email ?? row.support_email,
  };
}

export function newSecret(
  context: Pick<ApiContext, 'ids' | 'now'>,
  value: string | undefined,
): EndpointSecret {
  const at = iso(context.now());
  return {
    uid: context.ids.next(),
    value: value || generateSecret(),
    expires_at: null,
    created_at: at,
    updated_at: at,
    deleted_at: null,
  };
}

export function newEndpointSecrets(
  context: ApiContext,
  input: Static<typeof CreateEndpoint>,
): Secret<EndpointSecrets> {
  const none = {
    secrets: [],
    authentication: null,
    mtls_client_cert: null,
    signing_key: null,
    slack_webhook_url: '',
    teams_webhook_url: '',
  };
  return new Secret({
    ...changedCredentials(context, none, input),
    secrets: [newSecret(context, input.secret)],
  });
}

/** Rules a schema cannot say. */
export function checkEndpoint(context: ApiContext, config: ProjectConfig, input: Input): void {
  checkUrl(context, 'url', input.url);
  if (config.ssl.enforce_secure_endpoints && !input.url.toLowerCase().startsWith('https:')) {
    throw invalid('url', 'must start with https:// in this project');
  }
  for (const field of ['slack_webhook_url', 'teams_webhook_url'] as const) {
    const url = input[field];
    if (url?.includes('\0') === true) throw invalid(field, 'holds a zero character');
    if (url !== undefined && url !== '') checkUrl(context, field, url);
  }
}
