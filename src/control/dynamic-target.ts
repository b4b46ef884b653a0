import type { AuditNote } from '../domain/audit.ts';
import type { EndpointId } from '../domain/ids.ts';
import { type SubscriptionRow, subscriptions } from '../store/config/subscriptions.ts';
import type { Author, ConfigChange, ConfigChanges } from './config-changes.ts';
import { addEndpoint } from './endpoint-changes.ts';
import { newEndpoint } from './new-endpoint.ts';
import { newSubscription, putSubscription } from './subscription-changes.ts';

/** Where a dynamic event goes. */
export interface DynamicTarget {
  url: string;
  /** The signing secret of an endpoint that is made. Empty or absent: one is made. */
  secret?: string | undefined;
  /** The event types that the subscription is to have. Empty: as it is, or every type where it is made. */
  eventTypes: readonly string[];
  /** The rate limit of an endpoint that is made. Null or absent: none. */
  perMinute?: number | null;
}

/** Whether a subscription takes other types than a dynamic event asks for. */
export function changesTypes(row: SubscriptionRow, { eventTypes }: DynamicTarget): boolean {
  return eventTypes.length > 0 && JSON.stringify(row.event_types) !== JSON.stringify(eventTypes);
}

/**
 * Makes what a dynamic event lacks: the endpoint with its URL, and the oldest subscription of that endpoint with its
 * event types. The project's row is locked, so two events at once make one endpoint. Returns the subscription's id.
 */
export function ensureDynamicTarget(
  changes: ConfigChanges,
  by: Author,
  target: DynamicTarget,
): Promise<string> {
  const { endpoints, ids } = changes.deps;
  return changes.change(by, async (change) => {
    const audit: AuditNote[] = [];
    let endpointId = (await endpoints.findByUrl(change, by.projectId, target.url))?.id;
    if (endpointId === undefined) {
      endpointId = ids.next<EndpointId>();
      const { url, secret, perMinute = null } = target;
      const made = newEndpoint(changes.deps, { id: endpointId, name: `endpoint-${endpointId}`, url, secret });
      if (perMinute !== null) Object.assign(made, { rate_limit: perMinute, rate_limit_duration: 60 });
      audit.push(...(await addEndpoint(changes, change, made)).audit);
    }
    const subscription = await ensureTypes(changes, change, { endpointId, target });
    return { result: subscription.id, audit: [...audit, ...subscription.audit] };
  });
}

async function ensureTypes(
  changes: ConfigChanges,
  change: ConfigChange,
  { endpointId, target }: { endpointId: EndpointId; target: DynamicTarget },
): Promise<{ id: string; audit: readonly AuditNote[] }> {
  const known = await subscriptions.oldestOf(change, change.projectId, endpointId);
  if (known !== undefined && !changesTypes(known, target)) return { id: known.id, audit: [] };
  const name = `dynamic-subscription-${endpointId}`;
  const event_types = target.eventTypes.length > 0 ? [...target.eventTypes] : ['*'];
  const fields = { ...(known ?? newSubscription({ name, endpoint_id: endpointId })), event_types };
  const id = known?.id ?? changes.deps.ids.next();
  return { id, audit: (await putSubscription(changes, change, { id, known, fields })).audit };
}
