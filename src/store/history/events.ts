import { isEventTypePattern } from '../../domain/config/subscription.ts';
import type { EndpointScope } from '../../domain/endpoint-scope.ts';
import { type EndpointId, type EventId, isId, type ProjectId, type SourceId } from '../../domain/ids.ts';
import type { Page, PageRequest } from '../../domain/pagination.ts';
import type { Queryable } from '../database/database.ts';
import { addIdRange, listPage, Where } from '../database/list-page.ts';

export interface StoredEvent {
  id: EventId;
  project_id: ProjectId;
  event_type: string;
  source_id: SourceId | null;
  app_id: string | null;
  status: string;
  failure_reason: string | null;
  source_function_failed: boolean;
  is_duplicate: boolean;
  /**
   * The first event with its idempotency key. Null if it is not a duplicate, or the first event is no longer
   * known.
   */
  duplicate_of: string | null;
  idempotency_key: string | null;
  endpoints: EndpointId[];
  headers: string | null;
  payload: Buffer;
  content_type: string | null;
  url_query_params: string | null;
  url_path: string | null;
  metadata: string | null;
  acknowledged_at: number;
  forwarded_headers: string | null;
  /** JSON of its target. Null: every matching subscription. */
  target: string | null;
  ordering_key: string | null;
  deliver_at: number | null;
  expires_at: number | null;
}

/** For a duplicate: the first event with its key, while that is known. One lookup by key for each such row. */
const DUPLICATE_OF = `case when is_duplicate then (
    select event_id from event_keys k where k.project_id = events.project_id and k.key = events.idempotency_key
  ) end as duplicate_of`;
const NAMES =
  'id, project_id, event_type, source_id, app_id, status, failure_reason, source_function_failed, is_duplicate, idempotency_key, endpoints, headers, payload, content_type, url_query_params, url_path, metadata, acknowledged_at, forwarded_headers, target, deliver_at, expires_at, ordering_key';
const COLUMNS = `${NAMES}, ${DUPLICATE_OF}`;

export async function getEvent(
  db: Queryable,
  projectId: ProjectId,
  id: string,
  scope?: EndpointScope,
): Promise<StoredEvent | undefined> {
  const where = withinScope(new Where().add('id = ?', id).add('project_id = ?', projectId), scope);
  const [row] = await db.query<StoredEvent>(
    `select ${COLUMNS} from events where ${where.toString()}`,
    where.values,
  );
  return row;
}

/** The first event with an idempotency key. */
export async function eventOfKey(db: Queryable, projectId: string, key: string): Promise<string | undefined> {
  const [row] = await db.query<{ event_id: string }>(
    'select event_id from event_keys where project_id = $1 and key = $2',
    [projectId, key],
  );
  return row?.event_id;
}

/** An event lists at most this many of its endpoints. Its deliveries have the rest. */
const NAMED_ENDPOINTS = 1000;

function withinScope(where: Where, scope: EndpointScope | undefined): Where {
  if (scope === undefined) return where;
  const ids = [...scope.endpointIds];
  where.ofTypes('event_type', scope.eventTypes);
  return where.add(
    `endpoints && ?::text[] or (cardinality(endpoints) >= ${NAMED_ENDPOINTS} and exists (
       select from event_deliveries d where d.event_id = events.id and d.endpoint_id = any(?)))`,
    ids,
    ids,
  );
}

/** A filter of events. An absent field matches all. */
export interface EventFilter {
  scope?: EndpointScope | undefined;
  fromMs?: number | undefined;
  toMs?: number | undefined;
  endpointIds?: string[];
  sourceIds?: string[];
  /** Names, `*` and trailing globs. */
  eventTypes?: readonly string[];
  /** Leaves out repeats of an idempotency key. */
  withoutDuplicates?: boolean;
  idempotencyKey?: string | undefined;
  brokerMessageId?: string | undefined;
  /** Part of the idempotency key or event type, or the beginning of the id, in any case. */
  text?: string | undefined;
  /** Sources whose events also match the text. */
  textSourceIds?: string[];
  /** Only events that went nowhere, duplicates aside. With an owner, of those that were sent to this owner. */
  unmatched?: { ownerId: string | undefined } | undefined;
  /** Only events whose deliveries are not due yet. */
  isDelayed?: boolean;
}

/** The form of a broker's message id in an event's stored headers. */
export function brokerMessageHeader(id: string): string {
  return `"x-broker-message-id":[${JSON.stringify(id)}`;
}

/**
 * Scans the project's events newest (or oldest) first. Complete ids and idempotency keys are found by index.
 * The other conditions are tested during the scan, so the caller sets a time limit.
 */
export function eventConditions(projectId: string, filter: EventFilter): Where {
  const where = new Where().add('project_id = ?', projectId);
  addIdRange(where, 'id', filter);
  where
    .addIf('endpoints && ?::text[]', filter.endpointIds)
    .addIf('source_id = any(?)', filter.sourceIds)
    .addIf('idempotency_key = ?', filter.idempotencyKey)
    .addIf(
      'position(? in headers) > 0',
      filter.brokerMessageId === undefined ? undefined : brokerMessageHeader(filter.brokerMessageId),
    );
  where.ofTypes('event_type', filter.eventTypes);
  withinScope(where, filter.scope);
  if (filter.withoutDuplicates === true) where.add('not is_duplicate');
  if (filter.isDelayed === true)
    where.add(
      'id = any(array(select event_id from delayed_events where project_id = ? and deliver_at > now()))',
      projectId,
    );
  if (filter.unmatched !== undefined)
    where
      .add('cardinality(endpoints) = 0 and not is_duplicate')
      .addIf("target::json ->> 'ownerId' = ?", filter.unmatched.ownerId);
  const { text } = filter;
  if (text === undefined) return where;
  if (isId(text.toUpperCase())) return where.add('id = ?', text.toUpperCase());
  return where.add(
    '(starts_with(id, upper(?)) or position(lower(?) in lower(event_type)) > 0 or position(lower(?) in lower(idempotency_key)) > 0 or source_id = any(?))',
    text,
    text,
    text,
    filter.textSourceIds ?? [],
  );
}

export function listEvents(
  db: Queryable,
  projectId: string,
  filter: EventFilter & { page: PageRequest },
): Promise<Page<StoredEvent>> {
  const where = eventConditions(projectId, filter);
  const bytes = 'octet_length(payload)';
  return listPage(db, { select: COLUMNS, from: 'events', where, page: filter.page, id: 'id', bytes });
}

/** How many of a project's latest events are searched for some types. No index finds them by type. */
const LATEST_SEARCHED = 10_000;

/**
 * The latest events of some types (exact names, `*` or trailing globs), newest first: at most `limit`, with
 * at most `maxBytes` of payload together, but at least one. Sizes are known without reading the payloads, so
 * omitted ones cost nothing.
 */
export async function latestEvents(
  db: Queryable,
  projectId: string,
  wanted: {
    eventTypes: readonly string[];
    limit: number;
    maxBytes: number;
    scope?: EndpointScope | undefined;
  },
): Promise<{ events: StoredEvent[]; isCut: boolean }> {
  const where = withinScope(new Where().add('project_id = ?', projectId), wanted.scope);
  const globs = wanted.eventTypes.filter(isEventTypePattern).map((glob) => glob.slice(0, -1));
  const names = where.values.push(wanted.eventTypes.filter((type) => !isEventTypePattern(type)));
  const prefixes = where.values.push(globs);
  const limit = where.values.push(wanted.limit);
  const maxBytes = where.values.push(wanted.maxBytes);
  const rows = await db.query<StoredEvent & { found: number }>(
    `select ${NAMES}, duplicate_of, found from (
       select *, count(*) over ()::int as found, row_number() over latest as place,
         sum(octet_length(payload)) over latest as bytes
       from (
         select ${NAMES}, duplicate_of from (
           select ${COLUMNS} from events where ${where.toString()} order by id desc limit ${LATEST_SEARCHED}
         ) latest
         where event_type = any($${names}::text[])
           or exists (select from unnest($${prefixes}::text[]) p where starts_with(event_type, p))
         order by id desc limit $${limit}
       ) e
       window latest as (order by id desc)
     ) sized where place = 1 or bytes <= $${maxBytes} order by id desc`,
    where.values,
  );
  return { events: rows, isCut: rows.length < (rows[0]?.found ?? 0) };
}

/** Duplicates of events are excluded, because a replay skips them. */
export async function countEvents(db: Queryable, projectId: string, filter: EventFilter): Promise<number> {
  const where = eventConditions(projectId, filter).add('not is_duplicate');
  const [row] = await db.query<{ count: number }>(
    `select count(*) as count from events where ${where.toString()}`,
    where.values,
  );
  return row?.count ?? 0;
}

/** Empty: the project has no event. */
export async function newestEventId(db: Queryable, projectId: string): Promise<string> {
  const [row] = await db.query<{ id: string }>(
    'select id from events where project_id = $1 order by id desc limit 1',
    [projectId],
  );
  return row?.id ?? '';
}

/** The next events after an id, oldest first. */
export function eventsAfter(
  db: Queryable,
  where: Where,
  run: { after: string; before: string; limit: number },
): Promise<StoredEvent[]> {
  where.add('id > ?', run.after).add('id < ?', run.before).add('not is_duplicate');
  return db.query<StoredEvent>(
    `select ${COLUMNS} from events where ${where.toString()} order by id limit ${run.limit}`,
    where.values,
  );
}

export interface SearchedEvent {
  id: string;
  event_type: string;
  idempotency_key: string | null;
  /** Null: it is not JSON. */
  payload: Buffer | null;
}

/** The next events of a scan, with everything that a search looks at, up to a number of rows and about a number of bytes. */
export function searchRun(
  db: Queryable,
  where: Where,
  run: { ascending: boolean; rows: number; bytes: number },
): Promise<SearchedEvent[]> {
  const order = run.ascending ? 'asc' : 'desc';
  return db.query(
    `select id, event_type, idempotency_key, payload from (
       select *, sum(octet_length(payload)) over (order by id ${order} rows unbounded preceding) - octet_length(payload) as before
       from (
         select id, event_type, idempotency_key, case when content_type is null then payload end as payload from events
         where ${where.toString()} order by id ${order} limit ${run.rows}
       ) e
     ) e where coalesce(before, 0) < ${run.bytes} order by id ${order}`,
    where.values,
  );
}

/** The endpoints that events went to, and their targets, without the payloads. */
export function eventReceivers(
  db: Queryable,
  projectId: string,
  ids: string[],
): Promise<Pick<StoredEvent, 'id' | 'endpoints' | 'target'>[]> {
  return db.query('select id, endpoints, target from events where id = any($1) and project_id = $2', [
    ids,
    projectId,
  ]);
}

export function eventsByIds(db: Queryable, projectId: string, ids: string[]): Promise<StoredEvent[]> {
  return db.query<StoredEvent>(`select ${COLUMNS} from events where id = any($1) and project_id = $2`, [
    ids,
    projectId,
  ]);
}
