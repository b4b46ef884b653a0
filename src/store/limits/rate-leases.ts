import type { Place, QueueKey } from '../../domain/delivery.ts';
import { asId } from '../../domain/ids.ts';
import type { HotQueryable, Queryable } from '../database/database.ts';
import { FRESH_SECONDS, SILENT_SECONDS } from '../database/node-lease.ts';
import { plainArray } from '../database/packed-bytes.ts';
import { type Column, Parameters } from '../database/parameters.ts';

/**
 * Which node counts the sends of a limited endpoint: its own limit and those of its subscriptions together,
 * so that a delivery under two limits is counted in one place. A lease lasts while its node beats. It is free
 * once its node released it or is silent for SILENT_SECONDS. A silent node has begun no send since
 * FRESH_SECONDS after its last heartbeat (src/engine/queue/lease.ts).
 *
 * A node without a visible row in `nodes` does not count as silent, because it may have just started. The
 * code that removes a row of `nodes` frees the leases of that node (src/store/queue/nodes.ts).
 */
export const DUE_CHANNEL = 'posthorn_due';

export interface LeaseRequest {
  endpointId: string;
  /** Where its rows wait. If another node has the lease, it is notified of these places. */
  places: readonly Place[];
}

export interface TakenLease {
  endpointId: string;
  epoch: number;
  /** How long no earlier holder has begun a send. */
  quietMs: number;
  /** For each limit, how long before that its latest sends began, oldest first. Null: unknown. */
  sends: Record<string, number[]> | null;
}

/** A notification has 8,000 bytes at most, a place about 60. */
const PLACES_PER_NOTICE = 100;

const placeColumns: readonly Column<Place>[] = [
  ['project_id', 'id', (place) => place.projectId],
  ['key', 'id', (place) => place.key],
  ['lane', 'int', (place) => place.lane],
];

/** Notifies all nodes of the places that `from` numbers as n. */
const notify = (from: string) => `
select pg_notify('${DUE_CHANNEL}', string_agg(project_id || ' ' || key || ' ' || lane, ','))
from ${from}
group by (n - 1) / ${PLACES_PER_NOTICE}`;

const take = new Parameters<{ nodeId: string; requests: readonly LeaseRequest[] }>();
const taker = take.one('text', (batch) => batch.nodeId);
const asked = take.rows((batch) => batch.requests, [['endpoint_id', 'id', (request) => request.endpointId]]);
const places = take.rows(
  ({ requests }) =>
    requests.flatMap(({ endpointId, places: of }) => of.map((place) => ({ endpointId, ...place }))),
  [['endpoint_id', 'id', (place) => place.endpointId], ...placeColumns],
);

const TAKE = `
with taken as (
  insert into rate_leases as l (endpoint_id, node_id)
  select endpoint_id, ${taker} from ${asked.as('asked')} order by endpoint_id
  on conflict (endpoint_id) do update
  set node_id = ${taker},
    epoch = l.epoch + (l.node_id is distinct from ${taker})::int,
    quiet_since = case when l.node_id is null or l.node_id = ${taker} then l.quiet_since
      else (select n.beat_at + ${FRESH_SECONDS} * interval '1 second' from nodes n where n.id = l.node_id) end,
    sends = case when l.node_id is null or l.node_id = ${taker} then l.sends end
  -- compared with the time of the snapshot, which the rows of nodes are seen in
  where l.node_id is null or l.node_id = ${taker} or exists (select from nodes n where n.id = l.node_id
    and n.beat_at <= statement_timestamp() - ${SILENT_SECONDS} * interval '1 second')
  returning endpoint_id, epoch, quiet_since, sends
), notified as (
  ${notify(`${places.numbered('place', 'n')} where not coalesce(endpoint_id in (select endpoint_id from taken), false)`)}
)
select endpoint_id, epoch, extract(epoch from clock_timestamp() - quiet_since)::float8 * 1000 as quiet_ms, sends
from taken
union all
select null, null, null, null from notified`;

/** Takes leases that are free or this node's already, and notifies the holders of the others. */
export async function takeRateLeases(
  db: HotQueryable,
  nodeId: string,
  requests: readonly LeaseRequest[],
): Promise<TakenLease[]> {
  const rows = await db.hot<{
    endpoint_id: string | null;
    epoch: number;
    quiet_ms: number;
    sends: string | null;
  }>('take-rate-leases', TAKE, take.values({ nodeId, requests }));
  return rows.flatMap(({ endpoint_id, epoch, quiet_ms, sends }) =>
    endpoint_id === null
      ? []
      : [
          {
            endpointId: endpoint_id,
            epoch,
            quietMs: quiet_ms,
            sends: sends === null ? null : parseSends(sends),
          },
        ],
  );
}

const parseSends = (text: string): Record<string, number[]> => JSON.parse(text) as Record<string, number[]>;

const tell = new Parameters<readonly Place[]>();
const TELL = notify(tell.rows((due) => due, placeColumns).numbered('place', 'n'));

/** Notifies every node where rows wait. */
export async function notifyDue(db: HotQueryable, due: readonly Place[]): Promise<void> {
  await db.hot('tell-due', TELL, tell.values(due));
}

/** A notification without places: rows may wait anywhere. */
export const ANYWHERE = 'anywhere';

/** Notifies every node to look for rows. */
export async function notifyDueAnywhere(db: HotQueryable): Promise<void> {
  await db.hot('tell-anywhere', `select pg_notify('${DUE_CHANNEL}', '${ANYWHERE}')`, []);
}

export function parseDue(payload: string): Place[] {
  return payload.split(',').flatMap((place) => {
    const [projectId, key, lane] = place.split(' ');
    return projectId && key && lane ? [{ projectId, key: asId<QueueKey>(key), lane: Number(lane) }] : [];
  });
}

export interface ReturnedLease {
  endpointId: string;
  /** Sends that the next holder must count. `none`: the row's record of earlier holders stays valid. */
  sends: Record<string, number[]> | 'none' | 'unknown';
}

const giveBack = new Parameters<{ nodeId: string; leases: readonly ReturnedLease[] }>();
const giver = giveBack.one('text', (batch) => batch.nodeId);
const returned = giveBack.rows(
  (batch) => batch.leases,
  [
    ['endpoint_id', 'id', (lease) => lease.endpointId],
    ['sends', 'text', ({ sends }) => (typeof sends === 'string' ? null : JSON.stringify(sends))],
    ['is_used', 'bool', ({ sends }) => sends !== 'none'],
  ],
);
const RETURN = `
update rate_leases l set node_id = null,
  quiet_since = case when r.is_used then clock_timestamp() else l.quiet_since end,
  sends = case when r.is_used then r.sends else l.sends end
from ${returned.as('r')}
where l.endpoint_id = r.endpoint_id and l.node_id = ${giver}`;

export async function returnRateLeases(
  db: HotQueryable,
  nodeId: string,
  leases: readonly ReturnedLease[],
): Promise<void> {
  await db.hot('return-rate-leases', RETURN, giveBack.values({ nodeId, leases }));
}

/** Removes leases whose sends are all older than their limit: the next holder need not wait. */
export async function dropRateLeases(
  db: HotQueryable,
  nodeId: string,
  endpointIds: readonly string[],
): Promise<void> {
  await db.hot(
    'drop-rate-leases',
    'delete from rate_leases where endpoint_id = any($2::text[]) and node_id = $1',
    [nodeId, plainArray(endpointIds)],
  );
}

/** Frees the leases of removed nodes. Their sends are unknown. */
export async function freeRateLeases(tx: Queryable, nodeIds: readonly string[]): Promise<void> {
  await tx.query(
    `update rate_leases l set node_id = null, sends = null, quiet_since = least(clock_timestamp(),
       (select n.beat_at + ${FRESH_SECONDS} * interval '1 second' from nodes n where n.id = l.node_id))
     where node_id = any($1)`,
    [nodeIds],
  );
}

/** Nodes that have leases and no row any more, because a statement of theirs ran after they had left. */
export async function unknownHolders(tx: Queryable): Promise<string[]> {
  const rows = await tx.query<{ node_id: string }>(
    'select distinct node_id from rate_leases where node_id is not null and node_id not in (select id from nodes)',
  );
  return rows.map((row) => row.node_id);
}
