import { BATCH_LANE, type LeasedBatch, type LeasedDelivery } from '../../domain/delivery.ts';
import type { IdFactory } from '../../domain/ids.ts';
import type { BatchFinish, Finish } from '../../store/queue/finish.ts';
import { back, expired, type Sent } from '../attempt/sent.ts';

/** Two batches, due at once, instead of one. */
export function halves(batch: LeasedBatch, members: readonly Finish[], ids: IdFactory): BatchFinish {
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
export function partsOf(ids: IdFactory, groups: readonly (readonly Finish[])[]): BatchFinish['parts'] {
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
): BatchFinish {
  const byId = new Map(results.map((finish) => [finish.delivery.id as string, finish]));
  const finishes = members.map(
    (delivery): Finish => ({
      ...(byId.get(delivery.id) ?? back(delivery)),
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
  members.flatMap((member) => expired(member, nowMs) ?? []);

/** The finish of a batch. It goes on as it is after `delayMs`, or its row goes. */
export function groupFinish(
  batch: LeasedBatch,
  group: Pick<BatchFinish, 'members' | 'parts'>,
  state: Pick<BatchFinish, 'delayMs'> & Partial<Pick<BatchFinish, 'isSecondRequest' | 'key'>>,
): BatchFinish {
  const { lane, key, isSecondRequest } = batch;
  return { delivery: batch, lane, key, isSecondRequest, ...state, ...group };
}

/** That of one that was not sent. */
export const unsent = (finish: BatchFinish): Sent<BatchFinish> => ({
  ...finish,
  verdict: 'untried',
  exchange: null,
  isStrain: false,
});
