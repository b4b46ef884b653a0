import type { FastifyInstance } from 'fastify';
import type { Static } from 'typebox';
import { type EndpointScope, seesDelivery } from '../../domain/endpoint-scope.ts';
import { badQuery } from '../../domain/errors.ts';
import { idTime, isId } from '../../domain/ids.ts';
import { queryValue } from '../../domain/pagination.ts';
import { Type } from '../../platform/type.ts';
import type { ProjectRow } from '../../store/config/projects.ts';
import { getDelivery } from '../../store/history/event-deliveries.ts';
import { type EventFilter, eventOfKey, eventReceivers, getEvent } from '../../store/history/events.ts';
import { getMetaEvent } from '../../store/history/meta-events.ts';
import { findEvents } from '../../store/history/search-payloads.ts';
import { getJob } from '../../store/jobs/jobs.ts';
import { searchFrom } from '../events/event-filter.ts';
import { ownersOf } from '../events/sent-to.ts';
import { hidesPayload } from '../http/access/access.ts';
import type { ReadContext } from '../http/context.ts';
import { dateQuery, dateRange, iso, isoOrNull, NullableTime } from '../http/fields.ts';
import { operationsOf } from '../http/operation.ts';
import { Hit, type SearchHit, searchConfig } from './search-config.ts';

/**
 * One search over everything of a project. Ids and idempotency keys are found by index, config in memory. Payloads have
 * no index: events are read newest first, within the dates or the project's `search_policy`, for LIMIT_MS at most.
 */
const LIMIT_MS = 3_000;
const MAX_EVENTS = 20;
const MAX_TEXT = 256;

const SearchResult = Type.Object({
  hits: Type.Array(Hit),
  searched_events: Type.Integer({ description: 'Events whose contents were looked at.' }),
  searched_from: Type.Union([NullableTime], {
    description: 'Contents of events since this time were looked at; null: of all events.',
  }),
  complete: Type.Boolean({
    description:
      'False: the time was up, or enough events were found, before `searched_from` could be earlier.',
  }),
  next_page_cursor: Type.String({
    description:
      'With it the same search goes on to older events. Empty: nothing is left, or no event was looked at.',
  }),
});

export function registerSearch(app: FastifyInstance, context: ReadContext): void {
  operationsOf('Dashboard').get(app, '/api/v1/projects/:projectID/search', {
    id: 'search',
    summary: 'Search ids, idempotency keys, names, customers, event types and values of payloads for a text.',
    query: Type.Object({
      q: Type.String({ minLength: 1, maxLength: MAX_TEXT, description: 'The text.' }),
      ...dateQuery,
      next_page_cursor: Type.Optional(
        Type.String({ description: 'Go on after an earlier answer, in contents of older events alone.' }),
      ),
    }),
    message: 'Searched',
    data: SearchResult,
    portal: 'read',
    access: 'viewer',
    handle: async ({ caller, project, query, scope }) => {
      const text = queryValue(query, 'q')?.trim() ?? '';
      if (text === '' || text.length > MAX_TEXT || text.includes('\0'))
        throw badQuery('q', `must be a text of 1 to ${MAX_TEXT} characters`);
      const cursor = queryValue(query, 'next_page_cursor') ?? null;
      if (cursor !== null && !isId(cursor)) throw badQuery('next_page_cursor', 'must be one of an answer');
      const dates = dateRange(query);
      const filter = { ...dates, fromMs: dates.fromMs ?? searchFrom(context, project), scope };
      const known = [
        ...(await byId(context, project, { text, scope })),
        ...(await byKey(context, project, { text, scope })),
        ...(await searchConfig(context, project, { text, scope })),
      ];
      const isOnlyId = known.length > 0 && isId(text.toUpperCase());
      const inEvents =
        isOnlyId || hidesPayload(caller, project)
          ? nothing(filter)
          : await byContent(context, project, { text, filter, cursor });
      const seen = new Set(known.map(({ uid }) => uid));
      const hits = [...(cursor === null ? known : []), ...inEvents.hits.filter(({ uid }) => !seen.has(uid))];
      return { ...inEvents, hits: scope === undefined ? await withOwners(context, project, hits) : hits };
    },
  });
}

interface Search {
  text: string;
  scope: EndpointScope | undefined;
}

/** An id that names something is not searched for in contents. */
function nothing({ fromMs }: EventFilter): Static<typeof SearchResult> {
  const searched_from = isoOrNull(fromMs ?? null);
  return { hits: [], searched_events: 0, searched_from, complete: true, next_page_cursor: '' };
}

/** Events are found without their customers. */
async function withOwners(
  { db, cache }: ReadContext,
  project: ProjectRow,
  hits: readonly SearchHit[],
): Promise<SearchHit[]> {
  const routing = await cache.get(project.id);
  const ids = hits.filter(({ kind }) => kind === 'event').map(({ uid }) => uid);
  const events = ids.length === 0 ? [] : await eventReceivers(db, project.id, ids);
  const owners = new Map<string, string[]>(events.map((event) => [event.id, ownersOf(event, routing)]));
  return hits.map((hit) => {
    const [owner, ...others] = owners.get(hit.uid) ?? [];
    return owner === undefined || others.length > 0 ? hit : { ...hit, owner_id: owner };
  });
}

async function byId(
  { db, cache }: ReadContext,
  project: ProjectRow,
  { text, scope }: Search,
): Promise<SearchHit[]> {
  const id = text.toUpperCase();
  if (!isId(id)) return [];
  const [event, delivery, job, metaEvent] = await Promise.all([
    getEvent(db, project.id, id, scope),
    getDelivery(db, project.id, id),
    scope === undefined ? getJob(db, project.id, id) : undefined,
    scope === undefined ? getMetaEvent(db, project.id, id) : undefined,
  ]);
  const { endpoints } = await cache.get(project.id);
  const hit = (kind: SearchHit['kind'], title: string, owner = ''): SearchHit => ({
    kind,
    uid: id,
    title,
    field: 'uid',
    value: id,
    owner_id: owner,
    created_at: iso(idTime(id)),
  });
  return [
    ...(event === undefined ? [] : [hit('event', event.event_type)]),
    ...(delivery === undefined || !seesDelivery(scope, delivery)
      ? []
      : [hit('event_delivery', delivery.event_type, endpoints.get(delivery.endpoint_id)?.row.owner_id)]),
    ...(job === undefined ? [] : [hit('job', job.type)]),
    ...(metaEvent === undefined ? [] : [hit('meta_event', metaEvent.event_type)]),
  ];
}

/** Keys are found however old their event is. */
async function byKey(
  { db }: ReadContext,
  project: ProjectRow,
  { text, scope }: Search,
): Promise<SearchHit[]> {
  const eventId = await eventOfKey(db, project.id, text);
  if (eventId === undefined) return [];
  const event = await getEvent(db, project.id, eventId, scope);
  if (event === undefined) return [];
  const { id, event_type } = event;
  return [
    {
      kind: 'event',
      uid: id,
      title: event_type,
      field: 'idempotency_key',
      value: text,
      owner_id: '',
      created_at: iso(idTime(id)),
    },
  ];
}

async function byContent(
  { db, now }: ReadContext,
  project: ProjectRow,
  wanted: { text: string; filter: EventFilter; cursor: string | null },
): Promise<Static<typeof SearchResult>> {
  const { found, searched, reached, isComplete } = await findEvents(
    (work) => db.reading(project.id, work),
    project.id,
    { ...wanted, limit: MAX_EVENTS, limitMs: LIMIT_MS },
  );
  const reachedMs = reached === null ? now() : idTime(reached);
  return {
    hits: found.map(({ id, event_type, field, value }) => ({
      kind: 'event',
      uid: id,
      title: event_type,
      field,
      value,
      owner_id: '',
      created_at: iso(idTime(id)),
    })),
    searched_events: searched,
    searched_from: isComplete ? isoOrNull(wanted.filter.fromMs ?? null) : iso(reachedMs),
    complete: isComplete,
    next_page_cursor: isComplete ? '' : (reached ?? ''),
  };
}
