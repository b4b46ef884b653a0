import type { Static } from 'typebox';
import { changesTypes, ensureDynamicTarget } from '../../control/dynamic-target.ts';
import type { Actor } from '../../domain/audit.ts';
import { invalid } from '../../domain/errors.ts';
import type { EventTarget } from '../../routing/project-routing.ts';
import type { ProjectRow } from '../../store/config/projects.ts';
import { checkHttpUrl } from '../http/check-url.ts';
import type { ApiContext } from '../http/context.ts';
import type { DynamicEvent } from './event-schema.ts';

type Input = Static<typeof DynamicEvent>;

/**
 * Where a dynamic event goes: to the endpoint with exactly its URL, through that endpoint's oldest subscription and
 * past its filter. A missing endpoint or subscription is made (control/dynamic-target.ts).
 * If the egress rule or the project's settings forbid the URL, nothing is made. `verify_dynamic_events` says whether
 * such an event is refused or stored as failed. The returned function makes what is missing, after all else about the call
 * is checked.
 */
export async function dynamicTarget(
  context: ApiContext,
  by: { project: ProjectRow; actor: Actor },
  body: Input,
): Promise<() => Promise<EventTarget>> {
  const { project } = by;
  const { config } = project;
  checkHttpUrl('url', body.url);
  const known = await context.endpoints.findByUrl(context.db, project.id, body.url);
  const verdict = context.checkUrl(body.url);
  const problem = verdict.allowed
    ? urlProblem(project, { url: body.url, isKnown: known !== undefined })
    : verdict.reason;
  if (problem !== null) {
    if (config.verify_dynamic_events) throw invalid('url', problem);
    const what = verdict.allowed ? `the URL ${problem}` : problem;
    return async () => ({ kind: 'url', url: body.url, reason: `Not sent to ${body.url}: ${what}.` });
  }
  const wanted = { url: body.url, secret: body.secret, eventTypes: body.event_types ?? [] };
  const routing = await context.cache.get(project.id);
  const subscription = known === undefined ? undefined : routing.oldestSubscription(known.id);
  return async () => {
    if (subscription !== undefined && !changesTypes(subscription.row, wanted))
      return { kind: 'subscription', subscriptionId: subscription.row.id };
    const place = { projectId: project.id, actor: by.actor };
    const subscriptionId = await ensureDynamicTarget(context.changes, place, wanted);
    return { kind: 'subscription', subscriptionId };
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
