import type { Outcome } from '../../dispatch/connection/outcome.ts';
import { BATCH_LANE, type LeasedBatch, type LeasedDelivery } from '../../domain/delivery.ts';
import type { IdFactory } from '../../domain/ids.ts';
import type { Attempt } from '../../store/attempts/attempt.ts';
import type { Finish } from '../../store/queue/finish.ts';
import { judgeOutcome } from '../attempt/judge-outcome.ts';
import { asksToAbort } from '../attempt/receiver-wishes.ts';
import { expired, handedBack, type Sent, stateAsBefore } from '../attempt/sent.ts';
import { groupFinish, halves, inHalves, partsOf, regrouped, tooLate } from './regroup.ts';

interface Tried {
  batch: LeasedBatch;
  members: readonly LeasedDelivery[];
  /** It stood for all of them. */
  representative: LeasedDelivery;
}

type Failure = Extract<Sent, { kind: 'failure' }>;

interface Deps {
  ids: IdFactory;
  now(): number;
}

const PAYLOAD_TOO_LARGE = 413;
/** So much of a response is kept with each delivery of a batch. */
const KEPT_RESPONSE_BYTES = 1_024;

/** The outcome of a batch as that of each of its deliveries. Each has an attempt of its own in its list. */
export function spread(tried: Tried, sent: Sent, deps: Deps): Sent {
  const { batch, members, representative } = tried;
  const { finish } = sent;
  const outcomes = members.map((member) => outcomeOf(member, tried, { finish, deps }));
  if (sent.kind === 'failure') {
    if (isSplit(tried, sent))
      return { ...sent, why: 'failed', finish: halves(batch, outcomes.map(untriedAlone), deps.ids) };
    if (sent.why === 'exhausted') return usedUp(tried, { sent, outcomes }, deps);
  }
  const nowMs = deps.now();
  if (
    finish.status === 'Discarded' &&
    expired(representative, nowMs)?.finish.description === finish.description
  )
    return { ...sent, finish: regrouped(batch, { members, results: tooLate(members, nowMs) }, deps.ids) };
  const { delayMs, isSecondRequest, key } = finish;
  return {
    ...sent,
    finish: groupFinish(batch, { members: outcomes, parts: [] }, { delayMs, isSecondRequest, key }),
  };
}

function outcomeOf(
  member: LeasedDelivery,
  { representative }: Tried,
  { finish, deps }: { finish: Finish; deps: Deps },
): Finish<LeasedDelivery> {
  const tries = finish.numTrials - representative.numTrials;
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

/**
 * One of them has no tries left. Each is judged by its own: those with tries left go on in a batch of their own. An answer
 * to the others may be the fault of one of them, so each half goes on, down to single deliveries. It waits as after a first
 * failure: an endpoint that fails all gets no more requests in that time than it would of deliveries without batches.
 */
function usedUp(
  { batch, representative }: Tried,
  { sent, outcomes }: { sent: Failure; outcomes: readonly Finish<LeasedDelivery>[] },
  { ids, now }: Deps,
): Sent {
  const { outcome } = sent.exchange;
  const context = { nowMs: now(), random: Math.random(), finalCodes: [] };
  const judged = outcomes.map((own): Finish<LeasedDelivery> => {
    const { isSecondRequest } = representative;
    const {
      verdict: _,
      lane: __,
      ...state
    } = judgeOutcome({ ...own.delivery, isSecondRequest }, outcome, context);
    return { ...own, ...state };
  });
  const open = judged.filter(({ delayMs }) => delayMs !== null);
  const mostMs = Math.max(0, ...open.map(({ delayMs }) => delayMs ?? 0));
  const mayBeOthers =
    outcome.kind === 'response' && outcomes.length > 1 && representative.deliveryMode !== 'at_most_once';
  const members = judged.map((own): Finish<LeasedDelivery> => {
    if (own.delayMs !== null) return { ...own, delayMs: mostMs };
    return mayBeOthers ? { ...untriedAlone(own), ...afterFirst(representative, outcome, context) } : own;
  });
  const ended = judged.filter(({ delayMs }) => delayMs === null);
  const parts = partsOf(ids, [open, ...(mayBeOthers ? inHalves(ended) : [])]);
  const { key } = sent.finish;
  const finish = groupFinish(batch, { members, parts }, { delayMs: null, key });
  return { ...sent, why: mayBeOthers ? 'failed' : 'exhausted', finish };
}

/** The next try as if this were the first failure of two tries. */
function afterFirst(
  representative: LeasedDelivery,
  outcome: Outcome,
  context: Parameters<typeof judgeOutcome>[2],
): { delayMs: number; description: string | null } {
  const first = {
    ...representative,
    budgetFrom: representative.numTrials,
    retry: { ...representative.retry, retryLimit: 2 },
  };
  const { delayMs, description } = judgeOutcome(first, outcome, context);
  return { delayMs: delayMs ?? 0, description };
}

/** It goes on without others of its batch. That uses none of its tries. */
const untriedAlone = (own: Finish<LeasedDelivery>) => ({
  ...own,
  status: stateAsBefore(own.delivery),
  numTrials: own.delivery.numTrials,
  delayMs: 0,
});

/** One of them may be at fault, or all together too large: each half goes on by itself. */
function isSplit({ members, representative }: Tried, sent: Failure): boolean {
  if (members.length === 1 || representative.deliveryMode === 'at_most_once') return false;
  const { outcome } = sent.exchange;
  if (sent.why === 'gone' || asksToAbort(outcome)) return false;
  const isFinal = sent.why === 'failed' && sent.finish.delayMs === null;
  return isTooLarge(outcome) || (isFinal && outcome.kind === 'response');
}

const isTooLarge = (outcome: Outcome): boolean =>
  outcome.kind === 'response' ? outcome.status === PAYLOAD_TOO_LARGE : outcome.code === 'message_too_large';
