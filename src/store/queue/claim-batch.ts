import { isMetaQueueKey } from '../../domain/meta-event.ts';
import type { Database } from '../database/database.ts';
import { claimDeliveries } from './claim-deliveries.ts';
import { claimMetaEvents } from './claim-meta-events.ts';
import type { Claim, Want } from './lease-due.ts';

/** Claims for a round, deliveries and meta events: one result per want, in order. */
export async function claimBatch(db: Database, nodeId: string, wants: Want[]): Promise<Claim[]> {
  const metaWants = wants.filter((want) => isMetaQueueKey(want.key));
  if (metaWants.length === 0) return claimDeliveries(db, nodeId, wants);
  const others = wants.filter((want) => !isMetaQueueKey(want.key));
  const claims = (
    await Promise.all([
      claimMetaEvents(db, nodeId, metaWants),
      others.length === 0 ? [] : claimDeliveries(db, nodeId, others),
    ])
  ).flat();
  const byWant = new Map(claims.map((claim) => [claim.want, claim]));
  return wants.map((want) => byWant.get(want) as Claim);
}
