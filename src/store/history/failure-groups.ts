import { BATCH_LANE, LANE, TEST_EVENT_TYPE } from '../../domain/delivery.ts';
import { firstIdAt } from '../../domain/ids.ts';
import type { Queryable } from '../database/database.ts';
import { OUTCOME, walkOf } from './delivery-groups.ts';
import { type DeliveryFilter, deliveryWalk, ofQueueRows } from './event-deliveries.ts';

/** Deliveries to one endpoint that failed for one cause. */
export interface FailureGroup {
  endpoint_id: string;
  outcome: string;
  /** Open deliveries, which are tried again. */
  retrying: number;
  /** Deliveries that ended as Failure. */
  failed: number;
  first_at: number;
  last_at: number;
  oldest: string;
  description: string | null;
  /** More of the endpoint wait than were counted. */
  has_more: boolean;
}

const GROUP = `d.endpoint_id, ${OUTCOME} as outcome,
       (count(*) filter (where d.status <> 'Failure'))::int as retrying,
       (count(*) filter (where d.status = 'Failure'))::int as failed,
       min(d.updated_at) as first_at, max(d.updated_at) as last_at, min(d.id) as oldest, max(d.description) as description`;

/** The deliveries of a filter by endpoint and the result of their last attempt. */
export function groupFailures(
  db: Queryable,
  projectId: string,
  filter: DeliveryFilter,
): Promise<FailureGroup[]> {
  const { from, where, values } = walkOf(projectId, filter);
  return db.query<FailureGroup>(
    `select ${GROUP}, false as has_more from ${from} where ${where} group by 1, 2`,
    values,
  );
}

/** When each of the deliveries first failed, of those that were tried. */
export async function firstFailures(
  db: Queryable,
  projectId: string,
  ids: readonly string[],
): Promise<Map<string, number>> {
  const rows = await db.query<{ id: string; at: number }>(
    `select delivery_id as id, min(requested_at) as at from attempts
     where project_id = $1 and delivery_id = any($2) and not succeeded group by 1`,
    [projectId, ids],
  );
  return new Map(rows.map(({ id, at }) => [id, at]));
}

/** Whether a project has more open deliveries than that. */
export async function hasMoreOpen(db: Queryable, projectId: string, than: number): Promise<boolean> {
  const [row] = await db.query<{ count: number }>(
    'select count(*)::int as count from (select from delivery_queue where project_id = $1 limit $2) q',
    [projectId, than + 1],
  );
  return row !== undefined && row.count > than;
}

/** Where deliveries wait that were tried: for their next try, with a consumer, or in a batch. */
const TRIED = `array[${LANE.retry}, ${LANE.leased}, ${BATCH_LANE.member}]`;
const WAITING = 'key = k.key and lane = l.lane and node_id is null';

/** Whether deliveries wait at the queue key `k.key` that were tried. */
export const HAS_TRIED = `exists (
         select from unnest(${TRIED}) l(lane)
         cross join lateral (select from delivery_queue where ${WAITING} limit 1) q)`;

/** The queue keys at which deliveries wait that were tried. */
export async function keysWithRetries(db: Queryable, keys: readonly string[]): Promise<string[]> {
  const rows = await db.query<{ key: string }>(
    `select k.key from unnest($1::text[]) k(key) where ${HAS_TRIED}`,
    [keys],
  );
  return rows.map(({ key }) => key);
}

/** The groups of at most so many deliveries that wait at each queue key: those that are due first. */
export async function sampleFailures(
  db: Queryable,
  projectId: string,
  { filter, keys, most }: { filter: DeliveryFilter; keys: readonly string[]; most: number },
): Promise<{ groups: FailureGroup[]; isWhole: boolean }> {
  const { where } = deliveryWalk(projectId, { ...filter, statuses: ['Retry'] });
  const at = where.place('unnest(?::text[]) k(key)', [...keys]);
  const limit = where.place('?::int', most);
  const rows = await db.query<FailureGroup & { any_more: boolean; endpoint_id: string | null }>(
    `with sampled as materialized (
       select q.project_id, q.delivery_id, count(*) over (partition by k.key, l.lane) >= ${limit} as has_more
       from ${at} cross join unnest(${TRIED}) l(lane)
       cross join lateral (
         select project_id, delivery_id from delivery_queue where ${WAITING} order by due_at limit ${limit}) q
     )
     select any_more, g.* from (select coalesce(bool_or(has_more), false) as any_more from sampled) s
     left join (
       select ${GROUP}, bool_or(q.has_more) as has_more from ${ofQueueRows('sampled')}
       where ${where.toString()} group by 1, 2
     ) g on true`,
    where.values,
  );
  return {
    groups: rows.filter(({ endpoint_id }) => endpoint_id !== null),
    isWhole: rows.every(({ any_more }) => !any_more),
  };
}

export interface LastFailure {
  endpoint_id: string;
  id: string;
  outcome: string;
  description: string | null;
  at: number;
}

const FAILURE = `d.id, coalesce(d.last_outcome, '') as outcome, d.description, d.updated_at as at`;

/**
 * A failed delivery of each endpoint: the newest of its last `among` since a time, else one that waits for its next attempt.
 * The sample of a test is none, because tests are not counted.
 * A paused endpoint may hold 100,000 deliveries without an attempt, so a scan to the first failed one has no bound.
 */
export function lastFailures(
  db: Queryable,
  projectId: string,
  { endpointIds, fromMs, among }: { endpointIds: readonly string[]; fromMs: number; among: number },
): Promise<LastFailure[]> {
  return db.query<LastFailure>(
    `select e.id as endpoint_id, f.id, f.outcome, f.description, f.at from unnest($2::text[]) e(id)
     cross join lateral (
       (select 1 as preference, ${FAILURE} from (
         select * from event_deliveries where project_id = $1 and endpoint_id = e.id and id >= $3
         order by id desc limit $4
       ) d where d.status in ('Retry', 'Failure') and d.event_type <> '${TEST_EVENT_TYPE}' order by d.id desc limit 1)
       union all
       (select 2, ${FAILURE} from ${ofQueueRows(`(
         select project_id, delivery_id from delivery_queue
         where key = e.id and lane = ${LANE.retry} and node_id is null order by due_at desc limit 1)`)}
        where d.status = 'Retry')
       order by preference limit 1
     ) f`,
    [projectId, endpointIds, firstIdAt(fromMs), among],
  );
}
