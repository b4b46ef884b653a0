import {
  BATCH_LANE,
  type Leased,
  type LeasedBatch,
  type LeasedDelivery,
  type LeasedMetaEvent,
  type QueueKey,
} from '../../domain/delivery.ts';
import { PLACE_BYTES } from '../../domain/delivery-sink.ts';
import { asId, type DeliveryId, type EndpointId, idTime } from '../../domain/ids.ts';
import { isMetaQueueKey } from '../../domain/meta-event.ts';
import { byKey } from '../database/by-key.ts';
import type { Database } from '../database/database.ts';
import { Parameters } from '../database/parameters.ts';
import { type RetryColumns, retryFields, retryOf } from '../database/retry-columns.ts';
import { inTheirPlaces } from '../ordering/enter-keys.ts';
import { CLAIMED_COLUMNS, CLAIMED_JOIN, fromRow, type TakenRow } from './claimed-delivery.ts';

/**
 * Claims due rows of the queue for this node: for each wanted (key, lane) the `count` longest due, with SKIP
 * LOCKED. The deliveries are joined, so a claim costs one round trip. Served by delivery_queue_claim (key,
 * lane, due_at); it reads only rows that it may take. A claim is by key and not over the whole queue, so that
 * an endpoint with 100,000 due rows cannot hide the others.
 */
export interface Want {
  key: QueueKey;
  lane: number;
  /** The most rows. */
  count: number;
  /** Their places in the window, if it is not as many. */
  places?: number;
}

export interface Wanted {
  nodeId: string;
  wants: readonly Want[];
  /** The free places of the window. */
  free: number;
}

/** The result of one want: the deliveries, and when the next row becomes due. */
export interface Claim<T extends Leased = Leased> {
  want: Want;
  deliveries: T[];
  /** Due rows were left because they are large. */
  isCut: boolean;
  /** Due rows were left because others held their locks. They may give them back untaken. */
  isMissed: boolean;
  nextDueInMs: number | null;
}

const parameters = new Parameters<Wanted>();
const node = parameters.one('text', (batch) => batch.nodeId);
const want = parameters.rows(
  (batch) => batch.wants,
  [
    ['key', 'id', (w) => w.key],
    ['lane', 'int', (w) => w.lane],
    ['count', 'int', (w) => w.count],
    ['places', 'int', (w) => w.places ?? w.count],
  ],
);
const free = parameters.one('int', (batch) => batch.free);

/**
 * The picked rows that fit into the places of their want, and of these the longest due that fit into the window.
 * The last one may need more: otherwise a row larger than the places would never be claimed. The length of a stored value
 * is known without reading it.
 */
const fitting = ({ bytes, join }: { bytes: string; join: string }): string => `sized as (
  select picked.*, 1 + coalesce(octet_length(${bytes}), 0) / ${PLACE_BYTES} as size from picked ${join}
), summed as (
  select sized.*, sum(size) over (partition by n order by due_at, delivery_id) - size < places as fits_want from sized
), fitting as materialized (
  select summed.*, fits_want and
    sum(size) filter (where fits_want) over (order by due_at, delivery_id) - size < ${free} as fits
  from summed
)`;

/**
 * `columns` of the tables that `join` adds to the claimed rows, which are named `leased`. `sizes`: the body of a picked row
 * and its tables, if rows may be large.
 */
const leaseStatement = (columns: string, join: string, sizes?: { bytes: string; join: string }): string => `
with picked as materialized (
  select want.n, want.places, q.*
  from ${want.numbered('want', 'n')}
  cross join lateral (
    select project_id, delivery_id, event_id, due_at from delivery_queue
    where key = want.key and lane = want.lane and node_id is null and due_at <= now()
    order by due_at
    limit want.count
    for update skip locked
  ) q
), ${sizes === undefined ? `fitting as (select picked.*, ${free} > 0 as fits from picked)` : fitting(sizes)}, leased as (
  update delivery_queue q set node_id = ${node}, fence = q.fence + 1
  from fitting where fitting.fits and ${byKey('q.delivery_id', 'fitting.delivery_id')}
  returning q.delivery_id, q.event_id, q.project_id, q.key, q.lane, q.fence, q.is_started,
    q.is_second_request, q.pulled_at, q.pulled_headers, q.ordering_id, q.place, extract(epoch from now() - q.due_at)::float8 * 1000 as late_ms
), asked as materialized (
  select want.*, exists (select from fitting where fitting.n = want.n and not fitting.fits) as is_cut,
    (select count(*) from picked where picked.n = want.n) < want.count and exists (
      select from delivery_queue q
      where q.key = want.key and q.lane = want.lane and q.node_id is null and q.due_at <= now()
        and not exists (select from picked where picked.n = want.n and picked.delivery_id = q.delivery_id)
    ) as is_missed, (
      select extract(epoch from q.due_at - now())::float8 * 1000 from delivery_queue q
      where q.key = want.key and q.lane = want.lane and q.node_id is null and q.due_at > now()
      order by q.due_at limit 1
    ) as next_due_in_ms
  from ${want.numbered('want', 'n', ['key', 'lane', 'count'])}
)
select asked.n, asked.is_cut, asked.is_missed, asked.next_due_in_ms, claimed.*
from asked
left join (
  select leased.*, ${columns} from leased ${join}
) claimed on claimed.key = asked.key and claimed.lane = asked.lane`;

/** `fromRow` takes the rows of its own statement. Only its caller knows the columns. */
interface ClaimStatement<T extends Leased> {
  name: string;
  text: string;
  fromRow(row: never): T;
}

interface Answer {
  n: number;
  is_cut: boolean;
  is_missed: boolean;
  next_due_in_ms: number | null;
  delivery_id: string | null;
}

/** One claim per want, in order. */
async function claimBy<T extends Leased>(
  db: Database,
  wanted: Wanted,
  statement: ClaimStatement<T>,
): Promise<Claim<T>[]> {
  const answers = await db.hot<Answer>(statement.name, statement.text, parameters.values(wanted));
  const claims = wanted.wants.map(
    (want): Claim<T> => ({ want, deliveries: [], isCut: false, isMissed: false, nextDueInMs: null }),
  );
  for (const answer of answers) {
    const claim = claims[answer.n - 1] as Claim<T>;
    claim.isCut = answer.is_cut;
    claim.isMissed = answer.is_missed;
    claim.nextDueInMs = answer.next_due_in_ms;
    if (answer.delivery_id !== null) claim.deliveries.push(statement.fromRow(answer as never));
  }
  return claims;
}

/** A row without its event is leased too, so that it does not stand before others for ever. */
const DELIVERIES = leaseStatement(CLAIMED_COLUMNS, CLAIMED_JOIN, {
  bytes: 'coalesce(d.body, e.payload)',
  join: `left join event_deliveries d on ${byKey('d.id', 'picked.delivery_id')}
  left join events e on ${byKey('e.id', 'picked.event_id')}`,
});

export const claimDeliveries = (db: Database, wanted: Wanted): Promise<Claim<LeasedDelivery>[]> =>
  claimBy(db, wanted, { name: 'claim-deliveries', text: DELIVERIES, fromRow });

/** Deliveries that only now take their places in ordering keys, and have to wait there, are left out. */
async function claimInOrder(db: Database, wanted: Wanted): Promise<Claim<LeasedDelivery>[]> {
  const claims = await claimDeliveries(db, wanted);
  const placed = await inTheirPlaces(
    db,
    claims.flatMap(({ deliveries }) => deliveries),
  );
  return claims.map((claim) => {
    const deliveries = claim.deliveries.filter((delivery) => placed.has(delivery));
    // More rows may be due where some were left out.
    return deliveries.length === claim.deliveries.length ? claim : { ...claim, deliveries, nextDueInMs: 0 };
  });
}

interface MetaEventRow extends TakenRow, RetryColumns {
  event_type: string;
  payload: Buffer;
  num_trials: number;
  budget_from: number;
}

const META_EVENTS = leaseStatement(
  `m.event_type, m.payload, ${retryFields('m')}, m.num_trials, m.budget_from`,
  'join meta_events m on m.id = leased.delivery_id',
);

export const claimMetaEvents = (db: Database, wanted: Wanted): Promise<Claim<LeasedMetaEvent>[]> =>
  claimBy(db, wanted, {
    name: 'claim-meta-events',
    text: META_EVENTS,
    fromRow: (row: MetaEventRow): LeasedMetaEvent => ({
      ...leasedRow(row),
      kind: 'meta',
      id: asId(row.delivery_id),
      target: asId(row.key),
      eventType: row.event_type,
      deliveryMode: 'at_least_once',
      retry: retryOf(row),
      numTrials: row.num_trials,
      budgetFrom: row.budget_from,
      body: row.payload,
      dueAt: null,
    }),
  });

interface BatchRow extends TakenRow {
  delivery_ids: DeliveryId[];
  endpoint_id: EndpointId | null;
}

/** Its deliveries are all of one endpoint. A first one that has ended may be removed by now. */
const BATCHES = leaseStatement(
  `b.delivery_ids, (
    select d.endpoint_id from event_deliveries d where d.project_id = b.project_id and d.id = b.delivery_ids[1]
  ) as endpoint_id`,
  `join delivery_queue b on ${byKey('b.delivery_id', 'leased.delivery_id')}`,
);

const claimBatches = (db: Database, wanted: Wanted): Promise<Claim<LeasedBatch>[]> =>
  claimBy(db, wanted, {
    name: 'claim-formed',
    text: BATCHES,
    fromRow: (row: BatchRow): LeasedBatch => ({
      ...leasedRow(row),
      kind: 'batch',
      id: asId(row.delivery_id),
      target: asId(row.endpoint_id ?? row.key),
      deliveryIds: row.delivery_ids,
      isStarted: row.is_started,
      probeFence: null,
    }),
  });

const leasedRow = (row: TakenRow) => ({
  fence: row.fence,
  key: row.key,
  lane: row.lane,
  projectId: row.project_id,
  isSecondRequest: row.is_second_request,
  acceptedAtMs: idTime(row.delivery_id),
  dueAt: performance.now() - row.late_ms,
});

function claimOf({ key, lane }: Want): (db: Database, wanted: Wanted) => Promise<Claim[]> {
  if (lane === BATCH_LANE.formed) return claimBatches;
  return isMetaQueueKey(key) ? claimMetaEvents : claimInOrder;
}

/**
 * Claims for a round: deliveries, meta events and batches, each kind with its statement. One result per want, in order. A
 * batch takes one place: the ids of 1,000 deliveries are 56 kB, and the deliveries are read once there is room for them
 * (engine/batching/batch-sender.ts).
 *
 * If one of several statements fails, others may be committed: that is another error than its own, which may say that
 * nothing was changed.
 */
export async function claimRows(db: Database, wanted: Wanted): Promise<Claim[]> {
  const { wants } = wanted;
  const statements = [...new Set(wants.map(claimOf))].map((claim) =>
    claim(db, { ...wanted, wants: wants.filter((want) => claimOf(want) === claim) }),
  );
  if (statements.length === 1) return statements[0] as Promise<Claim[]>;
  const byWant = new Map<Want, Claim>();
  for (const result of await Promise.allSettled(statements)) {
    if (result.status === 'rejected')
      throw new Error('of several claims one failed', { cause: result.reason });
    for (const claim of result.value) byWant.set(claim.want, claim);
  }
  return wants.map((want) => byWant.get(want) as Claim);
}
