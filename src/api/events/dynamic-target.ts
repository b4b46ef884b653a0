import type { Static } from 'typebox';
import { changesTypes, ensureDynamicTarget } from '../../control/dynamic-target.ts';
import type { Actor } from '../../domain/audit.ts';
import { invalid } from '../../domain/errors.ts';
import type { ProjectRow } from '../../store/config/projects.ts';
import type { SubscriptionRow } from '../../store/config/subscriptions.ts';
import { ConsentAsks } from '../endpoints/ask-consent.ts';
import { checkHttpUrl } from '../http/check-url.ts';
import type { ApiContext } from '../http/context.ts';
import type { DynamicEvent } from './event-schema.ts';
import { fixedTarget, type WantedTarget } from './wanted-target.ts';

type Input = Static<typeof DynamicEvent>;

/**
 * Where a dynamic event goes: to the endpoint with exactly its URL, through that endpoint's oldest subscription and
 * past its filter. A missing endpoint or subscription is made (control/dynamic-target.ts).
 * If the egress rule or the project's settings forbid the URL, nothing is made. `verify_dynamic_events` says whether
 * such an event is refused or stored as failed.
 */
export async function dynamicTarget(
  context: ApiContext,
  by: { project: ProjectRow; actor: Actor; asks?: ConsentAsks },
  body: Input,
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
