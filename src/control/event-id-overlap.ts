import { overlapOf } from '../domain/config/subscription-overlap.ts';
import { invalid } from '../domain/errors.ts';
import type { EndpointId, SubscriptionId } from '../domain/ids.ts';
import { subscriptions } from '../store/config/subscriptions.ts';
import type { ConfigChange, ConfigChanges } from './config-changes.ts';

/**
 * Refuses two subscriptions that may match the same event, at an endpoint whose requests carry the id of the event: a
 * receiver would take the second delivery for a repeat and drop it. Called once, after all rows of a change are written.
 * The project's row is locked, so the check is still valid at the commit. `field` is given the newer of the two.
 */
export async function refuseOverlap(
  { deps }: ConfigChanges,
  change: ConfigChange,
  { endpointId, field }: { endpointId: EndpointId; field: string | ((newer: SubscriptionId) => string) },
): Promise<void> {
  const endpoint = await deps.endpoints.get(change, change.projectId, endpointId);
  if (endpoint?.webhook_id !== 'event') return;
  const rows = await subscriptions.allOf(change, change.projectId, endpointId);
  const overlap = overlapOf(rows);
  if (overlap === undefined) return;
  const [one, other] = overlap;
  throw invalid(
    typeof field === 'string' ? field : field(other.id),
    `the subscriptions ${one.id} and ${other.id} may match the same event, which webhook_id \`event\` does not allow`,
  );
}
