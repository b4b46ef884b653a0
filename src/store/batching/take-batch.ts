import { BATCH_LANE, type LeasedBatch, type LeasedDelivery } from '../../domain/delivery.ts';
import { byKey } from '../database/by-key.ts';
import type { Database, HotQueryable } from '../database/database.ts';
import { CLAIMED_FIELDS, CLAIMED_JOIN, type ClaimedDeliveryRow, fromRow } from '../queue/claimed-delivery.ts';

const MINE = `q.batch_id = $2 and q.lane = ${BATCH_LANE.member}`;

/** The length of a stored value is known without reading it. */
const MEASURE = `
select coalesce(sum(octet_length(coalesce(d.body, e.payload))), 0)::float8 as "payloadBytes",
  coalesce(sum(coalesce(octet_length(coalesce(e.forwarded_headers, e.headers)), 0) + coalesce(octet_length(e.url_query_params), 0)
    + coalesce(octet_length(e.idempotency_key), 0) + coalesce(octet_length(d.function_request), 0)), 0)::float8 as "textBytes"
from delivery_queue q
join event_deliveries d on ${byKey('d.id', 'q.delivery_id')}
join events e on ${byKey('e.id', 'q.event_id')}
where q.project_id = $1 and q.delivery_id = any($3::text[]) and ${MINE}`;

/** The bytes of its deliveries. Functions may have made the payloads more than a batch was made of. */
export interface BatchSize {
  payloadBytes: number;
  /** Headers, and what else a sender or a function made as long as it liked. */
  textBytes: number;
}

export async function measureBatch(
  db: HotQueryable,
  { projectId, id, deliveryIds }: LeasedBatch,
): Promise<BatchSize> {
  const [row] = await db.hot<BatchSize>('measure-batch', MEASURE, [projectId, id, deliveryIds]);
  return row as BatchSize;
}

/**
 * Leases the deliveries of a batch that this node has claimed, with all that an attempt needs. All or none: after the death
 * of a node some of them may be free later than the batch itself.
 */
const TAKE = `
with held as (
  select from delivery_queue where project_id = $1 and delivery_id = $2 and node_id = $3 and fence = $4
), members as materialized (
  select q.project_id, q.delivery_id, q.node_id from delivery_queue q
  where q.project_id = $1 and q.delivery_id = any($5::text[]) and ${MINE}
  order by q.delivery_id for update
), leased as (
  update delivery_queue q set node_id = $3, fence = q.fence + 1
  from members
  where ${byKey('q.delivery_id', 'members.delivery_id')} and exists (select from held)
    and not exists (select from members where node_id <> $3)
  returning q.delivery_id, q.event_id, q.project_id, q.key, q.lane, q.fence, q.is_started, q.is_second_request,
    null::timestamptz as pulled_at, null as pulled_headers, q.ordering_id, q.place, 0::float8 as late_ms
)
select leased.*, ${CLAIMED_FIELDS}, coalesce((
    select w.delivery_id = leased.delivery_id from ordered_deliveries w
    where w.project_id = leased.project_id and w.ordering_id = leased.ordering_id and w.place = leased.place
  ), false) as is_behind, case when $6 then d.body end as body, case when $6 then e.payload else '' end as payload
from leased ${CLAIMED_JOIN}
order by leased.place nulls first, leased.delivery_id`;

/** A delivery that this node has leased but cannot read has lost its event. It can no longer be sent, so it does not count. */
const LEFT = `
select from delivery_queue
where project_id = $1 and delivery_id = any($2::text[]) and batch_id = $3 and lane = ${BATCH_LANE.member}
  and node_id is distinct from $4 limit 1`;

/**
 * The deliveries of the batch that are still open, those of a key in their order. Null: another node has some of them, or the
 * batch itself. `hasBodies`: they are read with their bodies.
 */
export async function takeBatch(
  db: Database,
  nodeId: string,
  { projectId, id, fence, deliveryIds }: LeasedBatch,
  hasBodies: boolean,
): Promise<LeasedDelivery[] | null> {
  const rows = await db.hot<ClaimedDeliveryRow & { is_behind: boolean }>('take-batch', TAKE, [
    projectId,
    id,
    nodeId,
    fence,
    deliveryIds,
    hasBodies,
  ]);
  if (rows.length > 0) return rows.map((row) => ({ ...fromRow(row), isBehind: row.is_behind }));
  const left = await db.query(LEFT, [projectId, deliveryIds, id, nodeId]);
  return left.length > 0 ? null : [];
}
