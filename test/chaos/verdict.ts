import type { ChaosDatabase } from './chaos-database.ts';
import type { ChaosLoad } from './chaos-load.ts';
import type { Receipt } from './chaos-receiver.ts';
import { type Duplicate, findDuplicates, type StoredTry } from './duplicates.ts';
import type { Fault } from './fault-injector.ts';

/**
 * What must hold once the faults are over and the queue is empty. Every broken promise is one line in `problems`. What
 * explains a delivery that was sent twice is said in duplicates.ts.
 */
export interface Verdict {
  problems: string[];
  deliveries: number;
  attempts: number;
  staleAttempts: number;
  duplicates: Duplicate[];
}

interface StoredDelivery {
  id: string;
  event_id: string;
  event_type: string;
  endpoint_id: string;
  status: string;
  num_trials: number;
  counted: number;
  succeeded: number;
}

const DELIVERIES = `
  select d.id, d.event_id, d.event_type, d.endpoint_id, d.status, d.num_trials,
    (select count(*)::int from delivery_attempts a where a.delivery_id = d.id and not a.is_stale) as counted,
    (select count(*)::int from delivery_attempts a where a.delivery_id = d.id and not a.is_stale and a.succeeded) as succeeded
  from event_deliveries d`;
const TRIES = `
  select delivery_id, (request_headers::json ->> 'webhook-timestamp')::int as sent, is_stale,
    http_status is not null as is_answered
  from delivery_attempts`;
const SHOWN = 5;

export async function judge(
  database: ChaosDatabase,
  seen: { load: ChaosLoad; receipts: Receipt[]; faults: Fault[]; endpointsOf(eventType: string): number },
): Promise<Verdict> {
  const problems: string[] = [];
  const expectNone = (what: string, broken: unknown[]) => {
    if (broken.length > 0)
      problems.push(`${broken.length} ${what}, such as ${JSON.stringify(broken.slice(0, SHOWN))}`);
  };
  const deliveries = await database.query<StoredDelivery>(DELIVERIES);
  const events = await database.query<{
    id: string;
    event_type: string;
    is_duplicate: boolean;
    idempotency_key: string | null;
  }>('select id, event_type, is_duplicate, idempotency_key from events');
  const acknowledged = acknowledgedBy(seen.receipts);

  const known = new Map(events.map((event) => [event.id, event]));
  expectNone(
    'accepted events are lost',
    [...seen.load.accepted.keys()].filter((id) => !known.has(id)),
  );
  const answers = [...seen.load.accepted.keys()].filter(
    (id) => known.has(id) && known.get(id)?.is_duplicate !== seen.load.duplicates.has(id),
  );
  expectNone('events were answered as duplicates and are none, or the other way round', answers);
  const keys = events.filter((event) => event.idempotency_key !== null && !event.is_duplicate);
  expectNone('idempotency keys let two events through', repeated(keys.map((event) => event.idempotency_key)));

  const perEvent = Map.groupBy(deliveries, (delivery) => delivery.event_id);
  expectNone(
    'events have another number of deliveries than endpoints',
    events.filter(
      ({ id, is_duplicate, event_type }) =>
        (perEvent.get(id)?.length ?? 0) !== (is_duplicate ? 0 : seen.endpointsOf(event_type)),
    ),
  );
  expectNone(
    'endpoints have two deliveries of one event',
    repeated(deliveries.map((d) => `${d.event_id} ${d.endpoint_id}`)),
  );
  expectNone(
    'deliveries did not succeed',
    deliveries.filter((d) => d.status !== 'Success'),
  );
  expectNone(
    'successes without a request that was acknowledged',
    deliveries.filter((d) => d.status === 'Success' && !acknowledged.has(d.id)),
  );
  expectNone(
    'deliveries were recorded as successful other than once',
    deliveries.filter((d) => d.succeeded !== 1),
  );
  expectNone(
    'deliveries count other tries than were recorded',
    deliveries.filter((d) => d.counted !== d.num_trials),
  );
  expectNone('queue rows are left', await database.query('select * from delivery_queue'));
  expectNone('expansions are left', await database.query('select event_id from expansions'));

  const tries = await database.query<StoredTry>(TRIES);
  const { duplicates, again } = findDuplicates(seen.receipts, tries, seen.faults);
  expectNone('deliveries were sent again after an answer had been recorded', again);
  expectNone(
    'duplicates have no explanation',
    duplicates.filter(({ faults }) => faults.length === 0),
  );
  const [attempts] = await database.query<{ all: number; stale: number }>(
    'select count(*)::int as all, count(*) filter (where is_stale)::int as stale from delivery_attempts',
  );
  return {
    problems,
    deliveries: deliveries.length,
    attempts: attempts?.all ?? 0,
    staleAttempts: attempts?.stale ?? 0,
    duplicates,
  };
}

function acknowledgedBy(receipts: Receipt[]): Map<string, Receipt[]> {
  return Map.groupBy(
    receipts.filter((receipt) => receipt.isAcknowledged),
    (receipt) => receipt.deliveryId,
  );
}

function repeated<T>(values: T[]): T[] {
  const seen = new Set<T>();
  return values.filter((value) => seen.size === seen.add(value).size);
}
