import type { FastifyInstance } from 'fastify';
import { staticToken } from '../../control/portal-link-changes.ts';
import { CONFIG_VERSION_HEADER } from '../../domain/audit.ts';
import { found } from '../../domain/errors.ts';
import { Type } from '../../platform/type.ts';
import { VERSION } from '../../platform/version.ts';
import { portalLinks } from '../../store/config/portal-links.ts';
import { getConfigVersion } from '../../store/config/projects.ts';
import { endpointView } from '../endpoints/endpoint-view.ts';
import type { ReadContext } from '../http/context.ts';
import { operationsOf } from '../http/operation.ts';
import { PortalLink, toPortalLink } from './portal-link-schema.ts';

const path = '/portal-api';
const route = operationsOf('Portal');

const Flags = Type.Record(Type.String(), Type.Union([Type.Boolean(), Type.String()]));

const configuration = {
  version: VERSION,
  is_signup_enabled: false,
  is_analytics_enabled: false,
};

/** There is one edition with all features. */
const features = Object.fromEntries(
  [
    'portal_links',
    'webhook_transformations',
    'endpoint_management',
    'circuit_breaking',
    'event_search',
    'mutual_tls',
    'oauth2_endpoint_auth',
    'retention_policy',
  ].map((name) => [name, true] as const),
);

/** Operations for the portal's own pages. All others under /portal-api are operations open to portals. */
export function registerPortal(app: FastifyInstance, context: ReadContext): void {
  route.get(app, `${path}/portal_link`, {
    id: 'getOwnPortalLink',
    summary: 'Get the portal link of the caller. No new token is created.',
    message: 'Portal link fetched',
    data: PortalLink,
    access: 'viewer',
    portal: 'read',
    handle: async ({ project, caller, scope }, _request, reply) => {
      reply.header(CONFIG_VERSION_HEADER, (await getConfigVersion(context.db, project.id)) ?? 0);
      const id = caller.kind === 'portal' ? caller.linkId : '';
      const row = found(await portalLinks.get(context.db, project.id, id), 'portal link', id);
      const owners = await context.endpoints.byOwners(context.db, project.id, [scope?.ownerId ?? '']);
      const endpoints = owners.get(row.owner_id) ?? [];
      const showEndpoint = await endpointView(
        context,
        project.id,
        endpoints.map(({ id: endpointId }) => endpointId),
      );
      const link = toPortalLink(row, {
        endpoints: endpoints.map(showEndpoint),
        // The static token of the caller. A link of the other type does not accept its static token.
        token: row.auth_type === 'static_token' ? staticToken(context, row) : '',
        authKey: '',
        publicUrl: context.publicUrl(),
      });
      // The page offers only what the project allows too.
      return { ...link, can_use_brokers: row.can_use_brokers && project.config.portal_brokers };
    },
  });
  for (const [suffix, id] of [
    ['configuration', 'getPortalConfiguration'],
    ['configuration/auth', 'getPortalAuthConfiguration'],
  ] as const) {
    route.get(app, `${path}/${suffix}`, {
      id,
      summary: 'Get the settings that the pages of this service need.',
      message: 'Configuration fetched',
      data: Flags,
      access: 'viewer',
      portal: 'read',
      handle: async ({ project, scope }) => ({
        ...configuration,
        can_manage_endpoint: scope?.canManage ?? true,
        disable_endpoint: project.config.disable_endpoint,
        disables_failing: project.config.disable_endpoint || project.config.disable_after !== '',
      }),
    });
  }
  route.get(app, `${path}/license/features`, {
    id: 'getLicenseFeatures',
    summary: 'List the features of this edition. It has all of them.',
    message: 'Features fetched',
    data: Flags,
    access: 'viewer',
    portal: 'read',
    handle: async ({ scope }) => ({ ...features, manage_endpoints: scope?.canManage ?? true }),
  });
}
