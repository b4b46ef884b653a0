import type { LeasedDelivery } from '../../domain/delivery.ts';
import { isMetaQueueKey } from '../../domain/meta-event.ts';
import type { AttemptTemplates } from '../attempts/attempt-templates.ts';
import type { Database, HotQueryable } from '../database/database.ts';
import { inTheirPlaces } from '../ordering/enter-keys.ts';
import { lockKeys } from '../ordering/release-next.ts';
import { claimDeliveries } from './claim-deliveries.ts';
import { claimMetaEvents } from './claim-meta-events.ts';
import type { Finish } from './finish.ts';
import { endsInOrder, type Finished, finishDeliveries, finishPulled } from './finish-deliveries.ts';
import { finishMetaEvents } from './finish-meta-events.ts';
import { insertMetaEvents } from './insert-meta-events.ts';
import { insertTwice, type OnConflict } from './insert-twice.ts';
import { type Claim, claimedTogether, type Wanted } from './lease-due.ts';

/**
 * Records a batch of outcomes of deliveries and meta events. If an outcome creates a meta event, that is
 * stored in the same commit, for those that were moved. Only such a batch, and one in which an ordered delivery ends, is a
 * transaction (two or three round trips instead of one). All others are one statement.
 */
export async function finishBatch(
  db: Database,
  node: { nodeId: string; templates: AttemptTemplates },
  batch: Finish[],
): Promise<Finished> {
  const metaEvents = batch.filter((finish) => finish.delivery.kind === 'meta');
  const deliveries = batch.filter(isOfDelivery);
  // In this order: if the second fails the batch is repeated, and recording a meta event twice changes
  // nothing.
  const ended = await finishMetaEvents(db, node.nodeId, metaEvents);
  const { moved, released } = await recordDeliveries(db, deliveries, (to, onConflict) =>
    finishDeliveries(to, node, deliveries, onConflict),
  );
  return { moved: new Set([...ended, ...moved]), released };
}

/** Records results of consumers of pull endpoints. A result is of a row that no node leases. */
export function finishPulledBatch(
  db: Database,
  templates: AttemptTemplates,
  batch: readonly Finish<LeasedDelivery>[],
): Promise<Finished> {
  return recordDeliveries(db, batch, (to, onConflict) => finishPulled(to, templates, batch, onConflict));
}

const isOfDelivery = (finish: Finish): finish is Finish<LeasedDelivery> =>
  finish.delivery.kind === 'delivery';

async function recordDeliveries(
  db: Database,
  finishes: readonly Finish<LeasedDelivery>[],
  finish: (to: HotQueryable, onConflict?: OnConflict) => Promise<Finished>,
): Promise<Finished> {
  if (finishes.length === 0) return { moved: new Set(), released: [] };
  const ordered = finishes.filter(endsInOrder).map(({ delivery }) => delivery);
  if (ordered.length === 0 && finishes.every((finish) => finish.metaEvent === null)) {
    return insertTwice((onConflict) => finish(db, onConflict));
  }
  return db.hotTransaction(async (tx) => {
    // Both are sent at once. The server begins the second, and takes its snapshot, when it has the locks.
    const locked = ordered.length === 0 ? undefined : lockKeys(tx, ordered);
    const [{ moved, released }] = await Promise.all([finish(tx), locked]);
    const recorded = finishes.filter(({ delivery }) => moved.has(delivery.id));
    await insertMetaEvents(
      tx,
      recorded.flatMap(({ metaEvent }) => metaEvent ?? []),
    );
    return { moved, released };
  });
}

/** Claims for a round, deliveries and meta events: one result per want, in order. */
export async function claimBatch(db: Database, wanted: Wanted): Promise<Claim[]> {
  const { wants } = wanted;
  const metaWants = wants.filter((want) => isMetaQueueKey(want.key));
  if (metaWants.length === 0) return claimInOrder(db, wanted);
  const others = wants.filter((want) => !isMetaQueueKey(want.key));
  const metaEvents = claimMetaEvents(db, { ...wanted, wants: metaWants });
  if (others.length === 0) return metaEvents;
  return claimedTogether(wants, [metaEvents, claimInOrder(db, { ...wanted, wants: others })]);
}

/** Deliveries that only now take their places in ordering keys, and have to wait there, are left out. */
async function claimInOrder(db: Database, wanted: Wanted): Promise<Claim<LeasedDelivery>[]> {
  const claims = await claimDeliveries(db, wanted);
  const placed = await inTheirPlaces(
    db,
    claims.flatMap(({ deliveries }) => deliveries),
  );
  return claims.map((claim) => {
    const deliveries = claim.deliveries.filter((delivery) => placed.has(delivery));
    // More rows may be due where some were left out.
    return deliveries.length === claim.deliveries.length ? claim : { ...claim, deliveries, nextDueInMs: 0 };
  });
}
