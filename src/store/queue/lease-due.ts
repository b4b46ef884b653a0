import type { Leased, QueueKey } from '../../domain/delivery.ts';
import { PLACE_BYTES } from '../../domain/delivery-sink.ts';
import type { EventId, ProjectId } from '../../domain/ids.ts';
import { byKey } from '../database/by-key.ts';
import type { Database } from '../database/database.ts';
import { Parameters } from '../database/parameters.ts';

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

/** A row of the queue that this node has taken. */
export interface TakenRow {
  /** The id of a delivery or a meta event. */
  delivery_id: string;
  event_id: EventId;
  project_id: ProjectId;
  key: QueueKey;
  lane: number;
  fence: number;
  is_started: boolean;
  is_second_request: boolean;
  late_ms: number;
  /** A consumer had taken it, and its lease ended. */
  pulled_at: number | null;
  pulled_headers: string | null;
  ordering_id: string | null;
  place: number | null;
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
export const leaseStatement = (
  columns: string,
  join: string,
  sizes?: { bytes: string; join: string },
): string => `
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
interface LeaseStatement<T extends Leased> {
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
export async function leaseDue<T extends Leased>(
  db: Database,
  wanted: Wanted,
  statement: LeaseStatement<T>,
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

/**
 * The claims of statements that run at the same time, one per want in order. If one fails, others may be committed: that is
 * another error than its own, which may say that nothing was changed.
 */
export async function claimedTogether(
  wants: readonly Want[],
  statements: Promise<Claim[]>[],
): Promise<Claim[]> {
  const results = await Promise.allSettled(statements);
  const byWant = new Map<Want, Claim>();
  for (const result of results) {
    if (result.status === 'rejected')
      throw new Error('of several claims one failed', { cause: result.reason });
    for (const claim of result.value) byWant.set(claim.want, claim);
  }
  return wants.map((want) => byWant.get(want) as Claim);
}
