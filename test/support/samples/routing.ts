import type { Breaker } from '../../../src/domain/config/circuit-breaker.ts';
import type { EndpointSecrets } from '../../../src/domain/config/endpoint.ts';
import { defaultProjectConfig, type ProjectConfig } from '../../../src/domain/config/project-config.ts';
import { noConditions } from '../../../src/domain/config/subscription.ts';
import { asId, type ProjectId } from '../../../src/domain/ids.ts';
import { endpointFields } from '../../../src/domain/resources/endpoint-fields.ts';
import { usualValues } from '../../../src/domain/resources/fields.ts';
import { Secret } from '../../../src/platform/secret.ts';
import { ProjectRouting, routeEndpoint } from '../../../src/routing/project-routing.ts';
import { routeSubscription } from '../../../src/routing/routed-subscription.ts';
import type { EndpointRow } from '../../../src/store/config/endpoints.ts';
import type { ProjectRow } from '../../../src/store/config/projects.ts';
import type { SubscriptionRow } from '../../../src/store/config/subscriptions.ts';

/** Compiled config of a project `p` for unit tests: its endpoint `e` and its subscription `s`, changed as asked. */
export interface RoutingFields {
  config?: Partial<ProjectConfig>;
  /** Null: the project has none. */
  endpoint?: Partial<EndpointRow> | null;
  secrets?: Partial<EndpointSecrets>;
  subscription?: Partial<SubscriptionRow>;
  breaker?: Breaker;
  cell_state?: ProjectRow['cell_state'];
}

const CREATED = '2026-01-01T00:00:00.000Z';
const saved = { project_id: asId<ProjectId>('p'), version: 1, updated_at: 0, deleted_at: null };

export function routingOf(fields: RoutingFields = {}): ProjectRouting {
  const config = { ...defaultProjectConfig('v', CREATED), ...fields.config };
  const project: ProjectRow = {
    id: asId('p'),
    name: 'p',
    type: 'outgoing',
    logo_url: '',
    config,
    secret: new Secret({ meta_event: 'meta secret' }),
    keys: new Secret([]),
    keysMark: '',
    variables: new Secret({}),
    cell_state: fields.cell_state ?? null,
    ...saved,
  };
  const { endpoint, breaker } = fields;
  const row = endpointRow(endpoint ?? {}, fields.secrets);
  return new ProjectRouting(project, {
    endpoints: new Map(endpoint === null ? [] : [['e', routeEndpoint(row, config)]]),
    subscriptions: new Map([['s', routeSubscription(subscriptionRow(fields.subscription), config)]]),
    sources: new Map(),
    breakers: new Map(breaker === undefined ? [] : [['e', breaker]]),
    alerts: new Map(),
  });
}

function endpointRow(fields: Partial<EndpointRow>, secrets: Partial<EndpointSecrets> = {}): EndpointRow {
  const secret = {
    uid: 'secret',
    value: 'endpoint secret',
    expires_at: null,
    created_at: CREATED,
    updated_at: CREATED,
    deleted_at: null,
  };
  return {
    ...saved,
    ...usualValues(endpointFields),
    id: asId('e'),
    name: 'e',
    url: 'http://127.0.0.1:1/hook',
    advanced_signatures: false,
    secret: new Secret({
      secrets: [secret],
      authentication: null,
      mtls_client_cert: null,
      signing_key: null,
      slack_webhook_url: '',
      teams_webhook_url: '',
      ...secrets,
    }),
    ...fields,
  };
}

function subscriptionRow(fields: Partial<SubscriptionRow> = {}): SubscriptionRow {
  return {
    ...saved,
    id: asId('s'),
    name: 's',
    type: 'outgoing',
    status: 'active',
    endpoint_id: asId('e'),
    source_id: '',
    event_types: ['*'],
    filter: noConditions(),
    filters: [{ uid: 'f', event_type: '*', enabled_at: CREATED, own: {} }],
    function: '',
    is_portal_function: false,
    delivery_mode: 'at_least_once',
    alert_config: null,
    rate_limit_config: null,
    retry_config: null,
    ordering: null,
    batch: null,
    ttl_seconds: 0,
    key: '',
    ...fields,
  };
}

/** The config of one project as a cache holds it. Undefined: not read yet. Null: the project is deleted. */
export class OneProject {
  current: ProjectRouting | undefined | null;
  loads = 0;

  constructor(current: ProjectRouting | undefined | null) {
    this.current = current;
  }

  peek(): ProjectRouting | undefined {
    return this.current ?? undefined;
  }

  isGone(): boolean {
    return this.current === null;
  }

  async load(): Promise<boolean> {
    this.loads += 1;
    return true;
  }

  async getOrNull(): Promise<ProjectRouting | null> {
    return this.current ?? null;
  }
}
