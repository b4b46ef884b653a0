import type { Receipt } from './chaos-receiver.ts';
import type { Fault } from './fault-injector.ts';
import type { StoredTry } from './stored.ts';

/**
 * When a delivery may be sent again although a request of it was acknowledged: only if that request's outcome was not
 * recorded before its node was given up. A request is matched with its stored attempt by the delivery and the signed
 * time, so what was recorded is known and not guessed:
 *
 *   recorded with an answer    -> nothing may follow: whatever is sent later is a broken promise, fault or not;
 *   recorded as unanswered     -> no duplicate: the node had stopped waiting when we answered, and said so;
 *   not recorded, or as stale  -> a duplicate, which needs a fault between this sending and the next, of these kinds:
 *     its own process was killed;
 *     its own process was frozen, or the database was away, and the next sending came no sooner than a takeover can: a
 *       node sends until 8 s after its last beat and is given up after 10 s, so two seconds later at least;
 *     its own process was told to stop while the database was away: it gives up at the end of its grace.
 *
 * A stop alone explains nothing. Neither do cut connections, which are made again at once, late answers of the
 * database, a pause shorter than the lease, a fault of another process, or one before the sending or after the next.
 */
export interface Duplicate {
  deliveryId: string;
  receipts: Receipt[];
  /** What explains each sending but the last; empty where one has no explanation. */
  faults: string[];
}

/** The nodes' idea of the database's time may be off by this much from ours, which faults are noted in. */
const CLOCK_MS = 250;
/** Signed times are whole seconds, rounded down. */
const ROUNDING_MS = 1_000;
/** Two seconds, less the rounding. */
const SOONEST_TAKEOVER_MS = 1_000;
/** An outcome is recorded this soon after the sending, unless a fault keeps it: the timeout, and room to spare. */
const UNRECORDED_MS = 6_000;

/** Deliveries acknowledged more than once, and why. `again`: sent after an answer had been recorded. */
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
    // Two within a second share their signed time, so which of them was recorded cannot be told.
    if (pairs.some(([sent, next]) => isRecorded(sent) && sent.sentAt !== next.sentAt)) again.push(sorted);
    const isExplained = reasons.every((reason) => reason.length > 0);
    duplicates.push({ deliveryId, receipts: sorted, faults: isExplained ? reasons.flat() : [] });
  }
  return { duplicates, again };
}

/**
 * Faults that can have kept the outcome of a request from being recorded in time; with the next sending, those that
 * also explain that one.
 */
export function whyUnrecorded(sent: Receipt, faults: Fault[], next?: Receipt): string[] {
  const until = next === undefined ? sent.sentAt + UNRECORDED_MS : next.sentAt;
  const between = faults.filter(
    ({ from, to }) => from <= until + ROUNDING_MS + CLOCK_MS && to >= sent.sentAt - CLOCK_MS,
  );
  // A process that cannot be told may be any.
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
