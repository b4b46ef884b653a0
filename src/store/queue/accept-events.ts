import { byKey } from '../database/by-key.ts';
import type { Database } from '../database/database.ts';
import { PackedBytes, plainArray } from '../database/packed-bytes.ts';
import { bothForms, insertTwice } from './insert-twice.ts';

/**
 * Stores a batch of events with their idempotency keys, deliveries and queue rows: one statement, one commit.
 *
 * - Each event was matched against a version of its project's config. Events of a project that has moved on are
 *   left out and reported as `stale`; the caller matches them again and sends them anew.
 * - One insert decides each idempotency key; it is sorted, so that batches of two nodes cannot deadlock. An event
 *   that lost is stored as a duplicate, without deliveries.
 * - All ids are made beforehand, so a batch whose answer was lost can be sent again and adds only what is missing: a
 *   queue row is made only together with its delivery, so nothing that finished meanwhile comes back.
 * - No joins, only hashed subplans and arrays: the plan cannot flip with the tables' statistics.
 *
 * Locks: the rows it inserts. Round trips: 1. Measured: see docs/benchmark.md.
 */
export interface EventRow {
  id: string;
  projectId: string;
  configVersion: number;
  eventType: string;
  sourceId: string | null;
  appId: string | null;
  status: string;
  failureReason: string | null;
  idempotencyKey: string | null;
  endpointIds: readonly string[];
  headers: string | null;
  /** What deliveries carry, where that is not all headers. */
  forwardedHeaders: string | null;
  payload: Buffer;
  contentType: string | null;
  urlQueryParams: string | null;
  urlPath: string | null;
  metadata: string | null;
  acknowledgedAtMs: number;
  /** JSON of where it was meant to go; null: to whatever subscription matches. */
  target: string | null;
}

export interface DeliveryRow {
  id: string;
  projectId: string;
  eventId: string;
  endpointId: string;
  subscriptionId: string | null;
  eventType: string;
  deliveryMode: string;
  strategy: string;
  intervalSeconds: number;
  maxRetrySeconds: number;
  retryLimit: number;
  key: string;
  /** No gate is closed: it may be sent at once. */
  isUngated: boolean;
  /** Born held by the accepting node, or waiting for a claim. */
  held: boolean;
}

/** An event with too many deliveries for one commit; they are made from this list afterwards. */
export interface ExpansionRow {
  eventId: string;
  projectId: string;
  subscriptionIds: readonly string[];
}

/** Duplicates, each with the first event of its idempotency key; null: that is no longer known. */
export type Duplicates = Map<string, string | null>;

export interface AcceptResult {
  /** Projects whose config moved on, with nothing of theirs stored. */
  staleProjects: Set<string>;
  duplicates: Duplicates;
  /** Stored before, by a batch whose answer was lost; nothing was added, and whether each is a duplicate is unknown. */
  knownEvents: Set<string>;
}

const FIRST_TRY_LANE = 0;

const ACCEPT = bothForms(
  'accept-events',
  (onConflict) => `
with wanted as materialized (
  select w.id, w.version, p.version as now_version
  from unnest($1::text[], $2::bigint[]) as w(id, version)
  left join lateral (select version from projects where id = w.id and deleted_at is null) p on true
), e as materialized (
  select * from unnest($3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[], $9::text[],
    $10::text[], $11::text[], $12::text[], $13::text[], $14::text[], $15::text[], $16::text[], $17::float8[],
    $19::int[], $20::int[], $38::text[], $39::text[])
    as e(id, project_id, event_type, source_id, app_id, status, failure_reason, idempotency_key, endpoints,
      headers, content_type, url_query_params, url_path, metadata, acknowledged_ms, payload_from, payload_length,
      forwarded_headers, target)
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
  insert into events (id, project_id, event_type, source_id, app_id, status, failure_reason, is_duplicate,
    idempotency_key, endpoints, headers, payload, content_type, url_query_params, url_path, metadata, acknowledged_at,
    forwarded_headers, target)
  select id, project_id, event_type, source_id, app_id,
    case when is_duplicate then 'Success' else status end,
    case when is_duplicate then null else failure_reason end,
    is_duplicate, idempotency_key,
    case when is_duplicate then '{}' else endpoints::text[] end,
    headers, substring($18::bytea from payload_from for payload_length), content_type, url_query_params, url_path,
    metadata, to_timestamp(acknowledged_ms / 1000), forwarded_headers, target
  from (select e.*, id in (select id from duplicate) as is_duplicate from e) as e
  order by id
  ${onConflict}
  returning id
), new_deliveries as (
  insert into event_deliveries (id, project_id, event_id, endpoint_id, subscription_id, event_type, status,
    delivery_mode, strategy, interval_seconds, max_retry_seconds, retry_limit, next_send_at, updated_at)
  select id, project_id, event_id, endpoint_id, subscription_id, event_type, 'Scheduled',
    delivery_mode, strategy, interval_seconds, max_retry_seconds, retry_limit, now(), now()
  from unnest($21::text[], $22::text[], $23::text[], $24::text[], $25::text[], $26::text[], $27::text[], $28::text[],
    $29::int[], $30::int[], $31::int[])
    as d(id, project_id, event_id, endpoint_id, subscription_id, event_type, delivery_mode, strategy,
      interval_seconds, max_retry_seconds, retry_limit)
  where project_id = any(array(select id from wanted where version = now_version))
    and event_id not in (select id from duplicate)
    -- an event has the deliveries it was first stored with: matched again after a lost answer it gets no second set
    and coalesce(event_id in (select id from new_events), false)
  order by id
  ${onConflict}
  returning id
), new_queue as (
  insert into delivery_queue (delivery_id, event_id, project_id, key, lane, due_at, node_id)
  select id, event_id, project_id, key, ${FIRST_TRY_LANE}, now(), case when held then $34::text end
  from unnest($21::text[], $23::text[], $22::text[], $32::text[], $33::bool[]) as q(id, event_id, project_id, key, held)
  -- coalesce keeps this a hashed lookup: a bare IN would become a join, and hash joins are off on this pool
  where coalesce(id in (select id from new_deliveries), false)
), new_expansions as (
  insert into expansions (event_id, project_id, subscription_ids)
  select event_id, project_id, subscription_ids::text[]
  from unnest($35::text[], $36::text[], $37::text[]) as x(event_id, project_id, subscription_ids)
  where project_id = any(array(select id from wanted where version = now_version))
    and event_id not in (select id from duplicate)
    and coalesce(event_id in (select id from new_events), false)
  ${onConflict}
)
select 'stale' as what, id from wanted where version is distinct from now_version
union all
select 'duplicate', id from duplicate
union all
select 'known', id from e where not coalesce(id in (select id from new_events), false)`,
);

export async function acceptEvents(
  db: Database,
  batch: { events: EventRow[]; deliveries: DeliveryRow[]; expansions: ExpansionRow[]; nodeId: string },
): Promise<AcceptResult> {
  const { events, deliveries, expansions, nodeId } = batch;
  const versions = new Map(events.map((event) => [event.projectId, event.configVersion]));
  const values = [
    plainArray([...versions.keys()]),
    plainArray([...versions.values()]),
    ...eventParameters(events),
    ...deliveryParameters(deliveries),
    nodeId,
    plainArray(expansions.map((x) => x.eventId)),
    plainArray(expansions.map((x) => x.projectId)),
    expansions.map((x) => plainArray(x.subscriptionIds)),
    events.map((e) => e.forwardedHeaders),
    events.map((e) => e.target),
  ];
  const rows = await insertTwice((onConflict) => {
    const { name, text } = ACCEPT[onConflict];
    return db.hot<{ what: string; id: string }>(name, text, values);
  });
  const pick = (what: string) => new Set(rows.filter((row) => row.what === what).map((row) => row.id));
  const duplicates = pick('duplicate');
  return {
    staleProjects: pick('stale'),
    duplicates: await firstOf(
      db,
      events.filter(({ id }) => duplicates.has(id)),
    ),
    knownEvents: pick('known'),
  };
}

/**
 * The first event of each duplicate's key. Read after the statement that decided: one that lost to an event of the same
 * batch, or to one that another node was just storing, does not see it.
 */
async function firstOf(db: Database, duplicates: readonly EventRow[]): Promise<Duplicates> {
  if (duplicates.length === 0) return new Map();
  const rows = await db.hot<{ id: string; first: string | null }>('first-of-key', FIRST_OF_KEY, [
    plainArray(duplicates.map(({ id }) => id)),
    plainArray(duplicates.map(({ projectId }) => projectId)),
    duplicates.map(({ idempotencyKey }) => idempotencyKey),
  ]);
  return new Map(rows.map(({ id, first }) => [id, first]));
}

const FIRST_OF_KEY = `
select d.id, (select event_id from event_keys k where k.project_id = d.project_id and k.key = d.key) as first
from unnest($1::text[], $2::text[], $3::text[]) as d(id, project_id, key)`;

/** Which of the events are stored as duplicates, and of what. */
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

function eventParameters(events: EventRow[]): unknown[] {
  const payloads = new PackedBytes();
  for (const event of events) payloads.add(event.payload);
  return [
    plainArray(events.map((e) => e.id)),
    plainArray(events.map((e) => e.projectId)),
    events.map((e) => e.eventType),
    plainArray(events.map((e) => e.sourceId)),
    events.map((e) => e.appId),
    plainArray(events.map((e) => e.status)),
    events.map((e) => e.failureReason),
    events.map((e) => e.idempotencyKey),
    events.map((e) => plainArray(e.endpointIds)),
    events.map((e) => e.headers),
    events.map((e) => e.contentType),
    events.map((e) => e.urlQueryParams),
    events.map((e) => e.urlPath),
    events.map((e) => e.metadata),
    plainArray(events.map((e) => e.acknowledgedAtMs)),
    ...payloads.parameters(),
  ];
}

/** Columns of deliveries as parameters, in the order of the statement. */
export function deliveryParameters(deliveries: DeliveryRow[]): unknown[] {
  return [
    plainArray(deliveries.map((d) => d.id)),
    plainArray(deliveries.map((d) => d.projectId)),
    plainArray(deliveries.map((d) => d.eventId)),
    plainArray(deliveries.map((d) => d.endpointId)),
    plainArray(deliveries.map((d) => d.subscriptionId)),
    deliveries.map((d) => d.eventType),
    plainArray(deliveries.map((d) => d.deliveryMode)),
    plainArray(deliveries.map((d) => d.strategy)),
    plainArray(deliveries.map((d) => d.intervalSeconds)),
    plainArray(deliveries.map((d) => d.maxRetrySeconds)),
    plainArray(deliveries.map((d) => d.retryLimit)),
    plainArray(deliveries.map((d) => d.key)),
    plainArray(deliveries.map((d) => d.held)),
  ];
}
