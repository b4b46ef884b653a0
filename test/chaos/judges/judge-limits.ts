import { slackMs } from '../../../src/domain/config/rate-limit.ts';
import { CHARACTERS, type Character, type Limit, profileOf } from '../characters.ts';
import type { Receipt } from '../receiver/chaos-receiver.ts';
import type { Stored, StoredDelivery, StoredTry } from '../stored.ts';
import { calmStretches, type Stretch, without } from './calm.ts';
import { overloads } from './overloads.ts';
import type { Problems } from './problems.ts';
import { showTime } from './show.ts';
import type { Seen } from './verdict.ts';
import { madeAt, workStretches } from './work-stretches.ts';

/**
 * Limits in both directions, as the endpoint sees them.
 *   exact       in no interval of the limit's length do more requests begin and arrive than the limit, at any time of the
 *               run. The limit is of the time of dispatch. On a busy machine requests that began apart arrive together;
 *   full use    while a window's worth of work waits in a calm stretch, at least `minShare` of the limit arrives, except
 *               while the nodes are overloaded: then deliveries of the unlimited endpoint wait as well;
 *   no waiting  an event of an endpoint far below its limit arrives no later than one of an unlimited endpoint,
 *               except for the time to pass it to the node with the rate lease.
 */
export interface LimitFigures {
  character: Character;
  /** The most requests that arrived in any interval of the limit's length. */
  most: number;
  limit: number;
  /** The share of the limit that arrived, by the delay of the database's answers in milliseconds. */
  shares: Record<string, string>;
}

export interface Strictness {
  /** The share of its limit that an endpoint must get. */
  minShare: number;
  /** The maximum time to pass an event to the node with the rate lease. */
  handoverMs: number;
  /** The scheduler adds delay between the sender's clock and its write, and between the write and our socket. */
  jitterMs: number;
}

export const STRICT: Strictness = { minShare: 0.95, handoverMs: 250, jitterMs: 25 };
/**
 * For a machine with other work at the same time. While three other test files ran, a burst that was started on time arrived
 * 220 ms late. Two bursts at once, of a limit that does not hold, arrive far closer together than what is left of 1 s.
 */
export const LENIENT: Strictness = { minShare: 0.5, handoverMs: 2_000, jitterMs: 400 };
/** The clocks of two nodes differ by at most this. */
const CLOCK_MS = 25;
/**
 * Round trips of the handover, each as late as the database's answers are: the claim round that is under way, the
 * request for rate leases that is under way, the request, the notification, and the same two of claims on the other node.
 */
const HANDOVER_ROUND_TRIPS = 6;

/**
 * The requests that are among more than the limit by the times at which they began, in any order of their arrival: a machine
 * that is stopped for seconds hands them over mixed. One that was not recorded has no start, and is judged by its arrival.
 */
function beganTogether(receipts: readonly Receipt[], limit: Limit, tries: TriesOf): Set<Receipt> {
  const sorted = receipts
    .map((receipt) => ({ receipt, at: startOf(receipt, tries) ?? receipt.at }))
    .toSorted((a, b) => a.at - b.at);
  const found = new Set<Receipt>();
  for (const [n, { at }] of sorted.entries()) {
    const next = sorted[n + limit.count];
    if (next !== undefined && next.at - at < limit.seconds * 1000 - CLOCK_MS)
      for (const one of sorted.slice(n, n + limit.count + 1)) found.add(one.receipt);
  }
  return found;
}

export function judgeLimits(stored: Stored, seen: Seen, problems: Problems): LimitFigures[] {
  const calm = calmStretches(seen.faults);
  const used = calm.flatMap((stretch) => without([stretch], overloads(stored, seen, stretch)));
  judgeWaits(stored, seen, { calm, problems });
  const limited = CHARACTERS.filter((name) => profileOf(name).limit !== undefined);
  const tries = Map.groupBy(stored.tries, ({ delivery_id }) => delivery_id);
  return limited.map((character) => {
    const { limit, isBusy } = profileOf(character) as { limit: Limit; isBusy?: true };
    const receipts = seen.receipts
      .filter((receipt) => receipt.character === character)
      .toSorted((a, b) => a.at - b.at);
    const shortestMs = limit.seconds * 1000 - seen.strictness.jitterMs;
    const startedAt = (n: number) => startOf(receipts[n]!, tries) ?? Number.NaN;
    const began = beganTogether(receipts, limit, tries);
    const over = overLimit(receipts, limit.count, shortestMs).filter((n) => began.has(receipts[n]!));
    problems.expectNone(
      'a limit is exact',
      `times ${character} got more than ${limit.count} requests in ${limit.seconds} s`,
      over.map((n) => ({
        ...windowFrom(receipts, n, shortestMs),
        from: showTime(receipts[n]!.at, seen),
        // By the clock of the sender.
        started: [n, n + limit.count].map((place) => showTime(startedAt(place), seen)),
      })),
    );
    const most = Math.max(0, ...receipts.map((_, from) => windowFrom(receipts, from, shortestMs).requests));
    const figures = { character, most, limit: limit.count };
    if (isBusy === undefined) return { ...figures, shares: {} };
    // Waiting for a token blocks all requests, which is the token server's fault.
    const judged = character === 'authorised' ? without(used, seen.tokenWaits) : used;
    const deliveries = stored.deliveries.filter((d) => seen.characterOf(d.endpoint_id) === character);
    return {
      ...figures,
      shares: judgeShares({ character, limit, receipts, deliveries }, { seen, calm, judged, problems }),
    };
  });
}

/** Positions of receipts from which certainly one more than the limit arrived within its length. */
function overLimit(receipts: Receipt[], count: number, shortestMs: number): number[] {
  return [...receipts.keys()].filter((n) => {
    const oneTooMany = receipts[n + count];
    return oneTooMany !== undefined && oneTooMany.at - receipts[n]!.after < shortestMs;
  });
}

/** By delivery. */
type TriesOf = ReadonlyMap<string, readonly StoredTry[]>;

/** When the request began: its try has the same signed time. It may arrive after the next try has begun. */
function startOf({ deliveryId, sentAt }: Receipt, tries: TriesOf): number | undefined {
  return tries.get(deliveryId)?.find(({ sent }) => sent * 1000 === sentAt)?.started;
}

function windowFrom(receipts: Receipt[], from: number, lengthMs: number) {
  const { after, at } = receipts[from]!;
  const end = receipts.findIndex((one, n) => n > from && one.at - after >= lengthMs);
  const inside = receipts.slice(from, end < 0 ? receipts.length : end);
  const pids = [...new Set(inside.map(({ sender }) => sender.pid))];
  return { requests: inside.length, withinMs: inside.at(-1)!.at - at, noticedLateMs: at - after, pids };
}

interface Limited {
  character: Character;
  limit: Limit;
  receipts: Receipt[];
  deliveries: StoredDelivery[];
}

function judgeShares(
  { character, limit, receipts, deliveries }: Limited,
  { seen, calm, judged, problems }: { seen: Seen; calm: Stretch[]; judged: Stretch[]; problems: Problems },
): Record<string, string> {
  const windowMs = limit.seconds * 1000 + slackMs(limit.seconds * 1000);
  const work = workStretches(deliveries, receipts, { load: seen.load, atLeast: limit.count });
  const sums = new Map<number, { got: number; allowed: number; calm: Set<Stretch | undefined> }>();
  for (const stretch of judged.flatMap((part) => work.flatMap((busy) => overlap(part, busy)))) {
    const windows = Math.floor((stretch.to - stretch.from - seen.strictness.jitterMs) / windowMs);
    if (windows < 2) continue;
    // The last burst arrives late by the jitter and by the slack of each interval.
    const until = stretch.from + windows * windowMs + seen.strictness.jitterMs;
    const sum = sums.get(stretch.delayMs) ?? { got: 0, allowed: 0, calm: new Set() };
    sum.got += receipts.filter(({ at }) => at >= stretch.from && at < until).length;
    sum.allowed += windows * limit.count;
    sum.calm.add(calm.find(({ from, to }) => from <= stretch.from && stretch.to <= to));
    sums.set(stretch.delayMs, sum);
  }
  const shares: Record<string, string> = {};
  for (const [delayMs, { got, allowed, calm: stretches }] of sums) {
    // Requests come in bursts of the limit, and the last burst of a calm stretch may come just after its end.
    const least = seen.strictness.minShare * allowed - stretches.size * limit.count;

    const text = `${got} of ${allowed} (${Math.round((100 * got) / allowed)} %)`;
    shares[`${delayMs} ms`] = text;
    if (got < least)
      problems.add(
        'a limited endpoint gets what it may',
        `${character} got ${text} while work waited and answers of the database came ${delayMs} ms late`,
      );
  }
  return shares;
}

const overlap = (calm: Stretch, busy: { from: number; to: number }): Stretch[] => {
  const [from, to] = [Math.max(calm.from, busy.from), Math.min(calm.to, busy.to)];
  return from < to ? [{ from, to, delayMs: calm.delayMs }] : [];
};

function judgeWaits(
  { deliveries }: Stored,
  seen: Seen,
  { calm, problems }: { calm: Stretch[]; problems: Problems },
): void {
  const arrivals = new Map(seen.receipts.toReversed().map(({ deliveryId, at }) => [deliveryId, at]));
  for (const { from, to, delayMs } of calm) {
    const waitsOf = (character: Character) =>
      deliveries
        .filter((d) => seen.characterOf(d.endpoint_id) === character)
        .map((d) => ({ id: d.id, at: madeAt(d, seen.load), arrivedAt: arrivals.get(d.id) ?? Infinity }))
        .filter(({ at }) => at >= from && at < to)
        .map(({ id, at, arrivedAt }) => ({ id, made: showTime(at, seen), waitedMs: arrivedAt - at }));
    const slowestTwin = waitsOf('healthy').reduce((most, { waitedMs }) => Math.max(most, waitedMs), 0);
    const allowedMs = slowestTwin + seen.strictness.handoverMs + HANDOVER_ROUND_TRIPS * delayMs;
    problems.expectNone(
      'a limited endpoint gets what it may',
      `deliveries within their limit waited longer than ${allowedMs} ms (answers of the database ${delayMs} ms late)`,
      waitsOf('sparse').filter(({ waitedMs }) => waitedMs > allowedMs),
    );
  }
}
