import type { NewMetaEvent } from '../../domain/meta-event.ts';
import { byKey } from '../database/by-key.ts';
import type { HotQueryable } from '../database/database.ts';
import { PackedBytes, plainArray } from '../database/packed-bytes.ts';
import { bothForms, type OnConflict } from './insert-twice.ts';

/**
 * Records what became of a batch of deliveries: the attempts, the deliveries' new states, and the queue rows,
 * deleted for those that ended and handed back with a due time for those that will be tried again. One
 * statement, one commit.
 *
 * Only a delivery whose queue row is still held by this node under the same fence is moved. For any other the
 * attempt is kept, marked stale, and no state changes: a late node cannot overwrite a newer one.
 *
 * Every delivery update is HOT: no index names a column set here and the pages are half full.
 * The batch is sorted by id, so that two nodes lock rows in the same order. Round trips: 1.
 */
export interface AttemptRow {
  id: string;
  url: string;
  ipAddress: string | null;
  httpStatus: string | null;
  error: string | null;
  succeeded: boolean;
  requestHeaders: string;
  responseHeaders: string | null;
  responseBody: Buffer | null;
  timings: string;
  requestedAtMs: number;
  respondedAtMs: number | null;
}

export interface Finish {
  deliveryId: string;
  projectId: string;
  endpointId: string;
  fence: number;
  status: 'Success' | 'Failure' | 'Discarded' | 'Retry' | 'Scheduled';
  description: string | null;
  numTrials: number;
  latencyMs: number | null;
  /** Milliseconds until the next try; null when the delivery has ended. */
  delayMs: number | null;
  lane: number;
  key: string;
  /** The body a function made, to be kept for later tries. */
  body: Buffer | null;
  attempt: AttemptRow | null;
  /** The connection of the attempt was dropped: the next request belongs to the same try, and this one counts for nothing. */
  isSecondRequest?: boolean;
  /** To be stored with the outcome, if the project wants to be told. */
  metaEvent?: NewMetaEvent | undefined;
}

const cut = (n: number) =>
  `case when length_${n} >= 0 then substring($21::bytea from from_${n} for length_${n}) end`;
const cutText = (n: number) => `convert_from(${cut(n)}, 'UTF8')`;

const FINISH = bothForms(
  'finish-deliveries',
  (onConflict) => `
with f as materialized (
  select * from unnest($2::text[], $3::text[], $4::text[], $5::int[], $6::text[], $7::text[], $8::int[], $9::float8[],
    $10::float8[], $11::int[], $12::text[], $13::text[], $14::text[], $15::text[], $16::text[], $17::bool[],
    $18::float8[], $19::float8[], $20::text[],
    $22::int[], $23::int[], $24::int[], $25::int[], $26::int[], $27::int[], $28::int[], $29::int[], $30::text[],
    $31::bool[])
    as f(id, project_id, endpoint_id, fence, status, description, num_trials, latency_ms, delay_ms, lane,
      attempt_id, url, ip_address, http_status, error, succeeded, requested_ms, responded_ms, timings,
      from_1, length_1, from_2, length_2, from_3, length_3, from_4, length_4, key, is_second_request)
), gone as (
  delete from delivery_queue q using f
  where ${byKey('q.delivery_id', 'f.id')} and q.node_id = $1 and q.fence = f.fence and f.delay_ms is null
  returning q.delivery_id
), kept as (
  update delivery_queue q
  set node_id = null, fence = q.fence + 1, due_at = now() + f.delay_ms * interval '1 millisecond', lane = f.lane,
    key = f.key, is_started = false, is_second_request = f.is_second_request
  from f
  where ${byKey('q.delivery_id', 'f.id')} and q.node_id = $1 and q.fence = f.fence and f.delay_ms is not null
  returning q.delivery_id
), moved as materialized (
  select delivery_id from gone union all select delivery_id from kept
), attempts as (
  insert into delivery_attempts (id, delivery_id, project_id, endpoint_id, url, ip_address, http_status, error,
    succeeded, is_stale, request_headers, response_headers, response_body, timings, requested_at, responded_at)
  select attempt_id, id, project_id, endpoint_id, url, ip_address, http_status, error, succeeded,
    not coalesce(id in (select delivery_id from moved), false), ${cutText(1)}, ${cutText(2)}, ${cut(3)}, timings,
    to_timestamp(requested_ms / 1000), to_timestamp(responded_ms / 1000)
  from f where attempt_id is not null
  ${onConflict}
  returning id
), deliveries as (
  update event_deliveries d
  set status = f.status, description = f.description, num_trials = f.num_trials,
    latency_ms = coalesce(f.latency_ms, d.latency_ms), body = coalesce(${cut(4)}, d.body),
    next_send_at = coalesce(now() + f.delay_ms * interval '1 millisecond', d.next_send_at), updated_at = now()
  from f
  where ${byKey('d.id', 'f.id')} and coalesce(f.id in (select delivery_id from moved), false)
), counted as (
  insert into endpoint_counters (endpoint_id, minute, node_id, deliveries, successes, failures)
  select endpoint_id, date_trunc('minute', now()), $1, count(*) filter (where num_trials = 1),
    count(*) filter (where succeeded), count(*) filter (where not succeeded)
  -- sent again after a lost answer, an attempt is there already and was counted
  from f where coalesce(attempt_id in (select id from attempts), false) and not is_second_request
  group by endpoint_id order by endpoint_id
  on conflict (endpoint_id, minute, node_id) do update
  set deliveries = endpoint_counters.deliveries + excluded.deliveries,
    successes = endpoint_counters.successes + excluded.successes,
    failures = endpoint_counters.failures + excluded.failures
)
select delivery_id from moved`,
);

/** Ids of the deliveries that were moved; the others had been taken over by another node. */
export async function finishDeliveries(
  db: HotQueryable,
  nodeId: string,
  finishes: Finish[],
  onConflict: OnConflict = 'on conflict do nothing',
): Promise<Set<string>> {
  const { name, text } = FINISH[onConflict];
  const sorted = [...finishes].sort((a, b) => (a.deliveryId < b.deliveryId ? -1 : 1));
  const rows = await db.hot<{ delivery_id: string }>(name, text, [nodeId, ...parameters(sorted)]);
  return new Set(rows.map((row) => row.delivery_id));
}

function parameters(finishes: Finish[]): unknown[] {
  const attempts = finishes.map((f) => f.attempt);
  const packed = packLargeValues(finishes);
  return [
    plainArray(finishes.map((f) => f.deliveryId)),
    plainArray(finishes.map((f) => f.projectId)),
    plainArray(finishes.map((f) => f.endpointId)),
    plainArray(finishes.map((f) => f.fence)),
    plainArray(finishes.map((f) => f.status)),
    finishes.map((f) => f.description),
    plainArray(finishes.map((f) => f.numTrials)),
    plainArray(finishes.map((f) => f.latencyMs)),
    plainArray(finishes.map((f) => f.delayMs)),
    plainArray(finishes.map((f) => f.lane)),
    plainArray(attempts.map((a) => a?.id ?? null)),
    attempts.map((a) => a?.url ?? null),
    attempts.map((a) => a?.ipAddress ?? null),
    attempts.map((a) => a?.httpStatus ?? null),
    attempts.map((a) => a?.error ?? null),
    plainArray(attempts.map((a) => a?.succeeded ?? null)),
    plainArray(attempts.map((a) => a?.requestedAtMs ?? null)),
    plainArray(attempts.map((a) => a?.respondedAtMs ?? null)),
    attempts.map((a) => a?.timings ?? null),
    ...packed,
    plainArray(finishes.map((f) => f.key)),
    plainArray(finishes.map((f) => f.isSecondRequest ?? false)),
  ];
}

/** The large values of each finish in one buffer; the order of offsets follows the statement's columns. */
function packLargeValues(finishes: Finish[]): unknown[] {
  const packed = new PackedBytes();
  for (const { attempt, body } of finishes) {
    packed.add(attempt?.requestHeaders ?? null);
    packed.add(attempt?.responseHeaders ?? null);
    packed.add(attempt?.responseBody ?? null);
    packed.add(body);
  }
  const [bytes] = packed.parameters();
  const every = (values: number[], column: number) => plainArray(values.filter((_, i) => i % 4 === column));
  return [bytes, ...[0, 1, 2, 3].flatMap((n) => [every(packed.offsets, n), every(packed.lengths, n)])];
}
