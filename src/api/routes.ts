import type { FastifyInstance } from 'fastify';
import { BodyRoom } from '../ingest/body-room.ts';
import { registerIngest } from '../ingest/routes.ts';
import { SourceFinder } from '../ingest/source-finder.ts';
import type { Metrics } from '../platform/metrics.ts';
import type { Tracer } from '../platform/tracer.ts';
import { registerApiKeys } from './api-keys.ts';
import { registerAudit } from './audit.ts';
import type { Authenticator } from './auth.ts';
import type { ApiContext } from './context.ts';
import { registerDashboard } from './dashboard.ts';
import { registerEndpointChecks } from './endpoint-checks.ts';
import { registerEndpointTest } from './endpoint-test.ts';
import { registerEndpoints } from './endpoints.ts';
import { registerEventDeliveries } from './event-deliveries.ts';
import { registerEventTypes } from './event-types.ts';
import { registerEvents } from './events.ts';
import { registerExplainEvent } from './explain-event.ts';
import { registerFilters } from './filters.ts';
import { registerHealth } from './health.ts';
import { registerJobs } from './jobs.ts';
import { registerMetaEvents } from './meta-events.ts';
import { countRequests, registerMetrics } from './metrics.ts';
import { registerOnboard } from './onboard.ts';
import { registerPortal } from './portal.ts';
import { registerPortalLinks } from './portal-links.ts';
import { registerPreviewSubscription } from './preview-subscription.ts';
import { registerProjects } from './projects.ts';
import { registerReference } from './reference/routes.ts';
import { authenticated } from './server.ts';
import { registerSources } from './sources.ts';
import { registerSubscriptions } from './subscriptions.ts';
import { registerTestFunction } from './test-function.ts';
import { traceRequests } from './trace-requests.ts';

const resources = [
  registerProjects,
  registerApiKeys,
  registerEndpoints,
  registerSources,
  registerSubscriptions,
  registerPreviewSubscription,
  registerFilters,
  registerEventTypes,
  registerEvents,
  registerExplainEvent,
  registerEventDeliveries,
  registerEndpointTest,
  registerJobs,
  registerOnboard,
  registerEndpointChecks,
  registerDashboard,
  registerPortalLinks,
  registerPortal,
  registerMetaEvents,
  registerAudit,
  registerTestFunction,
];

/** Every route of the service. */
export async function registerRoutes(
  app: FastifyInstance,
  deps: {
    context: ApiContext;
    authenticator: Authenticator;
    roles: readonly string[];
    isReady(): Promise<string | null>;
    metrics: Metrics;
    /** Null: nothing is traced. */
    tracer: Tracer | null;
    /** Null: not served. */
    metricsPage: Parameters<typeof registerMetrics>[1] | null;
  },
): Promise<void> {
  const { context, roles } = deps;
  countRequests(app, deps.metrics);
  if (deps.tracer !== null) traceRequests(app, deps.tracer);
  registerHealth(app, deps.isReady);
  if (deps.metricsPage !== null) registerMetrics(app, deps.metricsPage);
  const bodies = new BodyRoom();
  if (roles.includes('ingest'))
    await registerIngest(app, { ...context, finder: new SourceFinder(context), bodies });
  if (!roles.includes('api')) return;
  registerReference(app);
  await authenticated(app, { authenticator: deps.authenticator, bodies }, (scope) => {
    for (const register of resources) register(scope, context);
  });
}
