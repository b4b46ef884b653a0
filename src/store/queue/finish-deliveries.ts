import type { EndedStatus, Leased, LeasedDelivery, OpenStatus, QueueKey } from '../../domain/delivery.ts';
import type { NewMetaEvent } from '../../domain/meta-event.ts';
import { byKey } from '../database/by-key.ts';
import type { HotQueryable } from '../database/database.ts';
import { type Column, namesOf, Parameters } from '../database/parameters.ts';
import { bothForms, type OnConflict } from './insert-twice.ts';
import { inIdOrder, LEASED_BY_CONSUMER, leasedByNode, moveQueueRows } from './move-queue-rows.ts';

/**
 * Records the outcomes of a batch of deliveries: the attempts, the deliveries' new states, and the queue
 * rows. Rows of ended deliveries are deleted, the others released with a due time. One statement, one commit.
 *
 * Only a delivery whose queue row this node still leases under the same fence is moved. For any other the
 * attempt is stored as stale, and no state changes: a late node cannot overwrite a newer one. Every delivery
 * update is HOT: no index includes a column set here and the pages are half full. The batch is sorted by id,
 * so that two nodes lock rows in the same order. Round trips: 1.
 */
export interface AttemptRow {
  id: string;
  url: string;
  ipAddress: string | null;
  httpStatus: string | null;
  /** See src/domain/delivery.ts. Kept with the delivery. */
  outcome: string;
  error: string | null;
  succeeded: boolean;
  requestHeaders: string;
  responseHeaders: string | null;
  responseBody: Buffer | null;
  timings: string;
  requestedAtMs: number;
  respondedAtMs: number | null;
}

/** The record of an attempt, of a delivery or a meta event. */
export type Finish<T extends Leased = Leased> = NextState & {
  delivery: T;
  description: string | null;
  numTrials: number;
  latencyMs: number | null;
  lane: number;
  key: QueueKey;
  /** The body from a function, kept for later attempts. */
  body: Buffer | null;
  attempt: AttemptRow | null;
  /** The connection was dropped: the next request belongs to the same attempt, and this one does not count. */
  isSecondRequest: boolean;
  /** Stored with the outcome. Null: the project does not want it. */
  metaEvent: NewMetaEvent | null;
};

/** An open delivery is tried again after `delayMs`; an ended one is not. */
export type NextState = { status: OpenStatus; delayMs: number } | { status: EndedStatus; delayMs: null };

interface Batch {
  nodeId: string;
  finishes: readonly Finish<LeasedDelivery>[];
}

const attemptColumns: readonly Column<Finish>[] = [
  ['id', 'id', ({ attempt }) => attempt?.id ?? null],
  ['url', 'text', ({ attempt }) => attempt?.url ?? null],
  ['ip_address', 'text', ({ attempt }) => attempt?.ipAddress ?? null],
  ['http_status', 'text', ({ attempt }) => attempt?.httpStatus ?? null],
  ['error', 'text', ({ attempt }) => attempt?.error ?? null],
  ['succeeded', 'bool', ({ attempt }) => attempt?.succeeded ?? null],
  ['request_headers', 'packed text', ({ attempt }) => attempt?.requestHeaders ?? null],
  ['response_headers', 'packed text', ({ attempt }) => attempt?.responseHeaders ?? null],
  ['response_body', 'bytes', ({ attempt }) => attempt?.responseBody ?? null],
  ['timings', 'text', ({ attempt }) => attempt?.timings ?? null],
  ['requested_at', 'time', ({ attempt }) => attempt?.requestedAtMs ?? null],
  ['responded_at', 'time', ({ attempt }) => attempt?.respondedAtMs ?? null],
];
const ATTEMPT = ['delivery_id', 'project_id', 'endpoint_id', ...namesOf(attemptColumns)];

const parameters = new Parameters<Batch>();
const nodeId = parameters.one('text', (batch) => batch.nodeId);
const f = parameters.rows(
  (batch) => batch.finishes,
  [
    ['delivery_id', 'id', ({ delivery }) => delivery.id],
    ['project_id', 'id', ({ delivery }) => delivery.projectId],
    ['endpoint_id', 'id', ({ delivery }) => delivery.endpointId],
    ['fence', 'int', ({ delivery }) => delivery.fence],
    ['status', 'id', (f) => f.status],
    ['description', 'text', (f) => f.description],
    ['num_trials', 'int', (f) => f.numTrials],
    ['latency_ms', 'float8', (f) => f.latencyMs],
    ['delay_ms', 'float8', (f) => f.delayMs],
    ['lane', 'int', (f) => f.lane],
    ['key', 'id', (f) => f.key],
    ['is_second_request', 'bool', (f) => f.isSecondRequest],
    ['outcome', 'id', ({ attempt }) => attempt?.outcome ?? null],
    ['body', 'bytes', (f) => f.body],
    ...attemptColumns,
  ],
);

const finishText = (isLeased: string) => (onConflict: OnConflict) =>
  `
with f as materialized (
  select * from ${f.as('f')}
), ${moveQueueRows(isLeased)}, attempts as (
  insert into delivery_attempts (${f.names(ATTEMPT)}, is_stale)
  select ${f.stored({}, ATTEMPT)}, not coalesce(delivery_id in (select delivery_id from moved), false)
  from f where id is not null
  ${onConflict}
  returning id
), deliveries as (
  update event_deliveries d
  set status = f.status, description = f.description, num_trials = f.num_trials,
    latency_ms = coalesce(f.latency_ms, d.latency_ms), last_outcome = coalesce(f.outcome, d.last_outcome), body = coalesce(${f.value('body')}, d.body),
    next_send_at = coalesce(now() + f.delay_ms * interval '1 millisecond', d.next_send_at), updated_at = now()
  from f
  where ${byKey('d.id', 'f.delivery_id')} and coalesce(f.delivery_id in (select delivery_id from moved), false)
), counted as (
  insert into endpoint_counters (endpoint_id, minute, node_id, deliveries, successes, failures)
  select endpoint_id, date_trunc('minute', now()), ${nodeId}, count(*) filter (where num_trials = 1),
    count(*) filter (where succeeded), count(*) filter (where not succeeded)
  -- sent again after a lost answer, an attempt is there already and was counted
  from f where coalesce(id in (select id from attempts), false) and not is_second_request
  group by endpoint_id order by endpoint_id
  on conflict (endpoint_id, minute, node_id) do update
  set deliveries = endpoint_counters.deliveries + excluded.deliveries,
    successes = endpoint_counters.successes + excluded.successes,
    failures = endpoint_counters.failures + excluded.failures
)
select delivery_id from moved`;

const FINISH = {
  node: bothForms('finish-deliveries', finishText(leasedByNode(nodeId))),
  consumer: bothForms('finish-pulled', finishText(LEASED_BY_CONSUMER)),
};

/** Ids of the deliveries that were moved. Other nodes had claimed the rest. */
export function finishDeliveries(
  db: HotQueryable,
  nodeId: string,
  finishes: readonly Finish<LeasedDelivery>[],
  onConflict: OnConflict = 'on conflict do nothing',
): Promise<Set<string>> {
  return run(db, FINISH.node[onConflict], { nodeId, finishes });
}

/** The same for deliveries that consumers of pull endpoints have. Their leases have ended if they were not moved. */
export function finishPulled(
  db: HotQueryable,
  nodeId: string,
  finishes: readonly Finish<LeasedDelivery>[],
  onConflict: OnConflict = 'on conflict do nothing',
): Promise<Set<string>> {
  return run(db, FINISH.consumer[onConflict], { nodeId, finishes });
}

async function run(
  db: HotQueryable,
  { name, text }: { name: string; text: string },
  { nodeId, finishes }: Batch,
): Promise<Set<string>> {
  const values = parameters.values({ nodeId, finishes: inIdOrder(finishes) });
  const rows = await db.hot<{ delivery_id: string }>(name, text, values);
  return new Set(rows.map((row) => row.delivery_id));
}
