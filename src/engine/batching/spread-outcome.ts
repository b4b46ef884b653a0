import type { Outcome } from '../../dispatch/connection/outcome.ts';
import { BATCH_LANE, type LeasedBatch, type LeasedDelivery } from '../../domain/delivery.ts';
import type { IdFactory } from '../../domain/ids.ts';
import type { Attempt } from '../../store/attempts/attempt.ts';
import type { Finish, Group } from '../../store/queue/finish.ts';
import { asksToAbort } from '../attempt/receiver-wishes.ts';
import { expired, handedBack, type Sent, stateAsBefore } from '../attempt/sent.ts';

interface Tried {
  batch: LeasedBatch;
  members: readonly LeasedDelivery[];
  /** It stood for all of them. */
  lead: LeasedDelivery;
}

interface Deps {
  ids: IdFactory;
  now(): number;
}

const PAYLOAD_TOO_LARGE = 413;
/** So much of a response is kept with each delivery of a batch. */
const KEPT_RESPONSE_BYTES = 1_024;

/** The outcome of a batch as that of each of its deliveries. Each has an attempt of its own in its list. */
export function spread(tried: Tried, sent: Sent, deps: Deps): Sent {
  const { batch, members, lead } = tried;
  const { finish } = sent;
  const outcomes = members.map((member) => outcomeOf(member, tried, { finish, deps }));
  if (isSplit(tried, sent)) {
    const again = outcomes.map(
      (outcome): Finish<LeasedDelivery> => ({ ...outcome, status: 'Retry', delayMs: 0 }),
    );
    return {
      ...sent,
      ...(sent.kind === 'failure' && { why: 'failed' }),
      finish: halves(batch, again, deps.ids),
    } as Sent;
  }
  const nowMs = deps.now();
  if (finish.status === 'Discarded' && expired(lead, nowMs)?.finish.description === finish.description)
    return { ...sent, finish: regrouped(batch, { members, results: tooLate(members, nowMs) }, deps.ids) };
  const { delayMs, isSecondRequest, key } = finish;
  return {
    ...sent,
    finish: groupFinish(batch, { members: outcomes, parts: [] }, { delayMs, isSecondRequest, key }),
  };
}

function outcomeOf(
  member: LeasedDelivery,
  { lead }: Tried,
  { finish, deps }: { finish: Finish; deps: Deps },
): Finish<LeasedDelivery> {
  const tries = finish.numTrials - lead.numTrials;
  const own = {
    ...handedBack(member, finish.description),
    numTrials: member.numTrials + tries,
    lane: BATCH_LANE.member,
    key: finish.key,
    isSecondRequest: finish.isSecondRequest,
    latencyMs: finish.status === 'Success' ? Math.max(0, deps.now() - member.acceptedAtMs) : null,
    attempt: finish.attempt && attemptOf(finish.attempt, deps.ids),
  };
  if (finish.delayMs === null) return { ...own, status: finish.status, delayMs: null };
  return { ...own, status: tries > 0 ? 'Retry' : stateAsBefore(member), delayMs: finish.delayMs };
}

function attemptOf(attempt: Attempt, ids: IdFactory): Attempt {
  const responseBody = attempt.responseBody?.subarray(0, KEPT_RESPONSE_BYTES) ?? null;
  return { ...attempt, id: ids.next(), responseBody };
}

/** One of them may be at fault, or all together too large: each half goes on by itself. */
function isSplit({ members, lead }: Tried, sent: Sent): boolean {
  if (members.length === 1 || sent.kind !== 'failure' || lead.deliveryMode === 'at_most_once') return false;
  const { outcome } = sent.exchange;
  if (sent.why === 'gone' || asksToAbort(outcome)) return false;
  return isTooLarge(outcome) || (sent.finish.delayMs === null && outcome.kind === 'response');
}

const isTooLarge = (outcome: Outcome): boolean =>
  outcome.kind === 'response' ? outcome.status === PAYLOAD_TOO_LARGE : outcome.code === 'message_too_large';

/** Two batches, due at once, instead of one. */
export function halves(
  batch: LeasedBatch,
  members: readonly Finish<LeasedDelivery>[],
  ids: IdFactory,
): Finish {
  const all = members.map(({ delivery }) => delivery.id);
  const middle = Math.ceil(all.length / 2);
  const parts = [all.slice(0, middle), all.slice(middle)].map((deliveryIds) => ({
    id: ids.next<LeasedBatch['id']>(),
    deliveryIds,
  }));
  return groupFinish(batch, { members, parts }, { delayMs: null });
}

/** The results of some of the deliveries; the others go on untried. If one has ended, the rest is another batch. */
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
  const open = finishes.filter(({ delayMs }) => delayMs !== null).map(({ delivery }) => delivery.id);
  const isSame = open.length === batch.deliveryIds.length;
  const parts = isSame || open.length === 0 ? [] : [{ id: ids.next<LeasedBatch['id']>(), deliveryIds: open }];
  const delayMs = isSame ? Math.max(...finishes.map((finish) => finish.delayMs ?? 0)) : null;
  return groupFinish(batch, { members: finishes, parts }, { delayMs });
}

/** Those of the deliveries that are too late to be sent. */
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
