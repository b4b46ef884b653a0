import type { Static } from 'typebox';
import { ensureSubscription } from '../../control/subscription-changes.ts';
import type { Actor } from '../../domain/audit.ts';
import { type EndpointScope, inScope, requireEventTypes } from '../../domain/endpoint-scope.ts';
import { AppError, invalid } from '../../domain/errors.ts';
import type { EndpointId } from '../../domain/ids.ts';
import type { ProjectRouting } from '../../routing/project-routing.ts';
import type { ProjectRow } from '../../store/config/projects.ts';
import type { ApiContext } from '../http/context.ts';
import type { CreateEvent } from './event-schema.ts';
import type { WantedTarget } from './wanted-target.ts';

type Input = Static<typeof CreateEvent>;

/**
 * An endpoint by id, or every endpoint with an app_id. Each that has no subscription gets one.
 */
export async function directTarget(
  context: ApiContext,
  by: { project: ProjectRow; scope: EndpointScope | undefined; actor: Actor },
  body: Input,
): Promise<WantedTarget> {
  const routing = await context.cache.get(by.project.id);
  const endpointIds = endpointsOf(routing, by.scope, body);
  // The created subscription gets every event type.
  const unsubscribed = endpointIds.filter((id) => !routing.hasSubscription(id));
  if (unsubscribed.length > 0) requireEventTypes(by.scope, ['*']);
  const known = { kind: 'endpoints', endpointIds } as const;
  return {
    known,
    changes: unsubscribed.map((endpoint_id) => ({
      resource: 'subscription',
      action: 'create',
      endpoint_id,
      url: routing.endpoints.get(endpoint_id)?.row.url ?? '',
    })),
    make: async () => {
      const author = { projectId: by.project.id, actor: by.actor };
      for (const id of endpointIds) await ensureSubscription(context.changes, author, id);
      return known;
    },
  };
}

function endpointsOf(
  { endpoints }: ProjectRouting,
  scope: EndpointScope | undefined,
  body: Input,
): EndpointId[] {
  if (body.endpoint_id) {
    const endpoint = inScope(scope, body.endpoint_id) ? endpoints.get(body.endpoint_id) : undefined;
    if (endpoint === undefined) throw missing('endpoint_id', 'endpoint', body.endpoint_id);
    return [endpoint.row.id];
  }
  if (!body.app_id) throw invalid('endpoint_id', 'is required');
  const ids = [...endpoints.values()]
    .filter(({ row }) => row.app_id === body.app_id || row.id === body.app_id)
    .map(({ row }) => row.id)
    .filter((id) => inScope(scope, id));
  if (ids.length === 0) throw missing('app_id', 'endpoint of app', body.app_id);
  return ids;
}

const missing = (field: string, resource: string, id: string): AppError =>
  new AppError('not_in_project', { field, resource, id });
