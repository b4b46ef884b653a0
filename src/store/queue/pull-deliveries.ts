import { LANE, type LeasedDelivery, type QueueKey } from '../../domain/delivery.ts';
import type { DeliveryId, ProjectId } from '../../domain/ids.ts';
import type { Attempt } from '../attempts/attempt.ts';
import { attemptsByIds } from '../attempts/read-attempts.ts';
import { byKey } from '../database/by-key.ts';
import type { Database, HotQueryable, Queryable } from '../database/database.ts';
import { Parameters } from '../database/parameters.ts';
import { inTheirPlaces } from '../ordering/enter-keys.ts';
import {
  CLAIMED_COLUMNS,
  CLAIMED_FIELDS,
  CLAIMED_JOIN,
  type ClaimedDeliveryRow,
  fromRow,
} from './claimed-delivery.ts';
import { LEASED_BY_CONSUMER } from './queue-rows.ts';

/**
 * Rows of pull endpoints. States of a row, all without a node:
 *   waiting   -> in the lane of its try, due;
 *   preparing -> in the lane `leased`, due after PREPARE_SECONDS: a node makes the request for a consumer;
 *   leased    -> in the lane `leased` with `pulled_at`, due when the lease ends: a consumer has it.
 *
 * Each step raises the fence or names it, so a step that comes too late changes nothing. A row that becomes due in the
 * lane `leased` is claimed by any node: a leased one has had an attempt without a result, one in preparation was not
 * handed out and goes back untried.
 */
const PREPARE_SECONDS = 30;

interface Take {
  /** In the order in which they are looked through. */
  wants: readonly { key: QueueKey; lane: number }[];
  max: number;
  /** Bytes of bodies after which no further row is taken. */
  maxBytes: number;
}

const take = new Parameters<Take>();
const most = take.one('int', ({ max }) => max);
const mostBytes = take.one('bigint', ({ maxBytes }) => maxBytes);
const want = take.rows(
  ({ wants }) => wants,
  [
    ['key', 'id', (w) => w.key],
    ['lane', 'int', (w) => w.lane],
  ],
);

/** The length of a stored value is known without reading it. */
const TAKE = `
with picked as materialized (
  select q.*
  from ${want.as('want')}
  cross join lateral (
    select project_id, delivery_id, event_id, lane from delivery_queue
    where key = want.key and lane = want.lane and node_id is null and due_at <= now()
    order by due_at
    limit ${most}
    for update skip locked
  ) q
  limit ${most}
), sized as materialized (
  select picked.*, octet_length(coalesce(d.body, e.payload)) as bytes
  from picked
  join event_deliveries d on ${byKey('d.id', 'picked.delivery_id')}
  join events e on ${byKey('e.id', 'picked.event_id')}
), summed as materialized (
  select sized.*, sum(bytes) over (order by delivery_id) - bytes as before from sized
), leased as (
  update delivery_queue q
  set lane = ${LANE.leased}, due_at = now() + interval '${PREPARE_SECONDS} seconds', fence = q.fence + 1
  from summed
  where ${byKey('q.delivery_id', 'summed.delivery_id')} and summed.before < ${mostBytes}
  returning q.delivery_id, q.event_id, q.project_id, q.key, summed.lane, q.fence, q.is_started, q.is_second_request,
    null::timestamptz as pulled_at, null as pulled_headers, q.ordering_id, q.place, 0::float8 as late_ms
)
select leased.*, ${CLAIMED_COLUMNS} from leased ${CLAIMED_JOIN}
order by leased.delivery_id`;

/** Takes due rows for a consumer. They have the lanes in which they waited. */
export async function takeForConsumer(db: Database, taken: Take): Promise<LeasedDelivery[]> {
  const rows = await db.hot<ClaimedDeliveryRow>('take-for-consumer', TAKE, take.values(taken));
  return [...(await inTheirPlaces(db, rows.map(fromRow)))];
}

interface Fenced {
  id: DeliveryId;
  projectId: ProjectId;
  fence: number;
}

export interface HandedOut extends Fenced {
  /** JSON, as the attempt records them. */
  headers: string;
  /** From a function. Kept for later attempts. */
  body: Buffer | null;
  functionRequest: string | null;
}

const handOut = new Parameters<{ leaseSeconds: number; rows: readonly HandedOut[] }>();
const lease = handOut.one('int', ({ leaseSeconds }) => leaseSeconds);
const out = handOut.rows(
  ({ rows }) => rows,
  [
    ['project_id', 'id', (r) => r.projectId],
    ['id', 'id', (r) => r.id],
    ['fence', 'int', (r) => r.fence],
    ['headers', 'packed text', (r) => r.headers],
    ['body', 'bytes', (r) => r.body],
    ['function_request', 'id', (r) => r.functionRequest],
  ],
);
const HAND_OUT = `
with r as materialized (
  select * from ${out.as('r')}
), leased as (
  update delivery_queue q
  set pulled_at = now(), pulled_headers = ${out.value('headers', 'r')}, due_at = now() + ${lease} * interval '1 second'
  from r
  where ${byKey('q.delivery_id', 'r.id')} and q.fence = r.fence and ${LEASED_BY_CONSUMER}
  returning q.delivery_id, q.due_at
), kept as (
  update event_deliveries d set body = coalesce(${out.value('body', 'r')}, d.body),
    function_request = coalesce(r.function_request, d.function_request)
  from r
  where ${byKey('d.id', 'r.id')} and (r.body_length >= 0 or r.function_request is not null)
    and coalesce(r.id in (select delivery_id from leased), false)
)
select delivery_id, due_at from leased`;

/** Begins the leases. Returns when each ends; a row that is missing was lost meanwhile. */
export async function handOutDeliveries(
  db: HotQueryable,
  given: { leaseSeconds: number; rows: readonly HandedOut[] },
): Promise<Map<string, number>> {
  const rows = await db.hot<{ delivery_id: string; due_at: number }>(
    'hand-out-deliveries',
    HAND_OUT,
    handOut.values(given),
  );
  return new Map(rows.map((row) => [row.delivery_id, row.due_at]));
}

const putBack = new Parameters<readonly (Fenced & { lane: number })[]>();
const returned = putBack.rows(
  (rows) => rows,
  [
    ['project_id', 'id', (r) => r.projectId],
    ['id', 'id', (r) => r.id],
    ['fence', 'int', (r) => r.fence],
    ['lane', 'int', (r) => r.lane],
  ],
);
const PUT_BACK = `
update delivery_queue q
set lane = r.lane, due_at = now(), fence = q.fence + 1, pulled_at = null, pulled_headers = null
from ${returned.as('r')}
where ${byKey('q.delivery_id', 'r.id')} and q.fence = r.fence and ${LEASED_BY_CONSUMER}`;

/** Rows that a consumer does not have any more wait again, in their lanes, without an attempt. */
export async function putBackDeliveries(
  db: HotQueryable,
  rows: readonly (Fenced & { lane: number })[],
): Promise<void> {
  await db.hot('put-back-deliveries', PUT_BACK, putBack.values(rows));
}

const look = new Parameters<readonly { key: string; lane: number; most: number }[]>();
const looked = look.rows(
  (places) => places,
  [
    ['key', 'id', (p) => p.key],
    ['lane', 'int', (p) => p.lane],
    ['most', 'int', (p) => p.most],
  ],
);
const LOOK = `
select place.key, count(*)::int as due
from ${looked.as('place')}
cross join lateral (
  select from delivery_queue
  where key = place.key and lane = place.lane and node_id is null and due_at <= now()
  limit place.most
) q
group by place.key`;

/** How many rows are due, by key, `most` per place at most. Keys without any are missing. */
export async function dueRows(
  db: HotQueryable,
  places: readonly { key: string; lane: number; most: number }[],
): Promise<Map<string, number>> {
  const rows = await db.hot<{ key: string; due: number }>('due-rows', LOOK, look.values(places));
  return new Map(rows.map((row) => [row.key, row.due]));
}

/**
 * The deliveries of an endpoint that results name, whether or not a lease still runs. Without its queue row a delivery
 * has ended, and its result is late. The bodies are read only for meta events, because they may be large.
 */
export async function reportedDeliveries(
  db: Queryable,
  at: { projectId: string; endpointId: string; ids: readonly string[]; withBodies: boolean },
): Promise<Map<string, LeasedDelivery>> {
  const rows = await db.query<ClaimedDeliveryRow>(
    `select leased.*, ${CLAIMED_FIELDS}, case when $4 then d.body end as body,
       case when $4 then e.payload else '' end as payload
     from (
       select d.id as delivery_id, d.event_id, d.project_id, coalesce(q.key, d.endpoint_id) as key,
         coalesce(q.lane, 0) as lane, coalesce(q.fence, 0) as fence, false as is_started, false as is_second_request,
         q.pulled_at, q.pulled_headers, q.ordering_id, q.place, 0::float8 as late_ms
       from event_deliveries d
       left join delivery_queue q on ${byKey('q.delivery_id', 'd.id')}
       where d.project_id = $1 and d.id = any($3) and d.endpoint_id = $2
     ) leased ${CLAIMED_JOIN}`,
    [at.projectId, at.endpointId, at.ids, at.withBodies],
  );
  return new Map(rows.map((row) => [row.delivery_id, fromRow(row)]));
}

/** The result in a stored attempt. */
export type AttemptResult = Pick<Attempt, 'succeeded' | 'httpStatus' | 'error'>;

/** The attempts that are recorded and count, by id. */
export async function countedAttempts(
  db: Queryable,
  projectId: string,
  attempts: readonly { deliveryId: string; attemptId: string }[],
): Promise<Map<string, AttemptResult>> {
  const recorded = await attemptsByIds(db, projectId, attempts);
  return new Map(recorded.filter(({ isStale }) => !isStale).map((attempt) => [attempt.id, attempt]));
}
