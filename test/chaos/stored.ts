import { type StoredRecord, unpacked } from '../../src/store/attempts/packed-attempt.ts';
import type { ChaosDatabase } from './chaos-database.ts';

/** The stored state at the end of a run. */
export interface StoredEvent {
  id: string;
  event_type: string;
  is_duplicate: boolean;
  idempotency_key: string | null;
}

export interface StoredDelivery {
  id: string;
  event_id: string;
  event_type: string;
  endpoint_id: string;
  status: string;
  description: string | null;
  num_trials: number;
  /** Attempts that succeeded and changed its state. */
  succeeded: number;
}

export interface StoredTry {
  delivery_id: string;
  /** The signed time of its request, in seconds. */
  sent: number;
  /** When it began, in milliseconds. */
  started: number;
  is_stale: boolean;
  is_answered: boolean;
  error: string | null;
}

export interface Stored {
  events: StoredEvent[];
  deliveries: StoredDelivery[];
  tries: StoredTry[];
  queued: object[];
  expansions: object[];
}

const DELIVERIES = `
  select d.id, d.event_id, d.event_type, d.endpoint_id, d.status, d.description, d.num_trials,
    coalesce(a.succeeded, 0)::int as succeeded
  from event_deliveries d left join (
    select delivery_id, count(*) as succeeded
    from attempts where not is_stale and succeeded group by delivery_id
  ) a on a.delivery_id = d.id`;
const TRIES = `
  select a.id, a.delivery_id, a.is_stale, extract(epoch from a.requested_at)::float8 * 1000 as started, a.template_id::float8,
    a.record, t.slots as template
  from attempts a left join attempt_templates t on t.project_id = a.project_id and t.id = a.template_id
  order by a.requested_at, a.id`;

interface TryRow extends StoredRecord {
  is_stale: boolean;
  started: number;
}

function toTry(row: TryRow): StoredTry {
  const { requestHeaders, httpStatus, error } = unpacked(row);
  const sent = Number(requestHeaders['webhook-timestamp']);
  const { delivery_id, is_stale, started } = row;
  return { delivery_id, sent, is_stale, started, is_answered: httpStatus !== null, error };
}

export async function readStored(database: ChaosDatabase): Promise<Stored> {
  const tries: StoredTry[] = [];
  // An attempt's record is far larger than what is judged of it.
  await database.queryInParts(TRIES, (row) => tries.push(toTry(row as TryRow)));
  return {
    events: await database.query('select id, event_type, is_duplicate, idempotency_key from events'),
    deliveries: await database.query(DELIVERIES),
    tries,
    queued: await database.query('select * from delivery_queue'),
    expansions: await database.query('select event_id from expansions'),
  };
}
