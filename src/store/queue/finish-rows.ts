import { BATCH_LANE, type LeasedDelivery, waitsForTurn } from '../../domain/delivery.ts';
import type { AttemptTemplates } from '../attempts/attempt-templates.ts';
import type { Database, HotQueryable } from '../database/database.ts';
import { leavePlaces, releaseHeads } from '../ordering/member-places.ts';
import { lockKeys } from '../ordering/release-next.ts';
import {
  type AnyFinish,
  type BatchFinish,
  type Finish,
  isOfBatch,
  isOfDelivery,
  isOfMetaEvent,
} from './finish.ts';
import { endsInOrder, type Finished, finishDeliveries } from './finish-deliveries.ts';
import { finishMetaEvents } from './finish-meta-events.ts';
import { insertMetaEvents } from './insert-meta-events.ts';
import { insertTwice } from './insert-twice.ts';
import { insertBatches } from './queue-rows.ts';

interface Node {
  nodeId: string;
  templates: AttemptTemplates;
}

/** Records outcomes: of deliveries and meta events together, of one batch in a commit of its own. */
export async function finishRows(
  db: Database,
  node: Node,
  outcomes: readonly AnyFinish[],
): Promise<Finished> {
  const [first] = outcomes;
  if (first !== undefined && isOfBatch(first)) return finishBatch(db, node, first);
  const deliveries = outcomes.filter(isOfDelivery);
  // In this order: if the second fails both are repeated, and recording a meta event twice changes nothing.
  const ended = await finishMetaEvents(db, node.nodeId, outcomes.filter(isOfMetaEvent));
  const { moved, released } = await finishSingles(db, node, deliveries);
  return { moved: new Set([...ended, ...moved]), released };
}

/**
 * Records outcomes of deliveries by themselves, of a node or, without its id, of consumers. If an outcome creates a meta
 * event, that is stored in the same commit, for those that were moved. Only such outcomes, and those with an end of an
 * ordered delivery, are a transaction (two or three round trips instead of one). All others are one statement.
 */
export async function finishSingles(
  db: Database,
  by: { nodeId: string | null; templates: AttemptTemplates },
  finishes: readonly Finish[],
): Promise<Finished> {
  if (finishes.length === 0) return { moved: new Set(), released: [] };
  const ordered = finishes.filter(endsInOrder).map(({ delivery }) => delivery);
  if (ordered.length === 0 && finishes.every((finish) => finish.metaEvent === null)) {
    return insertTwice((onConflict) => finishDeliveries(db, by, finishes, onConflict));
  }
  return db.hotTransaction(async (tx) => {
    // Both are sent at once. The server begins the second, and takes its snapshot, when it has the locks.
    const locked = ordered.length === 0 ? undefined : lockKeys(tx, ordered);
    const [{ moved, released }] = await Promise.all([finishDeliveries(tx, by, finishes), locked]);
    await storeMetaEvents(tx, finishes, moved);
    return { moved, released };
  });
}

async function storeMetaEvents(
  tx: HotQueryable,
  finishes: readonly Finish[],
  moved: ReadonlySet<string>,
): Promise<void> {
  const recorded = finishes.filter(({ delivery }) => moved.has(delivery.id));
  await insertMetaEvents(
    tx,
    recorded.flatMap(({ metaEvent }) => metaEvent ?? []),
  );
}

const HELD = 'project_id = $1 and delivery_id = $2 and node_id = $3 and fence = $4';
const HOLD = `select delivery_id from delivery_queue where ${HELD} for update`;
/** $8: what was begun stays so. */
const KEEP = `update delivery_queue set node_id = null, fence = fence + 1, is_started = is_started and $8,
  due_at = now() + $5::float8 * interval '1 millisecond', is_second_request = $6, key = $7
where ${HELD}`;
/** One that this node still has could not be read (take-batch.ts), and keeps no batch. */
const END = `
delete from delivery_queue where ${HELD} and not exists (
  select from delivery_queue m where m.project_id = $1 and m.delivery_id = any($5::text[]) and m.batch_id = $2
    and m.lane = ${BATCH_LANE.member} and m.node_id is distinct from $3)
returning delivery_id`;

/**
 * A batch and its deliveries, in one commit. Locks: ordering keys, the batch, its deliveries in id order. If another node has
 * the batch by now, it has its deliveries too, and their attempts are stored as stale.
 */
function finishBatch(db: Database, node: Node, finish: BatchFinish): Promise<Finished> {
  const { members, parts } = finish;
  return db.hotTransaction(async (tx) => {
    const ordered = members.filter((member) => endsInOrder(member) || waitsAgain(member));
    const held = heldBy(node.nodeId, finish);
    // All are sent at once. The server begins each, and takes its snapshot, when it has the locks of those before.
    const [, holds, finished] = await Promise.all([
      ordered.length > 0 ? lockKeys(tx, deliveriesOf(ordered)) : undefined,
      tx.hot('hold-batch', HOLD, held),
      finishMembers(tx, node, members),
    ]);
    await storeMetaEvents(tx, members, finished.moved);
    if (holds.length === 0) return finished;
    for (const part of parts) await regroup(tx, finish, part);
    await (finish.delayMs === null ? endBatch(tx, held, finish) : keepBatch(tx, held, finish));
    return { ...finished, moved: new Set([...finished.moved, finish.delivery.id]) };
  });
}

/** It was behind another delivery of its key, and waits there for its turn. */
const waitsAgain = ({ lane, delayMs }: Finish): boolean => delayMs !== null && waitsForTurn(lane);

/** Deliveries that wait again do so before another ends, which may let one of them go. */
async function finishMembers(tx: HotQueryable, node: Node, members: readonly Finish[]): Promise<Finished> {
  const waiting = members.filter(waitsAgain);
  const others = members.filter((member) => !waitsAgain(member));
  const ended = others.filter(({ delivery, delayMs }) => delivery.isBehind === true && delayMs === null);
  if (ended.length > 0) await leavePlaces(tx, { nodeId: node.nodeId, deliveries: deliveriesOf(ended) });
  const none: Finished = { moved: new Set(), released: [] };
  const first = waiting.length === 0 ? none : await finishDeliveries(tx, node, waiting);
  const heads = waiting.length === 0 ? [] : await releaseHeads(tx, deliveriesOf(waiting));
  const second = others.length === 0 ? none : await finishDeliveries(tx, node, others);
  return {
    moved: new Set([...first.moved, ...second.moved]),
    released: [...first.released, ...heads, ...second.released],
  };
}

const deliveriesOf = (members: readonly Finish[]): LeasedDelivery[] =>
  members.map(({ delivery }) => delivery);

const heldBy = (nodeId: string, { delivery }: BatchFinish) => [
  delivery.projectId,
  delivery.id,
  nodeId,
  delivery.fence,
];

type Held = ReturnType<typeof heldBy>;

/** It goes on as it is. Without deliveries it was not tried, because another node has them: that may have begun it. */
async function keepBatch(
  tx: HotQueryable,
  held: Held,
  { delayMs, isSecondRequest, key, members }: BatchFinish,
): Promise<void> {
  const isUntried = members.length === 0;
  await tx.hot('keep-batch', KEEP, [...held, delayMs, isSecondRequest, key, isUntried]);
}

/**
 * The row of a batch goes, unless some of its deliveries are left: they were freed while this node had them, so that their
 * outcome is stale. They are claimed with it once more, and what was begun stays so.
 */
async function endBatch(tx: HotQueryable, held: Held, { delivery }: BatchFinish): Promise<void> {
  const { deliveryIds, isSecondRequest, key } = delivery;
  const ended = await tx.hot('end-batch', END, [...held, deliveryIds]);
  if (ended.length === 0) await tx.hot('keep-batch', KEEP, [...held, 0, isSecondRequest, key, true]);
}

/** Deliveries of a batch that has ended go on in another one. Its id is new, because its body is. */
const REGROUP = `
with members as (
  update delivery_queue set batch_id = $3
  where project_id = $1 and delivery_id = any($4::text[]) and batch_id = $2 and lane = ${BATCH_LANE.member} and node_id is null
  returning delivery_id, event_id, project_id, key, batch_id, due_at
)
${insertBatches({ dueAt: 'max(due_at)' })}`;

async function regroup(
  tx: HotQueryable,
  { delivery }: BatchFinish,
  { id, deliveryIds }: BatchFinish['parts'][number],
): Promise<void> {
  await tx.hot('regroup', REGROUP, [delivery.projectId, delivery.id, id, deliveryIds]);
}
