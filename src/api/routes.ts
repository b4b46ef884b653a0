import type { FastifyInstance } from 'fastify';
import { registerIngest } from '../ingest/routes.ts';
import { SourceFinder } from '../ingest/source/source-finder.ts';
import type { Metrics } from '../metrics/metrics.ts';
import type { Tracer } from '../tracing/tracer.ts';
import { registerOwnAccount } from './auth/own-account.ts';
import { registerOwnSecondFactor } from './auth/own-second-factor.ts';
import { registerProviderRoutes } from './auth/provider-routes.ts';
import { registerSignIn } from './auth/sign-in.ts';
import { registerEventDeliveries } from './deliveries/event-deliveries.ts';
import { registerFailureMutes } from './deliveries/failure-mutes.ts';
import { registerFailures } from './deliveries/failures.ts';
import { registerMetaEvents } from './deliveries/meta-events.ts';
import { registerDevices } from './devices/devices.ts';
import { registerListen } from './devices/listen.ts';
import { registerEndpointChecks } from './endpoints/endpoint-checks.ts';
import { registerEndpoints } from './endpoints/endpoints.ts';
import { registerOnboard } from './endpoints/onboard.ts';
import { registerPull } from './endpoints/pull.ts';
import { registerEventTypes } from './event-types/event-types.ts';
import { registerEvents } from './events/events.ts';
import { registerProjectHealth } from './health/project-health.ts';
import type { Authenticator } from './http/access/auth.ts';
import type { ApiContext } from './http/context.ts';
import { registerJobs } from './jobs/jobs.ts';
import { type Readiness, registerHealth } from './operator/health.ts';
import { countRequests, registerMetrics } from './operator/metrics.ts';
import { registerNodes } from './operator/nodes.ts';
import { registerInstanceSettings } from './operator/settings.ts';
import type { readBuiltPages } from './pages/built-pages.ts';
import { registerPages } from './pages/routes.ts';
import { registerPeople } from './people/people.ts';
import { registerPortal } from './portal/portal.ts';
import { registerPortalLinks } from './portal/portal-links.ts';
import { registerApiKeys } from './projects/api-keys.ts';
import { registerAudit } from './projects/audit.ts';
import { registerDashboard } from './projects/dashboard.ts';
import { registerProjects } from './projects/projects.ts';
import { registerKeySet, registerSigningKeys } from './projects/signing-keys.ts';
import { registerTimeSeries } from './projects/timeseries.ts';
import { registerReference } from './reference/routes.ts';
import { registerSearch } from './search/search.ts';
import { registerViews } from './search/views.ts';
import { traceRequests } from './server/trace-requests.ts';
import { authenticated } from './server.ts';
import { registerSources, registerTestConnection } from './sources/sources.ts';
import { registerStream } from './stream/stream.ts';
import { registerFilters } from './subscriptions/filters.ts';
import { registerNewEndpoint } from './subscriptions/new-endpoint.ts';
import { registerOrderingKeys } from './subscriptions/ordering-keys.ts';
import { registerSubscriptions } from './subscriptions/subscriptions.ts';
import { registerEndpointTest } from './trials/endpoint-test.ts';
import { registerExplainEvent } from './trials/explain-event.ts';
import { registerPreviewSubscription } from './trials/preview-subscription.ts';
import { registerReceiver } from './trials/receiver.ts';
import { registerTestFunction } from './trials/test-function.ts';
import { registerTryEndpoint } from './trials/try-endpoint.ts';

const resources = [
  registerProjects,
  registerApiKeys,
  registerSigningKeys,
  registerEndpoints,
  registerSources,
  registerTestConnection,
  registerNewEndpoint,
  registerSubscriptions,
  registerPreviewSubscription,
  registerFilters,
  registerEventTypes,
  registerEvents,
  registerExplainEvent,
  registerEventDeliveries,
  registerFailures,
  registerFailureMutes,
  registerOrderingKeys,
  registerEndpointTest,
  registerTryEndpoint,
  registerReceiver,
  registerJobs,
  registerOnboard,
  registerEndpointChecks,
  registerPull,
  registerDevices,
  registerDashboard,
  registerTimeSeries,
  registerProjectHealth,
  registerSearch,
  registerViews,
  registerNodes,
  registerInstanceSettings,
  registerPortalLinks,
  registerPortal,
  registerMetaEvents,
  registerAudit,
  registerTestFunction,
  registerOwnAccount,
  registerOwnSecondFactor,
  registerPeople,
];

/** Every route of the service. */
export async function registerRoutes(
  app: FastifyInstance,
  deps: {
    context: ApiContext;
    authenticator: Authenticator;
    pages(): ReturnType<typeof readBuiltPages>;
    roles: readonly string[];
    readiness(): Promise<Readiness>;
    metrics: Metrics;
    /** Null: tracing is off. */
    tracer: Tracer | null;
    /** Further routes of callers who are known, of rooms above this one. */
    more: readonly ((app: FastifyInstance, context: ApiContext) => void)[];
    /** Null: not served. */
    metricsPage: Parameters<typeof registerMetrics>[1] | null;
  },
): Promise<void> {
  app.decorate('sealer', deps.context.sealer);
  const { context, roles } = deps;
  countRequests(app, deps.metrics);
  if (deps.tracer !== null) traceRequests(app, deps.tracer);
  registerHealth(app, deps.readiness);
  if (deps.metricsPage !== null) registerMetrics(app, deps.metricsPage);
  if (roles.includes('ingest')) await registerIngest(app, { ...context, finder: new SourceFinder(context) });
  if (!roles.includes('api')) return;
  const built = deps.pages();
  registerReference(app, context, built);
  registerPages(app, context, built);
  await authenticated(app, deps.authenticator, (scope) => {
    for (const register of [...resources, ...deps.more]) register(scope, context);
    registerStream(scope, { ...context, authenticator: deps.authenticator });
    registerListen(scope, { ...context, authenticator: deps.authenticator });
  });
  registerKeySet(app, context);
  registerSignIn(app, context);
  registerProviderRoutes(app, context);
}
