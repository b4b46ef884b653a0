import type { ChaosLoad } from '../chaos-load.ts';
import { type Character, endpointsOf, type Profile, profileOf } from '../characters.ts';
import type { Fault } from '../fault-injector.ts';
import type { Receipt } from '../receiver/chaos-receiver.ts';
import type { Stored, StoredDelivery, StoredTry } from '../stored.ts';
import { type Duplicate, findDuplicates } from './duplicates.ts';
import { judgeLimits, type LimitFigures, type Strictness } from './judge-limits.ts';
import { judgeOnce } from './judge-once.ts';
import { judgeOrder } from './judge-order.ts';
import { judgeTries } from './judge-tries.ts';
import { lostEvents } from './lost.ts';
import { longestPauses, type Pause } from './pauses.ts';
import { Problems } from './problems.ts';

/**
 * The conditions that must hold once the faults are over and the queue is empty. Every broken promise is a
 * problem. duplicates.ts explains deliveries that were sent twice.
 */
export interface Seen {
  load: ChaosLoad;
  receipts: Receipt[];
  faults: Fault[];
  /** When a client waited for a token. */
  tokenWaits: { from: number; to: number }[];
  characterOf(endpointId: string): Character;
  strictness: Strictness;
}

export interface Verdict {
  problems: Problems;
  /** Accepted events that some endpoint did not get. */
  lost: number;
  deliveries: number;
  attempts: number;
  staleAttempts: number;
  duplicates: Duplicate[];
  limits: LimitFigures[];
  /** Deliveries whose order was judged. */
  ordered: number;
  pauses: Pause[];
}

export function judge(stored: Stored, seen: Seen): Verdict {
  const problems = new Problems();
  judgeEvents(stored, seen, problems);
  judgeDeliveries(stored, seen, problems);
  const { duplicates, again } = findDuplicates(seen.receipts, stored.tries, seen.faults);
  const promise = 'a duplicate is explained by a fault';
  problems.expectNone(promise, 'deliveries were sent again after an answer had been recorded', again);
  problems.expectNone(
    promise,
    'duplicates have no explanation',
    duplicates.filter(({ faults }) => faults.length === 0),
  );
  judgeOnce(stored, seen, problems);
  judgeTries(stored, seen, problems);
  const ordered = judgeOrder(stored, seen, problems);
  return {
    problems,
    lost: lostEvents(stored, seen).length,
    deliveries: stored.deliveries.length,
    attempts: stored.tries.length,
    staleAttempts: stored.tries.filter((own) => own.is_stale).length,
    duplicates,
    limits: judgeLimits(stored, seen, problems),
    ordered,
    pauses: longestPauses(seen),
  };
}

const LOST = 'nothing is lost';

function judgeEvents({ events, deliveries }: Stored, { load }: Seen, problems: Problems): void {
  const known = new Map(events.map((event) => [event.id, event]));
  const accepted = [...load.accepted.keys()];
  problems.expectNone(
    LOST,
    'accepted events are lost',
    accepted.filter((id) => !known.has(id)),
  );
  problems.expectNone(
    LOST,
    'events were wrongly reported as duplicates, or wrongly not',
    accepted.filter((id) => known.has(id) && known.get(id)?.is_duplicate !== load.duplicates.has(id)),
  );
  const keys = events.filter((event) => event.idempotency_key !== null && !event.is_duplicate);
  const repeatedKeys = repeated(keys.map((event) => event.idempotency_key));
  problems.expectNone(LOST, 'idempotency keys let two events through', repeatedKeys);
  const perEvent = Map.groupBy(deliveries, (delivery) => delivery.event_id);
  problems.expectNone(
    LOST,
    'events have another number of deliveries than endpoints',
    events.filter(
      ({ id, is_duplicate, event_type }) =>
        (perEvent.get(id)?.length ?? 0) !== (is_duplicate ? 0 : endpointsOf(event_type)),
    ),
  );
  problems.expectNone(
    LOST,
    'endpoints have two deliveries of one event',
    repeated(deliveries.map((d) => `${d.event_id} ${d.endpoint_id}`)),
  );
}

function judgeDeliveries(stored: Stored, { receipts, characterOf }: Seen, problems: Problems): void {
  const { deliveries, tries, queued, expansions } = stored;
  const triesOf = Map.groupBy(
    tries.filter((own) => !own.is_stale),
    (own) => own.delivery_id,
  );
  const acknowledged = new Set(receipts.filter((one) => one.isAcknowledged).map((one) => one.deliveryId));
  const profile = (d: StoredDelivery) => profileOf(characterOf(d.endpoint_id));
  const expectNone = (what: string, broken: unknown[]) => problems.expectNone(LOST, what, broken);
  expectNone(
    'deliveries did not succeed',
    deliveries.filter((d) => d.status !== 'Success' && !profile(d).isOnce),
  );
  expectNone(
    'successes without a request that was acknowledged',
    deliveries.filter((d) => d.status === 'Success' && !acknowledged.has(d.id)),
  );
  expectNone(
    'deliveries were recorded as successful other than once',
    deliveries.filter((d) => d.succeeded !== (d.status === 'Success' ? 1 : 0)),
  );
  expectNone(
    'deliveries count a different number of attempts than were recorded',
    deliveries.filter((d) => {
      const counted = countedTries(triesOf.get(d.id) ?? [], profile(d));
      // A batch that is divided uses no tries.
      return profile(d).batch === undefined ? d.num_trials !== counted : d.num_trials > counted;
    }),
  );
  expectNone('queue rows are left', queued);
  expectNone('expansions are left', expansions);
}

/**
 * A kept-alive connection that closed before an answer uses no retry, once. The next request belongs to the
 * same attempt.
 */
function countedTries(tries: StoredTry[], { isOnce }: Profile): number {
  if (isOnce) return tries.length;
  let isSecondRequest = false;
  return tries.filter(({ error }) => {
    isSecondRequest =
      !isSecondRequest && /closed a connection kept from an earlier request/.test(error ?? '');
    return !isSecondRequest;
  }).length;
}

function repeated<T>(values: T[]): T[] {
  const seen = new Set<T>();
  return values.filter((value) => seen.size === seen.add(value).size);
}
