import { mayOverlap } from '../domain/config/subscription.ts';
import { invalid } from '../domain/errors.ts';
import type { EndpointId } from '../domain/ids.ts';
import { subscriptions } from '../store/config/subscriptions.ts';
import type { ConfigChange, ConfigChanges } from './config-changes.ts';

/**
 * Refuses two subscriptions that may match the same event, at an endpoint whose requests carry the id of the event: a
 * receiver would take the second delivery for a repeat and drop it. Called after the rows of a change are written. The
 * project's row is locked, so the check is still valid at the commit.
 */
export async function refuseOverlap(
  { deps }: ConfigChanges,
  change: ConfigChange,
  { endpointId, field }: { endpointId: EndpointId; field: string },
): Promise<void> {
  const endpoint = await deps.endpoints.get(change, change.projectId, endpointId);
  if (endpoint?.webhook_id !== 'event') return;
  const rows = await subscriptions.allOf(change, change.projectId, endpointId);
  for (const [index, one] of rows.entries()) {
    const other = rows.slice(index + 1).find((each) => mayOverlap(one, each));
    if (other === undefined) continue;
    throw invalid(
      field,
      `the subscriptions ${one.id} and ${other.id} may match the same event, which webhook_id \`event\` does not allow`,
    );
  }
}
