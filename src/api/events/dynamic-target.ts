import type { Static } from 'typebox';
import { type Actor, type AuditNote, changeOf } from '../../domain/audit.ts';
import { noConditions } from '../../domain/subscription.ts';
import type { EventTarget } from '../../routing/project-routing.ts';
import { type ConfigTx, changeConfig } from '../../store/config/config-version.ts';
import type { ProjectRow } from '../../store/config/projects.ts';
import {
  type SubscriptionRow,
  saveSubscription,
  subscriptionsOfEndpoint,
} from '../../store/config/subscriptions.ts';
import { newEndpointFields, newEndpointSecrets } from '../endpoints/endpoint-input.ts';
import { checkUrl } from '../http/check-url.ts';
import type { ApiContext } from '../http/context.ts';
import { invalid } from '../http/fields.ts';
import type { DynamicEvent } from './event-schema.ts';

type Input = Static<typeof DynamicEvent>;

/**
 * Where a dynamic event goes: to the endpoint with exactly its URL, through that endpoint's oldest subscription and
 * past its filter. What is missing is made, with the project's row locked, so two events at once make one endpoint.
 * A URL that the egress rule forbids is refused. One that the project's own settings forbid is refused or stored as
 * failed, as the project says.
 */
export async function dynamicTarget(
  context: ApiContext,
  by: { project: ProjectRow; actor: Actor },
  body: Input,
): Promise<EventTarget> {
  const { project } = by;
  const { config } = project;
  checkUrl(context, 'url', body.url);
  const known = await context.endpoints.findByUrl(context.db, project.id, body.url);
  const problem = urlProblem(project, { url: body.url, isKnown: known !== undefined });
  if (problem !== null) {
    if (config.verify_dynamic_events) throw invalid('url', problem);
    return { kind: 'url', url: body.url, reason: `Not sent to ${body.url}: the URL ${problem}.` };
  }
  const routing = await context.cache.get(project.id);
  const subscription = known === undefined ? undefined : routing.oldestSubscription(known.id);
  if (subscription !== undefined && !changesTypes(subscription.row, body))
    return { kind: 'subscription', subscriptionId: subscription.row.id };
  const subscriptionId = await makeWhatIsMissing(context, by, body);
  await context.cache.refresh(project.id);
  return { kind: 'subscription', subscriptionId };
}

function urlProblem(
  { config }: ProjectRow,
  { url, isKnown }: { url: string; isKnown: boolean },
): string | null {
  if (config.ssl.enforce_secure_endpoints && !url.toLowerCase().startsWith('https:'))
    return 'must start with https:// in this project';
  if (!isKnown && !config.allow_unmatched_dynamic_urls)
    return 'belongs to no endpoint of this project, which allows no new ones';
  return null;
}

const changesTypes = (row: SubscriptionRow, body: Input): boolean =>
  (body.event_types ?? []).length > 0 && JSON.stringify(row.event_types) !== JSON.stringify(body.event_types);

function makeWhatIsMissing(
  context: ApiContext,
  { project, actor }: { project: ProjectRow; actor: Actor },
  body: Input,
): Promise<string> {
  const { ids, endpoints } = context;
  return changeConfig(context, { projectId: project.id, actor }, async (tx, version) => {
    const audit: AuditNote[] = [];
    const place = { projectId: project.id, version };
    let endpointId = (await endpoints.findByUrl(tx, project.id, body.url))?.id;
    if (endpointId === undefined) {
      endpointId = ids.next();
      const input = {
        name: `endpoint-${endpointId}`,
        url: body.url,
        ...(body.secret && { secret: body.secret }),
      };
      const fields = newEndpointFields(input, endpointId);
      const saved = await endpoints.save(tx, {
        ...place,
        id: endpointId,
        fields,
        secret: newEndpointSecrets(context, input),
        told: [{ type: 'endpoint.created' }],
      });
      audit.push(changeOf('endpoint.created', null, saved));
    }
    const wanted = { ...place, id: ids.next(), endpointId, body };
    return { result: await saveDynamicSubscription(tx, wanted, audit), audit };
  });
}

async function saveDynamicSubscription(
  tx: ConfigTx,
  wanted: { id: string; projectId: string; version: number; endpointId: string; body: Input },
  audit: AuditNote[],
): Promise<string> {
  const { endpointId, body, ...place } = wanted;
  const [oldest] = await subscriptionsOfEndpoint(tx, place.projectId, endpointId);
  if (oldest !== undefined && !changesTypes(oldest, body)) return oldest.id;
  const eventTypes = body.event_types?.length ? body.event_types : ['*'];
  const fields = {
    name: `dynamic-subscription-${endpointId}`,
    type: 'api',
    status: 'active',
    endpoint_id: endpointId,
    source_id: '',
    filter: noConditions(),
    function: '',
    delivery_mode: 'at_least_once' as const,
    alert_config: null,
    rate_limit_config: null,
    retry_config: null,
    ...oldest,
    event_types: eventTypes,
  };
  const saved = await saveSubscription(tx, { ...place, id: oldest?.id ?? place.id, fields });
  const action = oldest === undefined ? 'subscription.created' : 'subscription.updated';
  audit.push(changeOf(action, oldest, saved));
  return saved.id;
}
