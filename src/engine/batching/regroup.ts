import { BATCH_LANE, type LeasedBatch, type LeasedDelivery } from '../../domain/delivery.ts';
import type { IdFactory } from '../../domain/ids.ts';
import type { Finish, Group } from '../../store/queue/finish.ts';
import { expired, handedBack } from '../attempt/sent.ts';

/** Two batches, due at once, instead of one. */
export function halves(
  batch: LeasedBatch,
  members: readonly Finish<LeasedDelivery>[],
  ids: IdFactory,
): Finish {
  const parts = partsOf(ids, inHalves(members));
  return groupFinish(
    batch,
    { members, parts },
    { delayMs: null, ...(members[0] && { key: members[0].key }) },
  );
}

export function inHalves<T>(all: readonly T[]): T[][] {
  const middle = Math.ceil(all.length / 2);
  return [all.slice(0, middle), all.slice(middle)];
}

/** Batches of those that go on. Each has a new id, because its body is another. */
export function partsOf(
  ids: IdFactory,
  groups: readonly (readonly Finish<LeasedDelivery>[])[],
): Group['parts'] {
  return groups
    .filter((group) => group.length > 0)
    .map((group) => ({
      id: ids.next<LeasedBatch['id']>(),
      deliveryIds: group.map(({ delivery }) => delivery.id),
    }));
}

/**
 * The results of some of the deliveries; the others go on untried. If one has ended, the rest is another batch, and so are
 * all if they were sent before a function made other bodies. Those that have to wait are one of their own, otherwise one for
 * which a function never runs would hold the others.
 */
export function regrouped(
  batch: LeasedBatch,
  { members, results }: { members: readonly LeasedDelivery[]; results: readonly Finish[] },
  ids: IdFactory,
): Finish {
  const byId = new Map(results.map((finish) => [finish.delivery.id as string, finish]));
  const finishes = members.map(
    (delivery): Finish<LeasedDelivery> => ({
      ...(byId.get(delivery.id) ?? handedBack(delivery, null)),
      delivery,
      lane: BATCH_LANE.member,
      key: batch.key,
    }),
  );
  const ready = finishes.filter(({ delayMs }) => delayMs === 0);
  const waiting = finishes.filter(({ delayMs }) => (delayMs ?? 0) > 0);
  const wasSent = batch.isSecondRequest || members.some(({ numTrials }) => numTrials > 0);
  const isChanged =
    wasSent && results.some(({ body, functionRequest }) => (body ?? functionRequest) !== null);
  const isSame = !isChanged && [ready, waiting].some(({ length }) => length === batch.deliveryIds.length);
  const parts = isSame ? [] : partsOf(ids, [ready, waiting]);
  const delayMs = isSame ? Math.max(...finishes.map((finish) => finish.delayMs ?? 0)) : null;
  return groupFinish(batch, { members: finishes, parts }, { delayMs });
}

/** Ends the deliveries that are too late to be sent. */
export const tooLate = (members: readonly LeasedDelivery[], nowMs: number): Finish[] =>
  members.flatMap((member) => expired(member, nowMs)?.finish ?? []);

/** The finish of a batch. It goes on as it is after `delayMs`, or its row goes. */
export function groupFinish(
  batch: LeasedBatch,
  group: Group,
  state: { delayMs: number | null; isSecondRequest?: boolean; key?: Finish['key'] },
): Finish {
  const { delayMs, isSecondRequest = batch.isSecondRequest, key = batch.key } = state;
  const row = { ...handedBack(batch, null), lane: batch.lane, isSecondRequest, key, group };
  return delayMs === null ? { ...row, status: 'Success', delayMs } : { ...row, delayMs };
}
