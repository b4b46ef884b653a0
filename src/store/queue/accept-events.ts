import { LANE, WAITS_FOR_TURN } from '../../domain/delivery.ts';
import type { EndpointId, EventId, ProjectId, SourceId } from '../../domain/ids.ts';
import { byKey } from '../database/by-key.ts';
import type { Database, HotQueryable } from '../database/database.ts';
import { Parameters } from '../database/parameters.ts';
import { placeDeliveries } from '../ordering/enter-keys.ts';
import {
  DUE_AT,
  deliveryColumns,
  INSERTED_COLUMNS,
  insertDeliveries,
  insertExpiries,
  type NewDelivery,
  QUEUED_COLUMNS,
} from './insert-deliveries.ts';
import { bothForms, insertTwice, type OnConflict } from './insert-twice.ts';
import { insertQueueRows } from './queue-rows.ts';

/**
 * Stores a batch of events with their idempotency keys, deliveries and queue rows: one statement, one commit.
 * - Each event was matched against a version of its project's config. If that version has changed, the events
 *   of the project are skipped and reported as `stale`. The caller matches them and sends them again.
 * - One insert decides each idempotency key. It is sorted, so that batches of two nodes cannot deadlock. An
 *   event that lost is stored as a duplicate, without deliveries.
 * - All ids are generated beforehand, so the statement is idempotent: after a lost answer the batch can be
 *   sent again and adds only missing rows. A queue row is inserted only together with its delivery, so a
 *   delivery that finished meanwhile does not return.
 * - No joins, only hashed subplans and arrays, so that table statistics cannot flip the plan.
 *
 * Locks: the rows it inserts. Round trips: 1. Measured: see docs/benchmark.md.
 */
export interface EventRow {
  id: EventId;
  projectId: ProjectId;
  configVersion: number;
  eventType: string;
  sourceId: SourceId | null;
  appId: string | null;
  status: string;
  failureReason: string | null;
  /** A replay runs the functions of its source again. */
  sourceFunctionFailed: boolean;
  idempotencyKey: string | null;
  endpointIds: readonly EndpointId[];
  headers: string | null;
  /** The headers of deliveries, if they are not all headers. */
  forwardedHeaders: string | null;
  payload: Buffer;
  contentType: string | null;
  urlQueryParams: string | null;
  urlPath: string | null;
  metadata: string | null;
  acknowledgedAtMs: number;
  /** JSON of its target. Null: every matching subscription. */
  target: string | null;
  /** Overrides the key expressions of subscriptions. */
  orderingKey: string | null;
  /** Null: at once. */
  deliverAtMs: number | null;
  /** Null: only its subscriptions say. */
  expiresAtMs: number | null;
}

/** An event with too many deliveries for one commit. They are created from this list afterwards. */
export interface ExpansionRow {
  eventId: EventId;
  projectId: ProjectId;
  subscriptionIds: readonly string[];
  deliverAtMs: number | null;
}

/** Duplicates, each with the first event of its idempotency key. Null: that is no longer known. */
export type Duplicates = Map<string, string | null>;

export interface AcceptResult {
  /** Projects whose config changed since matching, or while it went on. Nothing of theirs was stored. */
  staleProjects: Set<string>;
  duplicates: Duplicates;
  /**
   * Stored before, by a batch whose answer was lost. Nothing was added, and it is unknown whether each is a
   * duplicate.
   */
  knownEvents: Set<string>;
  /** Deliveries that wait for their turn in their ordering key. This node does not lease them. */
  waiting: Set<string>;
}

interface Batch {
  projects: readonly (readonly [id: string, version: number])[];
  events: readonly EventRow[];
  deliveries: readonly NewDelivery[];
  expansions: readonly ExpansionRow[];
  nodeId: string;
}

const accept = new Parameters<Batch>();
const projects = accept.rows(
  (batch) => batch.projects,
  [
    ['id', 'id', ([id]) => id],
    ['version', 'bigint', ([, version]) => version],
  ],
);
const events = accept.rows(
  (batch) => batch.events,
  [
    ['id', 'id', (e) => e.id],
    ['project_id', 'id', (e) => e.projectId],
    ['event_type', 'text', (e) => e.eventType],
    ['source_id', 'id', (e) => e.sourceId],
    ['app_id', 'text', (e) => e.appId],
    ['status', 'id', (e) => e.status],
    ['failure_reason', 'text', (e) => e.failureReason],
    ['source_function_failed', 'bool', (e) => e.sourceFunctionFailed],
    ['idempotency_key', 'text', (e) => e.idempotencyKey],
    ['endpoints', 'ids', (e) => e.endpointIds],
    ['headers', 'text', (e) => e.headers],
    ['forwarded_headers', 'text', (e) => e.forwardedHeaders],
    ['payload', 'bytes', (e) => e.payload],
    ['content_type', 'text', (e) => e.contentType],
    ['url_query_params', 'text', (e) => e.urlQueryParams],
    ['url_path', 'text', (e) => e.urlPath],
    ['metadata', 'text', (e) => e.metadata],
    ['acknowledged_at', 'time', (e) => e.acknowledgedAtMs],
    ['target', 'text', (e) => e.target],
    ['ordering_key', 'text', (e) => e.orderingKey],
    ['deliver_at', 'time', (e) => e.deliverAtMs],
    ['expires_at', 'time', (e) => e.expiresAtMs],
  ],
);
const deliveries = accept.rows((batch) => batch.deliveries, deliveryColumns);
const nodeId = accept.one('text', (batch) => batch.nodeId);
const expansions = accept.rows(
  (batch) => batch.expansions,
  [
    ['event_id', 'id', (x) => x.eventId],
    ['project_id', 'id', (x) => x.projectId],
    ['subscription_ids', 'ids', (x) => x.subscriptionIds],
    ['deliver_at', 'time', (x) => x.deliverAtMs],
  ],
);

/** A duplicate does not exist, whatever its match says. */
const AS_DUPLICATE = {
  status: "case when is_duplicate then 'Success' else status end",
  failure_reason: 'case when is_duplicate then null else failure_reason end',
  source_function_failed: 'source_function_failed and not is_duplicate',
  endpoints: "case when is_duplicate then '{}' else endpoints::text[] end",
};

const LEASED_BY = `case when leased then ${nodeId} end`;

// coalesce keeps these hashed lookups: a bare IN would become a join, and hash joins are off on this pool.
const IS_NEW = 'coalesce(id in (select id from new_deliveries), false)';

const UNORDERED = `new_queue as (
  ${insertQueueRows({ from: deliveries.as('q', QUEUED_COLUMNS), lane: LANE.first, dueAt: DUE_AT, nodeId: LEASED_BY })}
  where ${IS_NEW}
)`;

const ORDERED_COLUMNS = [...QUEUED_COLUMNS, 'ordering_id'];
const PLACED_COLUMNS = [...ORDERED_COLUMNS, 'subscription_id', 'endpoint_id'];

/** Only the heads of ordering keys can be sent. A delayed delivery takes its place when it is due. */
const ORDERED = `new_queue as (
  ${insertQueueRows({
    from: `(select o.*, null::bigint as place from ${deliveries.as('o', ORDERED_COLUMNS)}) o`,
    lane: LANE.first,
    dueAt: DUE_AT,
    nodeId: LEASED_BY,
    isOrdered: true,
  })}
  where ${IS_NEW} and (ordering_id is null or due_at is not null)
), ${placeDeliveries(`(
  select * from ${deliveries.as('o', PLACED_COLUMNS)}
  where ordering_id is not null and due_at is null and ${IS_NEW})`)}, ordered_queue as (
  ${insertQueueRows({
    from: 'turns',
    lane: `case when waits then ${LANE.first + WAITS_FOR_TURN} else ${LANE.first} end`,
    nodeId: `case when leased and not waits then ${nodeId} end`,
    isOrdered: true,
  })}
)`;

const acceptText = (newQueue: string) => (onConflict: OnConflict) =>
  `
with wanted as materialized (
  select w.id, w.version, p.version as now_version
  from ${projects.as('w')}
  left join lateral (select version from projects where id = w.id and deleted_at is null) p on true
), e as materialized (
  select * from ${events.as('e')}
  where project_id = any(array(select id from wanted where version = now_version))
), won as (
  insert into event_keys (project_id, key, event_id)
  select project_id, idempotency_key, id from e where idempotency_key is not null
  order by project_id, idempotency_key, id
  on conflict do nothing
  returning event_id
), duplicate as materialized (
  select e.id from e
  where e.idempotency_key is not null
    and e.id not in (select event_id from won)
    and not exists (
      select from event_keys k
      where k.project_id = e.project_id and k.key = e.idempotency_key and k.event_id = e.id)
), new_events as (
  insert into events (${events.names()}, is_duplicate)
  select ${events.stored(AS_DUPLICATE)}, is_duplicate
  from (select e.*, id in (select id from duplicate) as is_duplicate from e) as e
  order by id
  ${onConflict}
  returning id, project_id, status, is_duplicate, deliver_at
), new_delayed as (
  insert into delayed_events (project_id, event_id, deliver_at)
  select project_id, id, deliver_at from new_events
  where deliver_at > now() and status <> 'Failure' and not is_duplicate
), new_deliveries as (
  ${insertDeliveries(deliveries.as('d', INSERTED_COLUMNS))}
  where project_id = any(array(select id from wanted where version = now_version))
    and event_id not in (select id from duplicate)
    -- an event has the deliveries it was first stored with: matched again after a lost answer it gets no second set
    and coalesce(event_id in (select id from new_events), false)
  order by id
  ${onConflict}
  returning id, project_id, expires_at
), new_expiries as (
  ${insertExpiries('new_deliveries')}
), ${newQueue}, new_expansions as (
  insert into expansions (id, lane, ${expansions.names()})
  select event_id, ${LANE.first}, ${expansions.stored()} from ${expansions.as('x')}
  where project_id = any(array(select id from wanted where version = now_version))
    and event_id not in (select id from duplicate)
    and coalesce(event_id in (select id from new_events), false)
  ${onConflict}
)
select 'stale' as what, id from wanted where version is distinct from now_version
union all
select 'duplicate', id from duplicate
union all
select 'known', id from e where not coalesce(id in (select id from new_events), false)`;

/** A batch without ordered deliveries pays nothing for them. */
const ACCEPT = {
  plain: bothForms('accept-events', acceptText(UNORDERED)),
  ordered: bothForms(
    'accept-ordered-events',
    (onConflict) => `${acceptText(ORDERED)(onConflict)}
union all
select 'waiting', id from turns where waits`,
  ),
};

/** No version of a config. The config changed while the events of a batch were matched, so all of the project are stale. */
const SEVERAL = -1;

export type AcceptBatch = Omit<Batch, 'projects'>;

export async function acceptEvents(db: Database, batch: AcceptBatch): Promise<AcceptResult> {
  const values = valuesOf(batch);
  return insertTwice((onConflict) => insertEvents(db, batch, { values, onConflict }));
}

/** In a transaction of the caller, which makes sure that nothing of the batch is stored already. */
export async function acceptEventsIn(tx: HotQueryable, batch: AcceptBatch): Promise<AcceptResult> {
  return insertEvents(tx, batch, { values: valuesOf(batch), onConflict: '' });
}

function valuesOf(batch: AcceptBatch): unknown[] {
  const versions = new Map<ProjectId, number>();
  for (const { projectId, configVersion } of batch.events) {
    const isAlone = (versions.get(projectId) ?? configVersion) === configVersion;
    versions.set(projectId, isAlone ? configVersion : SEVERAL);
  }
  return accept.values({ ...batch, projects: [...versions] });
}

async function insertEvents(
  db: HotQueryable,
  batch: AcceptBatch,
  { values, onConflict }: { values: unknown[]; onConflict: OnConflict },
): Promise<AcceptResult> {
  const isOrdered = batch.deliveries.some(({ orderingId }) => orderingId !== null);
  const { name, text } = ACCEPT[isOrdered ? 'ordered' : 'plain'][onConflict];
  const rows = await db.hot<{ what: string; id: string }>(name, text, values);
  const pick = (what: string) => new Set(rows.filter((row) => row.what === what).map((row) => row.id));
  const duplicates = pick('duplicate');
  return {
    staleProjects: pick('stale'),
    duplicates: await firstOf(
      db,
      batch.events.filter(({ id }) => duplicates.has(id)),
    ),
    knownEvents: pick('known'),
    waiting: pick('waiting'),
  };
}

const firstOfKey = new Parameters<readonly EventRow[]>();
const keys = firstOfKey.rows(
  (rows) => rows,
  [
    ['id', 'id', (e) => e.id],
    ['project_id', 'id', (e) => e.projectId],
    ['key', 'text', (e) => e.idempotencyKey],
  ],
);
const FIRST_OF_KEY = `
select d.id, (select event_id from event_keys k where k.project_id = d.project_id and k.key = d.key) as first
from ${keys.as('d')}`;

/**
 * The first event of each duplicate's key. It is read after the statement that decided, because that
 * statement does not see an event of the same batch, or one that another node was just storing.
 */
async function firstOf(db: HotQueryable, duplicates: readonly EventRow[]): Promise<Duplicates> {
  if (duplicates.length === 0) return new Map();
  const rows = await db.hot<{ id: string; first: string | null }>(
    'first-of-key',
    FIRST_OF_KEY,
    firstOfKey.values(duplicates),
  );
  return new Map(rows.map(({ id, first }) => [id, first]));
}

/** Which of the events are stored as duplicates, and of which event. */
export async function storedDuplicates(
  db: Database,
  events: readonly Pick<EventRow, 'id' | 'projectId'>[],
): Promise<Duplicates> {
  const rows = await db.query<{ id: string; first: string | null }>(
    `select e.id, (
       select event_id from event_keys f where f.project_id = e.project_id and f.key = e.idempotency_key
     ) as first
     from unnest($1::text[], $2::text[]) as k(project_id, id)
     join events e on ${byKey('e.id', 'k.id')} where e.is_duplicate`,
    [events.map((event) => event.projectId), events.map((event) => event.id)],
  );
  return new Map(rows.map(({ id, first }) => [id, first]));
}
