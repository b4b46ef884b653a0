import type { Place, QueueKey } from '../../domain/delivery.ts';
import type { AttemptTemplates, StoredTemplate } from '../attempts/attempt-templates.ts';
import type { PackedAttempt } from '../attempts/packed-attempt.ts';
import { latencyBucket } from '../counts/latency.ts';
import { isCounted } from '../counts/recent-counts.ts';
import { byKey } from '../database/by-key.ts';
import type { HotQueryable } from '../database/database.ts';
import { type Column, namesOf, Parameters, type Rows } from '../database/parameters.ts';
import { releaseNext } from '../ordering/release-next.ts';
import type { Finish } from './finish.ts';
import { bothForms, type OnConflict } from './insert-twice.ts';
import { inIdOrder, LEASED_BY_CONSUMER, leasedByNode, moveQueueRows } from './queue-rows.ts';

/** A finish with its attempt as it is stored. Kept: with the delivery. */
type PackedFinish = Finish & { record: PackedAttempt | null; isKept: boolean };

interface PackedBatch {
  finishes: readonly PackedFinish[];
  /** The templates that its attempts use. */
  templates: readonly StoredTemplate[];
}

/**
 * Records the outcomes of a batch of deliveries: the attempts, the deliveries' new states, and the queue
 * rows. Rows of ended deliveries are deleted, the others released with a due time. One statement, one commit.
 *
 * Only a delivery whose queue row this node still leases under the same fence is moved. For any other the
 * attempt is stored as stale, and no state changes: a late node cannot overwrite a newer one. Every delivery
 * update is HOT: no index includes a column set here and the pages have room for it. The batch is sorted by id,
 * so that two nodes lock rows in the same order. Round trips: 1.
 */
const attemptColumns: readonly Column<PackedFinish>[] = [
  ['id', 'id', ({ attempt }) => attempt?.id ?? null],
  ['succeeded', 'bool', ({ attempt }) => attempt?.succeeded ?? null],
  ['template_id', 'bigint', ({ record }) => record?.templateId ?? null],
  ['record', 'packed text', ({ record }) => record?.record ?? null],
  ['response_body', 'bytes', ({ attempt }) => attempt?.responseBody ?? null],
  ['requested_at', 'time', ({ attempt }) => attempt?.requestedAtMs ?? null],
];
const ATTEMPT = ['delivery_id', 'project_id', 'endpoint_id', ...namesOf(attemptColumns)];

/** A resend has no latency: it would include the wait for the retry by hand. */
function bucketOf({ delivery, latencyMs }: Finish): number | null {
  return latencyMs === null || delivery.budgetFrom > 0 ? null : latencyBucket(latencyMs);
}

const columns: readonly Column<PackedFinish>[] = [
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
  ['function_request', 'id', (f) => f.functionRequest],
  ['is_kept', 'bool', (f) => f.isKept],
  ...attemptColumns,
];

const templateColumns: readonly Column<StoredTemplate>[] = [
  ['project_id', 'id', (template) => template.projectId],
  ['id', 'bigint', (template) => template.id],
  ['slots', 'text', (template) => template.text],
];

const isMoved = (row: string) => `coalesce(${row}.delivery_id in (select delivery_id from moved), false)`;

/** The columns of a delivery that hold the attempt that ended it. */
const KEPT: readonly [column: string, name: string][] = [
  ['attempt_id', 'id'],
  ['attempt_succeeded', 'succeeded'],
  ['attempt_template_id', 'template_id'],
  ['attempt_record', 'record'],
  ['attempt_body', 'response_body'],
  ['attempt_at', 'requested_at'],
];

const orderedColumns: readonly Column<PackedFinish>[] = [
  ...columns,
  ['ordering_id', 'text', ({ delivery }) => delivery.orderingId],
  ['subscription_id', 'id', ({ delivery }) => delivery.subscriptionId],
];

/** An ordered delivery that ended lets the next of its key go, in the same commit. */
const ENDED = `ended as materialized (
  select f.project_id, f.ordering_id, f.delivery_id, (
    select s.id from subscriptions s
    where f.status = 'Failure' and s.id = f.subscription_id and s.deleted_at is null and s.ordering ->> 'on_failure' = 'hold') as held_by
  from f where f.ordering_id is not null and coalesce(f.delivery_id in (select delivery_id from gone), false)
), ${releaseNext()}`;

/**
 * A project that moves parks the leases of consumers. Their results come again where it goes on, with the same attempt id:
 * a stale attempt would be in their way. The lock reads the newest row, also of a move that began after the statement.
 */
const OPEN_PROJECTS = `open_projects as materialized (
  select p.id from projects p where p.cell_state is null
    and p.id in (select project_id from f where not ${isMoved('f')}) for key share of p
), `;

interface FinishRows {
  f: Rows;
  templates: Rows;
  isOrdered: boolean;
}

const finishText =
  ({ f, templates, isOrdered }: FinishRows, isLeased: string, unmovedOf?: 'open projects') =>
  (onConflict: OnConflict) =>
    `
with f as materialized (
  select * from ${f.as('f')}
), ${moveQueueRows(isLeased)}, templates as (
  insert into attempt_templates (${templates.names()}) select ${templates.stored()} from ${templates.as('t')}
  on conflict do nothing
), known as materialized (
  -- Stored before, by a batch whose answer was lost. Locked: the statement that stores it may just have ended, after
  -- this one began.
  select d.attempt_id from f join event_deliveries d on ${byKey('d.id', 'f.delivery_id')}
  where not ${isMoved('f')} for share of d
), ${unmovedOf === undefined ? '' : OPEN_PROJECTS}attempts as (
  insert into delivery_attempts (${f.names(ATTEMPT)}, is_stale)
  select ${f.stored({}, ATTEMPT)}, not ${isMoved('f')}
  from f where id is not null and not (is_kept and ${isMoved('f')}) and not coalesce(id in (select attempt_id from known), false)
    ${unmovedOf === undefined ? '' : `and (${isMoved('f')} or project_id in (select id from open_projects))`}
  ${onConflict}
  returning id
), deliveries as (
  update event_deliveries d
  set status = f.status, description = f.description, num_trials = f.num_trials,
    latency_ms = coalesce(f.latency_ms, d.latency_ms), last_outcome = coalesce(f.outcome, d.last_outcome), body = coalesce(${f.value('body')}, d.body),
    function_request = coalesce(f.function_request, d.function_request),
    next_send_at = coalesce(now() + f.delay_ms * interval '1 millisecond', d.next_send_at), updated_at = now(),
    ${KEPT.map(([column, name]) => `${column} = case when f.is_kept then ${f.value(name, 'f')} else d.${column} end`).join(', ')}
  from f
  where ${byKey('d.id', 'f.delivery_id')} and ${isMoved('f')}
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
    -- sent again after a lost answer, an attempt is there already and was counted; a request that our client refused to send
    -- says nothing of the endpoint
    select *, (coalesce(id in (select id from attempts), false) or is_kept and ${isMoved('f')}) and not is_second_request
        and outcome is distinct from 'invalid_request' as is_attempt,
      coalesce(delivery_id in (select delivery_id from gone), false) as is_end
    from f where is_counted
  ) outcomes
  where is_attempt or is_end
  group by project_id, endpoint_id, source_id
)${isOrdered ? `, ${ENDED}` : ''}
select delivery_id${isOrdered ? ', null as project_id, null as key, null::int as lane from moved union all select null, project_id, key, lane from released' : ' from moved'}`;

type HeldBatch = PackedBatch & { nodeId: string | null };

function statement(isOrdered: boolean, by: 'node' | 'consumer') {
  const parameters = new Parameters<HeldBatch>();
  const isLeased =
    by === 'node' ? leasedByNode(parameters.one('text', ({ nodeId }) => nodeId)) : LEASED_BY_CONSUMER;
  const f = parameters.rows(({ finishes }) => finishes, isOrdered ? orderedColumns : columns);
  const templates = parameters.rows((batch) => batch.templates, templateColumns);
  const unmovedOf = by === 'node' ? undefined : 'open projects';
  const name = `finish-${isOrdered ? 'ordered' : 'deliveries'}${by === 'node' ? '' : '-pulled'}`;
  return {
    parameters,
    texts: bothForms(name, finishText({ f, templates, isOrdered }, isLeased, unmovedOf)),
  };
}

const STATEMENTS = {
  node: { plain: statement(false, 'node'), ordered: statement(true, 'node') },
  consumer: { plain: statement(false, 'consumer'), ordered: statement(true, 'consumer') },
};

/** Whether it lets the next delivery of its ordering key go, or holds the key. */
export const endsInOrder = ({ delivery, delayMs }: Finish): boolean =>
  delivery.orderingId !== null && delayMs === null;

/**
 * The most bytes of an attempt that are kept with its delivery, the description included. Pages of deliveries have room
 * for that much more of each row (partitions.ts), so an end stays a HOT update.
 */
export const KEPT_BYTES = 176;

function packedBatch(attempts: AttemptTemplates, finishes: readonly Finish[]): PackedBatch {
  const templates = new Map<number, StoredTemplate>();
  const packed = inIdOrder(finishes).map((finish): PackedFinish => {
    const { attempt, delivery } = finish;
    if (attempt === null) return { ...finish, record: null, isKept: false };
    const { projectId, endpointId, id } = delivery;
    const made = attempts.pack({ projectId, endpointId, deliveryId: id }, attempt);
    if (made.template !== null) templates.set(made.template.id, made.template);
    const texts = made.packed.record + (finish.description ?? '');
    const bytes = Buffer.byteLength(texts) + (attempt.responseBody?.length ?? 0);
    // A resend began after an end, which has kept its attempt.
    const isKept = finish.delayMs === null && delivery.budgetFrom === 0 && bytes <= KEPT_BYTES;
    return { ...finish, record: made.packed, isKept };
  });
  return { finishes: packed, templates: [...templates.values()] };
}

/** `moved`: ids of the deliveries that were moved. Other nodes had claimed the rest. `released`: where others are due now. */
export interface Finished {
  moved: Set<string>;
  released: Place[];
}

/** `nodeId` is null for deliveries that consumers of pull endpoints have. Their leases have ended if they were not moved. */
export async function finishDeliveries(
  db: HotQueryable,
  { nodeId, templates }: { nodeId: string | null; templates: AttemptTemplates },
  finishes: readonly Finish[],
  onConflict: OnConflict = 'on conflict do nothing',
): Promise<Finished> {
  const statements = STATEMENTS[nodeId === null ? 'consumer' : 'node'];
  const { texts, parameters } = statements[finishes.some(endsInOrder) ? 'ordered' : 'plain'];
  const { name, text } = texts[onConflict];
  const values = parameters.values({ nodeId, ...packedBatch(templates, finishes) });
  const finished: Finished = { moved: new Set(), released: [] };
  for (const row of await db.hot<FinishedRow>(name, text, values)) {
    const { delivery_id, project_id, key, lane } = row;
    if (delivery_id === null) finished.released.push({ projectId: project_id, key, lane });
    else finished.moved.add(delivery_id);
  }
  return finished;
}

interface FinishedRow {
  delivery_id: string | null;
  project_id: string;
  key: QueueKey;
  lane: number;
}
