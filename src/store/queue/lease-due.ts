import type { Leased, QueueKey } from '../../domain/delivery.ts';
import type { EventId, ProjectId } from '../../domain/ids.ts';
import { byKey } from '../database/by-key.ts';
import type { Database } from '../database/database.ts';
import { Parameters } from '../database/parameters.ts';

/**
 * Claims due rows of the queue for this node: for each wanted (key, lane) the `count` longest due, with SKIP
 * LOCKED. The deliveries are joined, so a claim costs one round trip. Served by delivery_queue_claim (key,
 * lane, due_at); it touches only the rows it takes. A claim is by key and not over the whole queue, so that
 * an endpoint with 100,000 due rows cannot hide the others.
 */
export interface Want {
  key: QueueKey;
  lane: number;
  count: number;
}

/** The result of one want: the deliveries, and when the next row becomes due. */
export interface Claim<T extends Leased = Leased> {
  want: Want;
  deliveries: T[];
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

const parameters = new Parameters<{ nodeId: string; wants: readonly Want[] }>();
const node = parameters.one('text', (batch) => batch.nodeId);
const want = parameters.rows(
  (batch) => batch.wants,
  [
    ['key', 'id', (w) => w.key],
    ['lane', 'int', (w) => w.lane],
    ['count', 'int', (w) => w.count],
  ],
);

/** `columns` of the tables that `join` adds to the claimed rows, which are named `leased`. */
export const leaseStatement = (columns: string, join: string): string => `
with picked as materialized (
  select q.project_id, q.delivery_id
  from ${want.as('want')}
  cross join lateral (
    select project_id, delivery_id from delivery_queue
    where key = want.key and lane = want.lane and node_id is null and due_at <= now()
    order by due_at
    limit want.count
    for update skip locked
  ) q
), leased as (
  update delivery_queue q set node_id = ${node}, fence = q.fence + 1
  from picked where ${byKey('q.delivery_id', 'picked.delivery_id')}
  returning q.delivery_id, q.event_id, q.project_id, q.key, q.lane, q.fence, q.is_started,
    q.is_second_request, q.pulled_at, q.pulled_headers, q.ordering_id, q.place, extract(epoch from now() - q.due_at)::float8 * 1000 as late_ms
)
select want.n, (
    select extract(epoch from q.due_at - now())::float8 * 1000 from delivery_queue q
    where q.key = want.key and q.lane = want.lane and q.node_id is null and q.due_at > now()
    order by q.due_at limit 1
  ) as next_due_in_ms, claimed.*
from ${want.numbered('want', 'n', ['key', 'lane'])}
left join (
  select leased.*, ${columns} from leased ${join}
) claimed on claimed.key = want.key and claimed.lane = want.lane`;

/** `fromRow` takes the rows of its own statement. Only its caller knows the columns. */
interface LeaseStatement<T extends Leased> {
  name: string;
  text: string;
  fromRow(row: never): T;
}

interface Answer {
  n: number;
  next_due_in_ms: number | null;
  delivery_id: string | null;
}

/** One claim per want, in order. */
export async function leaseDue<T extends Leased>(
  db: Database,
  nodeId: string,
  wants: Want[],
  statement: LeaseStatement<T>,
): Promise<Claim<T>[]> {
  const values = parameters.values({ nodeId, wants });
  const answers = await db.hot<Answer>(statement.name, statement.text, values);
  const claims = wants.map((want): Claim<T> => ({ want, deliveries: [], nextDueInMs: null }));
  for (const answer of answers) {
    const claim = claims[answer.n - 1] as Claim<T>;
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
