import type { EndedStatus, Leased, LeasedDelivery, OpenStatus, QueueKey } from '../../domain/delivery.ts';
import type { NewMetaEvent } from '../../domain/meta-event.ts';
import { latencyBucket } from '../counts/latency.ts';
import { isCounted } from '../counts/recent-counts.ts';
import { byKey } from '../database/by-key.ts';
import type { HotQueryable } from '../database/database.ts';
import { type Column, namesOf, Parameters, type Rows } from '../database/parameters.ts';
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

/** A resend has no latency: it would include the wait for the retry by hand. */
function bucketOf({ delivery, latencyMs }: Finish): number | null {
  return latencyMs === null || delivery.budgetFrom > 0 ? null : latencyBucket(latencyMs);
}

const columns: readonly Column<Finish<LeasedDelivery>>[] = [
  ['delivery_id', 'id', ({ delivery }) => delivery.id],
  ['project_id', 'id', ({ delivery }) => delivery.projectId],
  ['endpoint_id', 'id', ({ delivery }) => delivery.endpointId],
  ['source_id', 'id', ({ delivery }) => delivery.sourceId],
  ['fence', 'int', ({ delivery }) => delivery.fence],
  ['status', 'id', (f) => f.status],
  ['description', 'text', (f) => f.description],
  ['num_trials', 'int', (f) => f.numTrials],
  ['latency_ms', 'float8', (f) => f.latencyMs],
  ['delay_ms', 'float8', (f) => f.delayMs],
  ['lane', 'int', (f) => f.lane],
  ['key', 'id', (f) => f.key],
  ['is_second_request', 'bool', (f) => f.isSecondRequest],
  ['is_counted', 'bool', ({ delivery, attempt }) => isCounted(delivery, attempt?.url)],
  ['is_resent', 'bool', ({ delivery }) => delivery.budgetFrom > 0],
  ['latency_bucket', 'int', bucketOf],
  ['outcome', 'id', ({ attempt }) => attempt?.outcome ?? null],
  ['body', 'bytes', (f) => f.body],
  ...attemptColumns,
];

const finishText = (f: Rows, isLeased: string) => (onConflict: OnConflict) =>
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
  insert into recent_counts (project_id, endpoint_id, source_id, minute, first_attempts, attempts, failed_attempts,
    resent_attempts, delivered, failed, discarded, latencies)
  select project_id, endpoint_id, source_id, date_trunc('minute', now()),
    count(*) filter (where is_attempt and num_trials = 1), count(*) filter (where is_attempt),
    count(*) filter (where is_attempt and not succeeded), count(*) filter (where is_attempt and is_resent),
    count(*) filter (where is_end and status = 'Success'), count(*) filter (where is_end and status = 'Failure'),
    count(*) filter (where is_end and status = 'Discarded'),
    coalesce(array_agg(latency_bucket::smallint) filter (where is_end and latency_bucket is not null), '{}')
  from (
    -- sent again after a lost answer, an attempt is there already and was counted
    select *, coalesce(id in (select id from attempts), false) and not is_second_request as is_attempt,
      coalesce(delivery_id in (select delivery_id from gone), false) as is_end
    from f where is_counted
  ) outcomes
  where is_attempt or is_end
  group by project_id, endpoint_id, source_id
)
select delivery_id from moved`;

const ofNode = new Parameters<Batch>();
const nodeId = ofNode.one('text', (batch) => batch.nodeId);
const ofConsumer = new Parameters<Omit<Batch, 'nodeId'>>();
const TEXTS = {
  node: bothForms(
    'finish-deliveries',
    finishText(
      ofNode.rows(({ finishes }) => finishes, columns),
      leasedByNode(nodeId),
    ),
  ),
  consumer: bothForms(
    'finish-pulled',
    finishText(
      ofConsumer.rows(({ finishes }) => finishes, columns),
      LEASED_BY_CONSUMER,
    ),
  ),
};

/** Ids of the deliveries that were moved. Other nodes had claimed the rest. */
export function finishDeliveries(
  db: HotQueryable,
  nodeId: string,
  finishes: readonly Finish<LeasedDelivery>[],
  onConflict: OnConflict = 'on conflict do nothing',
): Promise<Set<string>> {
  return run(db, TEXTS.node[onConflict], ofNode.values({ nodeId, finishes: inIdOrder(finishes) }));
}

/** The same for deliveries that consumers of pull endpoints have. Their leases have ended if they were not moved. */
export function finishPulled(
  db: HotQueryable,
  finishes: readonly Finish<LeasedDelivery>[],
  onConflict: OnConflict = 'on conflict do nothing',
): Promise<Set<string>> {
  return run(db, TEXTS.consumer[onConflict], ofConsumer.values({ finishes: inIdOrder(finishes) }));
}

async function run(
  db: HotQueryable,
  { name, text }: { name: string; text: string },
  values: unknown[],
): Promise<Set<string>> {
  const rows = await db.hot<{ delivery_id: string }>(name, text, values);
  return new Set(rows.map((row) => row.delivery_id));
}
