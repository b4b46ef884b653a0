import type { Static, TObject } from 'typebox';
import type { EndpointSecret, EndpointSecrets } from '../../domain/endpoint.ts';
import type { ProjectConfig } from '../../domain/project-config.ts';
import { Secret } from '../../platform/secret.ts';
import { generateSecret } from '../../signing/secrets.ts';
import type { EndpointFields } from '../../store/config/endpoints.ts';
import { checkUrl } from '../http/check-url.ts';
import type { ApiContext } from '../http/context.ts';
import { invalid, iso } from '../http/fields.ts';
import { updated } from '../http/updated.ts';
import { changedCredentials } from './endpoint-credentials.ts';
import { CreateEndpoint, UpdateEndpoint } from './endpoint-schema.ts';

type Input = Static<typeof CreateEndpoint> | Static<typeof UpdateEndpoint>;

const JSON_TYPE = 'application/json';

export function newEndpointFields(input: Static<typeof CreateEndpoint>, id: string): EndpointFields {
  const fields = endpointFields(
    {
      name: '',
      url: '',
      description: '',
      owner_id: '',
      app_id: '',
      status: 'active',
      advanced_signatures: true,
      content_type: '',
      http_timeout: 0,
      rate_limit: 0,
      rate_limit_duration: 0,
      support_email: '',
    },
    CreateEndpoint,
    input,
  );
  return { ...fields, app_id: fields.app_id || id };
}

/** The fields of an endpoint, new or stored, after a request. */
function endpointFields(known: EndpointFields, schema: TObject, input: Input): EndpointFields {
  const fields = updated(known, schema, input);
  return {
    ...fields,
    content_type: fields.content_type || JSON_TYPE,
    // Clients that know the field send false with every change, so false cannot mean more than nothing.
    status: input.is_disabled === true ? 'inactive' : known.status,
  };
}

export function changedEndpointFields(
  row: EndpointFields,
  input: Static<typeof UpdateEndpoint>,
): EndpointFields {
  return endpointFields(row, UpdateEndpoint, input);
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
  if (input.url !== undefined) {
    checkUrl(context, 'url', input.url);
    if (config.ssl.enforce_secure_endpoints && !input.url.toLowerCase().startsWith('https:'))
      throw invalid('url', 'must start with https:// in this project');
  }
  for (const field of ['slack_webhook_url', 'teams_webhook_url'] as const) {
    const url = input[field];
    if (url?.includes('\0') === true) throw invalid(field, 'holds a zero character');
    if (url !== undefined && url !== '') checkUrl(context, field, url);
  }
}
