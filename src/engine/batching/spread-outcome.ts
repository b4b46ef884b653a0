import type { Outcome } from '../../dispatch/connection/outcome.ts';
import { BATCH_LANE, type LeasedBatch, type LeasedDelivery } from '../../domain/delivery.ts';
import type { IdFactory } from '../../domain/ids.ts';
import type { Attempt } from '../../store/attempts/attempt.ts';
import type { BatchFinish, Finish } from '../../store/queue/finish.ts';
import { asksToAbort, judgeOutcome } from '../attempt/judge-outcome.ts';
import { back, expired, isTried, type Sent, stateAsBefore, type Tried } from '../attempt/sent.ts';
import type { EnginePart } from '../deps/engine-deps.ts';
import { groupFinish, halves, inHalves, partsOf, regrouped, tooLate } from './regroup.ts';

interface TriedBatch {
  batch: LeasedBatch;
  members: readonly LeasedDelivery[];
  /** It stood for all of them. */
  representative: LeasedDelivery;
}

type Deps = EnginePart<'ids' | 'now'>;

const PAYLOAD_TOO_LARGE = 413;
/** So much of a response is kept with each delivery of a batch. */
const KEPT_RESPONSE_BYTES = 1_024;

/** The outcome of a batch as that of each of its deliveries. Each has an attempt of its own in its list. */
export function spread(tried: TriedBatch, sent: Sent, deps: Deps): Sent<BatchFinish> {
  const { batch, members, representative } = tried;
  const { exchange, isStrain } = sent;
  const outcomes = members.map((member) => outcomeOf(member, tried, { sent, deps }));
  const of = (finish: BatchFinish, verdict = sent.verdict) => ({ ...finish, verdict, exchange, isStrain });
  if (isTried(sent)) {
    if (isSplit(tried, sent)) return of(halves(batch, outcomes.map(untriedAlone), deps.ids), 'failed');
    if (sent.verdict === 'exhausted') {
      const { finish, verdict } = usedUp(tried, { sent, outcomes }, deps);
      return of(finish, verdict);
    }
  }
  const nowMs = deps.now();
  if (sent.status === 'Discarded' && expired(representative, nowMs)?.description === sent.description)
    return of(regrouped(batch, { members, results: tooLate(members, nowMs) }, deps.ids));
  const { delayMs, isSecondRequest, key } = sent;
  return of(groupFinish(batch, { members: outcomes, parts: [] }, { delayMs, isSecondRequest, key }));
}

function outcomeOf(
  member: LeasedDelivery,
  { representative }: TriedBatch,
  { sent, deps }: { sent: Sent; deps: Deps },
): Finish {
  const tries = sent.numTrials - representative.numTrials;
  const own = {
    ...back(member, sent.description),
    numTrials: member.numTrials + tries,
    lane: BATCH_LANE.member,
    key: sent.key,
    isSecondRequest: sent.isSecondRequest,
    latencyMs: sent.status === 'Success' ? Math.max(0, deps.now() - member.acceptedAtMs) : null,
    attempt: sent.attempt && attemptOf(sent.attempt, deps.ids),
  };
  if (sent.delayMs === null) return { ...own, status: sent.status, delayMs: null };
  return { ...own, status: tries > 0 ? 'Retry' : stateAsBefore(member), delayMs: sent.delayMs };
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
  { batch, representative }: TriedBatch,
  { sent, outcomes }: { sent: Tried; outcomes: readonly Finish[] },
  { ids, now }: Deps,
): { finish: BatchFinish; verdict: 'failed' | 'exhausted' } {
  const { outcome } = sent.exchange;
  const context = { nowMs: now(), random: Math.random(), finalCodes: [] };
  const judged = outcomes.map((own): Finish => {
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
  const members = judged.map((own): Finish => {
    if (own.delayMs !== null) return { ...own, delayMs: mostMs };
    return mayBeOthers ? { ...untriedAlone(own), ...afterFirst(representative, outcome, context) } : own;
  });
  const ended = judged.filter(({ delayMs }) => delayMs === null);
  const parts = partsOf(ids, [open, ...(mayBeOthers ? inHalves(ended) : [])]);
  const { key } = sent;
  const finish = groupFinish(batch, { members, parts }, { delayMs: null, key });
  return { finish, verdict: mayBeOthers ? 'failed' : 'exhausted' };
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
const untriedAlone = (own: Finish) => ({
  ...own,
  status: stateAsBefore(own.delivery),
  numTrials: own.delivery.numTrials,
  delayMs: 0,
});

/** One of them may be at fault, or all together too large: each half goes on by itself. */
function isSplit({ members, representative }: TriedBatch, { verdict, delayMs, exchange }: Tried): boolean {
  if (members.length === 1 || representative.deliveryMode === 'at_most_once') return false;
  const { outcome } = exchange;
  if (verdict === 'success' || verdict === 'gone' || asksToAbort(outcome)) return false;
  const isFinal = verdict === 'failed' && delayMs === null;
  return isTooLarge(outcome) || (isFinal && outcome.kind === 'response');
}

const isTooLarge = (outcome: Outcome): boolean =>
  outcome.kind === 'response' ? outcome.status === PAYLOAD_TOO_LARGE : outcome.code === 'message_too_large';
