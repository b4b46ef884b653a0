import type { LeasedDelivery } from '../../domain/delivery.ts';
import type { AttemptTemplates, StoredTemplate } from '../attempts/attempt-templates.ts';
import { latencyBucket } from '../counts/latency.ts';
import { isCounted } from '../counts/recent-counts.ts';
import { byKey } from '../database/by-key.ts';
import type { HotQueryable } from '../database/database.ts';
import { type Column, namesOf, Parameters, type Rows } from '../database/parameters.ts';
import { type Finish, type PackedBatch, type PackedFinish, packedBatch } from './finish.ts';
import { bothForms, type OnConflict } from './insert-twice.ts';
import { LEASED_BY_CONSUMER, leasedByNode, moveQueueRows } from './move-queue-rows.ts';

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

const finishText = (f: Rows, templates: Rows, isLeased: string) => (onConflict: OnConflict) =>
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
), attempts as (
  insert into delivery_attempts (${f.names(ATTEMPT)}, is_stale)
  select ${f.stored({}, ATTEMPT)}, not ${isMoved('f')}
  from f where id is not null and not (is_kept and ${isMoved('f')}) and not coalesce(id in (select attempt_id from known), false)
  ${onConflict}
  returning id
), deliveries as (
  update event_deliveries d
  set status = f.status, description = f.description, num_trials = f.num_trials,
    latency_ms = coalesce(f.latency_ms, d.latency_ms), last_outcome = coalesce(f.outcome, d.last_outcome), body = coalesce(${f.value('body')}, d.body),
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
    -- sent again after a lost answer, an attempt is there already and was counted
    select *, (coalesce(id in (select id from attempts), false) or is_kept and ${isMoved('f')}) and not is_second_request as is_attempt,
      coalesce(delivery_id in (select delivery_id from gone), false) as is_end
    from f where is_counted
  ) outcomes
  where is_attempt or is_end
  group by project_id, endpoint_id, source_id
)
select delivery_id from moved`;

const ofNode = new Parameters<PackedBatch & { nodeId: string }>();
const nodeId = ofNode.one('text', (batch) => batch.nodeId);
const ofConsumer = new Parameters<PackedBatch>();
const rowsOf = <B extends PackedBatch>(of: Parameters<B>): [Rows, Rows] => [
  of.rows(({ finishes }) => finishes, columns),
  of.rows(({ templates }) => templates, templateColumns),
];
const TEXTS = {
  node: bothForms('finish-deliveries', finishText(...rowsOf(ofNode), leasedByNode(nodeId))),
  consumer: bothForms('finish-pulled', finishText(...rowsOf(ofConsumer), LEASED_BY_CONSUMER)),
};

/** Ids of the deliveries that were moved. Other nodes had claimed the rest. */
export function finishDeliveries(
  db: HotQueryable,
  { nodeId, templates }: { nodeId: string; templates: AttemptTemplates },
  finishes: readonly Finish<LeasedDelivery>[],
  onConflict: OnConflict = 'on conflict do nothing',
): Promise<Set<string>> {
  return run(db, TEXTS.node[onConflict], ofNode.values({ nodeId, ...packedBatch(templates, finishes) }));
}

/** The same for deliveries that consumers of pull endpoints have. Their leases have ended if they were not moved. */
export function finishPulled(
  db: HotQueryable,
  templates: AttemptTemplates,
  finishes: readonly Finish<LeasedDelivery>[],
  onConflict: OnConflict = 'on conflict do nothing',
): Promise<Set<string>> {
  return run(db, TEXTS.consumer[onConflict], ofConsumer.values(packedBatch(templates, finishes)));
}

async function run(
  db: HotQueryable,
  { name, text }: { name: string; text: string },
  values: unknown[],
): Promise<Set<string>> {
  const rows = await db.hot<{ delivery_id: string }>(name, text, values);
  return new Set(rows.map((row) => row.delivery_id));
}
