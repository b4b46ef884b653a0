import type { Fault } from '../fault-injector.ts';
import type { Receipt } from '../receiver/chaos-receiver.ts';
import type { StoredTry } from '../stored.ts';

/**
 * When a delivery may be sent again although one of its requests was acknowledged: only if the outcome of
 * that request was not recorded before its node lost its lease. A request is matched with its stored attempt
 * by the delivery and the signed time, so it is known exactly which outcomes were recorded:
 *   recorded with an answer    -> nothing may follow: any later request is a broken promise, fault or not;
 *   recorded as unanswered     -> no duplicate: the node had stopped waiting when we answered, and recorded that;
 *   not recorded, or as stale  -> a duplicate, which needs a fault between this request and the next, of these kinds:
 *     its own process was killed;
 *     its own process was frozen, or the database was away, and the next request came no sooner than a takeover can:
 *       a node sends until 8 s after its last heartbeat and loses its lease after 10 s, so at least 2 s later;
 *     its own process was stopped while the database was away: it gives up at the end of its grace.
 *
 * A stop alone explains nothing. Neither do cut connections, which are reopened at once, late answers of the
 * database, a pause shorter than the lease, a fault of another process, or one before the request or after
 * the next.
 */
export interface Duplicate {
  deliveryId: string;
  receipts: Receipt[];
  /** The explanation of each request except the last. Empty if one has no explanation. */
  faults: string[];
}

/** The nodes' estimate of the database's time may differ by this much from ours, which dates the faults. */
const CLOCK_MS = 250;
/** Signed times are whole seconds, rounded down. */
const ROUNDING_MS = 1_000;
/** Two seconds, less the rounding. */
const SOONEST_TAKEOVER_MS = 1_000;
/** An outcome is recorded this soon after the request, unless a fault prevents it: the timeout plus a margin. */
const UNRECORDED_MS = 6_000;

/** Deliveries acknowledged more than once, with explanations. `again`: sent after an answer had been recorded. */
export function findDuplicates(
  receipts: Receipt[],
  tries: StoredTry[],
  faults: Fault[],
): { duplicates: Duplicate[]; again: Receipt[][] } {
  const stored = Map.groupBy(tries, ({ delivery_id, sent }) => `${delivery_id} ${sent}`);
  const triesOf = ({ deliveryId, sentAt }: Receipt) => stored.get(`${deliveryId} ${sentAt / 1000}`) ?? [];
  const wasUnanswered = (receipt: Receipt) =>
    triesOf(receipt).some((own) => !own.is_stale && !own.is_answered);
  const isRecorded = (receipt: Receipt) => triesOf(receipt).some((own) => !own.is_stale && own.is_answered);
  const acknowledged = Map.groupBy(
    receipts.filter((receipt) => receipt.isAcknowledged && !wasUnanswered(receipt)),
    ({ deliveryId }) => deliveryId,
  );
  const duplicates: Duplicate[] = [];
  const again: Receipt[][] = [];
  for (const [deliveryId, all] of acknowledged) {
    if (all.length < 2) continue;
    const sorted = all.toSorted((a, b) => a.sentAt - b.sentAt || a.at - b.at);
    const pairs = sorted.slice(1).map((next, n) => [sorted[n] as Receipt, next] as const);
    const reasons = pairs.map(([sent, next]) => whyUnrecorded(sent, faults, next));
    // Two within a second share their signed time, so it is unknown which of them was recorded.
    if (pairs.some(([sent, next]) => isRecorded(sent) && sent.sentAt !== next.sentAt)) again.push(sorted);
    const isExplained = reasons.every((reason) => reason.length > 0);
    duplicates.push({ deliveryId, receipts: sorted, faults: isExplained ? reasons.flat() : [] });
  }
  return { duplicates, again };
}

/**
 * Faults that can have prevented the outcome of a request from being recorded in time. With the next request,
 * those that also explain that one.
 */
export function whyUnrecorded(sent: Receipt, faults: Fault[], next?: Receipt): string[] {
  const until = next === undefined ? sent.sentAt + UNRECORDED_MS : next.sentAt;
  const between = faults.filter(
    ({ from, to }) => from <= until + ROUNDING_MS + CLOCK_MS && to >= sent.sentAt - CLOCK_MS,
  );
  // An unknown process may be any.
  const own = between.filter(
    ({ pid }) => pid !== null && (sent.sender.pid === null || pid === sent.sender.pid),
  );
  const ofDatabase = between.filter(({ kind }) => kind === 'kill database');
  const isTakeover = until - sent.sentAt >= SOONEST_TAKEOVER_MS;
  const explaining = [
    ...own.filter(({ kind }) => kind === 'kill node'),
    ...(isTakeover ? own.filter(({ kind }) => kind === 'freeze node') : []),
    ...(isTakeover ? ofDatabase : []),
    ...(ofDatabase.length > 0 ? own.filter(({ kind }) => kind === 'stop node') : []),
  ];
  return explaining.map(({ kind, node }) => `${kind} (${node})`);
}
