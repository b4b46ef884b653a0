import type { Static } from 'typebox';
import { changesTypes, ensureDynamicTarget } from '../../control/dynamic-target.ts';
import { ensureSubscription } from '../../control/subscription-changes.ts';
import type { Actor } from '../../domain/audit.ts';
import { type EndpointScope, inScope, requireEventTypes } from '../../domain/endpoint-scope.ts';
import { AppError, invalid } from '../../domain/errors.ts';
import type { EndpointId } from '../../domain/ids.ts';
import { oneOf, Type } from '../../platform/type.ts';
import type { EventTarget, ProjectRouting } from '../../routing/project-routing.ts';
import type { ProjectRow } from '../../store/config/projects.ts';
import type { SubscriptionRow } from '../../store/config/subscriptions.ts';
import { ConsentAsks } from '../endpoints/ask-consent.ts';
import { checkHttpUrl } from '../http/check-settings.ts';
import type { ApiContext, ChangeContext } from '../http/context.ts';
import type { CreateEvent, DynamicEvent } from './event-schema.ts';

/** A change of config that an event makes, so that it has an endpoint and a subscription to go to. */
export const TargetChange = Type.Object({
  resource: oneOf(['endpoint', 'subscription'] as const),
  action: oneOf(['create', 'update'] as const),
  endpoint_id: Type.String({ description: 'Empty for an endpoint that would be created.' }),
  url: Type.String(),
});

/** Where an event goes. A change is made after all else about the call is checked. */
export interface WantedTarget {
  make(): Promise<EventTarget>;
  /** As the config is now. Null: there is nothing yet. */
  known: EventTarget | null;
  changes: readonly Static<typeof TargetChange>[];
}

/** A target that needs no change. */
export const fixedTarget = (target: EventTarget): WantedTarget => ({
  make: async () => target,
  known: target,
  changes: [],
});

/**
 * An endpoint by id, or every endpoint with an app_id. Each that has no subscription gets one.
 */
export async function directTarget(
  context: ChangeContext,
  by: { project: ProjectRow; scope: EndpointScope | undefined; actor: Actor },
  body: Static<typeof CreateEvent>,
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
  body: Static<typeof CreateEvent>,
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

/**
 * Where a dynamic event goes: to the endpoint with exactly its URL, through that endpoint's oldest subscription and
 * past its filter. A missing endpoint or subscription is made (control/dynamic-target.ts).
 * If the egress rule or the project's settings forbid the URL, nothing is made. `verify_dynamic_events` says whether
 * such an event is refused or stored as failed.
 */
export async function dynamicTarget(
  context: ApiContext,
  by: { project: ProjectRow; actor: Actor; asks?: ConsentAsks },
  body: Static<typeof DynamicEvent>,
): Promise<WantedTarget> {
  const { project, asks = new ConsentAsks(1) } = by;
  const { config } = project;
  checkHttpUrl('url', body.url);
  const known = await context.endpoints.findByUrl(context.db, project.id, body.url);
  const verdict = context.checkUrl(body.url);
  const problem = verdict.allowed
    ? urlProblem(project, { url: body.url, isKnown: known !== undefined })
    : verdict.reason;
  const refused = (what: string, why: string) => {
    if (config.verify_dynamic_events) throw invalid('url', why);
    return { kind: 'url', url: body.url, reason: `Not sent to ${body.url}: ${what}.` } as const;
  };
  if (problem !== null)
    return fixedTarget(refused(verdict.allowed ? `the URL ${problem}` : problem, problem));
  const wanted = { url: body.url, secret: body.secret, eventTypes: body.event_types ?? [] };
  const routing = await context.cache.get(project.id);
  const subscription = known === undefined ? undefined : routing.oldestSubscription(known.id);
  const found = subscription && ({ kind: 'subscription', subscriptionId: subscription.row.id } as const);
  if (found !== undefined && !changesTypes(subscription?.row as SubscriptionRow, wanted))
    return fixedTarget(found);
  const at = { endpoint_id: known?.id ?? '', url: body.url };
  return {
    known: found ?? null,
    changes: [
      ...(known === undefined ? [{ resource: 'endpoint', action: 'create', ...at } as const] : []),
      { resource: 'subscription', action: found === undefined ? 'create' : 'update', ...at },
    ],
    make: async () => {
      const consent = known === undefined ? await asks.ask(context, config, body.url) : null;
      if (consent === undefined)
        throw invalid('url', 'is one of too many new URLs to ask for their consent; send it in another call');
      if (consent?.isGiven === false) return refused(`the URL ${consent.problem}`, consent.problem);
      const place = { projectId: project.id, actor: by.actor };
      const perMinute = consent?.perMinute ?? null;
      const subscriptionId = await ensureDynamicTarget(context.changes, place, { ...wanted, perMinute });
      return { kind: 'subscription', subscriptionId };
    },
  };
}

function urlProblem(
  { config }: ProjectRow,
  { url, isKnown }: { url: string; isKnown: boolean },
): string | null {
  if (config.ssl.enforce_secure_endpoints && !url.toLowerCase().startsWith('https:'))
    return 'must start with https:// in this project';
  if (!isKnown && !config.allow_unmatched_dynamic_urls)
    return 'belongs to no endpoint of this project, and the project does not allow new ones';
  return null;
}
