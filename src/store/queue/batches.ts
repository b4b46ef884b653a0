import type { LeasedDelivery } from '../../domain/delivery.ts';
import { isMetaQueueKey } from '../../domain/meta-event.ts';
import type { AttemptTemplates } from '../attempts/attempt-templates.ts';
import type { Database, HotQueryable } from '../database/database.ts';
import { claimDeliveries } from './claim-deliveries.ts';
import { claimMetaEvents } from './claim-meta-events.ts';
import type { Finish } from './finish.ts';
import { finishDeliveries, finishPulled } from './finish-deliveries.ts';
import { finishMetaEvents } from './finish-meta-events.ts';
import { insertMetaEvents } from './insert-meta-events.ts';
import { insertTwice, type OnConflict } from './insert-twice.ts';
import type { Claim, Want } from './lease-due.ts';

/**
 * Records a batch of outcomes of deliveries and meta events. If an outcome creates a meta event, that is
 * stored in the same commit, for those that were moved. Only such a batch is a transaction (4 round trips
 * instead of 1). All others are one statement.
 */
export async function finishBatch(
  db: Database,
  node: { nodeId: string; templates: AttemptTemplates },
  batch: Finish[],
): Promise<Set<string>> {
  const metaEvents = batch.filter((finish) => finish.delivery.kind === 'meta');
  const deliveries = batch.filter(isOfDelivery);
  // In this order: if the second fails the batch is repeated, and recording a meta event twice changes
  // nothing.
  const ended = await finishMetaEvents(db, node.nodeId, metaEvents);
  const moved = await recordDeliveries(db, deliveries, (to, onConflict) =>
    finishDeliveries(to, node, deliveries, onConflict),
  );
  return new Set([...ended, ...moved]);
}

/** Records results of consumers of pull endpoints. A result is of a row that no node leases. */
export function finishPulledBatch(
  db: Database,
  templates: AttemptTemplates,
  batch: readonly Finish<LeasedDelivery>[],
): Promise<Set<string>> {
  return recordDeliveries(db, batch, (to, onConflict) => finishPulled(to, templates, batch, onConflict));
}

const isOfDelivery = (finish: Finish): finish is Finish<LeasedDelivery> =>
  finish.delivery.kind === 'delivery';

async function recordDeliveries(
  db: Database,
  finishes: readonly Finish<LeasedDelivery>[],
  finish: (to: HotQueryable, onConflict?: OnConflict) => Promise<Set<string>>,
): Promise<Set<string>> {
  if (finishes.length === 0) return new Set();
  if (finishes.every((finish) => finish.metaEvent === null)) {
    return insertTwice((onConflict) => finish(db, onConflict));
  }
  return db.hotTransaction(async (tx) => {
    const moved = await finish(tx);
    const recorded = finishes.filter(({ delivery }) => moved.has(delivery.id));
    await insertMetaEvents(
      tx,
      recorded.flatMap(({ metaEvent }) => metaEvent ?? []),
    );
    return moved;
  });
}

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
