import { badQuery } from '../../domain/errors.ts';
import { queryFlag, queryValue, queryValues } from '../../domain/pagination.ts';
import { isObject } from '../../platform/json/is-object.ts';
import { parseGoDuration } from '../../platform/time/duration.ts';
import { Type } from '../../platform/type.ts';
import type { ProjectRow } from '../../store/config/projects.ts';
import type { EventFilter } from '../../store/history/events.ts';
import type { Call } from '../http/call.ts';
import type { ReadContext } from '../http/context.ts';
import { dateQuery, dateRange, Repeated } from '../http/fields.ts';

export const eventFilterQuery = {
  ...dateQuery,
  endpointId: Repeated('Only events for these endpoints.'),
  sourceId: Repeated('Only events of these sources.'),
  ownerId: Type.Optional(Type.String({ description: 'Only events for endpoints of this owner.' })),
  unmatched: Type.Optional(
    Type.Boolean({
      description:
        'Only events that matched no subscription, duplicates aside. With `ownerId` these are the events that were sent to the owner.',
    }),
  ),
  duplicates: Type.Optional(
    Type.Boolean({
      description: 'Whether repeats of an idempotency key count too. True by default; a replay skips them.',
    }),
  ),
  delayed: Type.Optional(Type.Boolean({ description: 'Only events that are delivered at a later time.' })),
  idempotencyKey: Type.Optional(Type.String()),
  brokerMessageId: Type.Optional(Type.String()),
  query: Type.Optional(
    Type.String({
      description:
        'Part of the event type, the idempotency key or the name of the source, or the beginning of the id. A JSON object in it counts as `body`.',
    }),
  ),
  body: Type.Optional(Type.String({ description: 'A JSON object that the payload must contain.' })),
};

/** The search of a request: SQL conditions, and patterns that payloads must contain. */
export interface EventSearch {
  filter: EventFilter;
  /** Payloads must contain all of these. */
  patterns: object[];
}

/** No endpoint has this id. It means "no endpoint at all", because an empty list means "any". */
export const NO_ENDPOINT = '';

export async function eventSearch(
  context: ReadContext,
  project: ProjectRow,
  query: Call<unknown>['query'],
): Promise<EventSearch> {
  const { text, json } = splitSearch(queryValue(query, 'query')?.trim() ?? '');
  const patterns = [json, queryValue(query, 'body')].flatMap((object) =>
    object === undefined ? [] : [parseObject(object)],
  );
  const dates = dateRange(query);
  const isSearch = text !== undefined || patterns.length > 0;
  const ownerId = queryValue(query, 'ownerId');
  const endpointIds = queryValues(query, 'endpointId');
  const isUnmatched = queryFlag(query, 'unmatched') ?? false;
  return {
    filter: {
      fromMs: dates.fromMs ?? (isSearch ? searchFrom(context, project) : undefined),
      toMs: dates.toMs,
      endpointIds:
        ownerId === undefined || isUnmatched
          ? endpointIds
          : await ofOwner(context, project, { ownerId, endpointIds }),
      unmatched: isUnmatched ? { ownerId } : undefined,
      isDelayed: queryFlag(query, 'delayed') === true,
      withoutDuplicates: queryFlag(query, 'duplicates') === false,
      sourceIds: queryValues(query, 'sourceId'),
      idempotencyKey: queryValue(query, 'idempotencyKey'),
      brokerMessageId: queryValue(query, 'brokerMessageId'),
      text,
      textSourceIds: text === undefined ? [] : await sourcesNamed(context, project, text),
    },
    patterns,
  };
}

/** The text and the JSON object of a search. It may contain either, or both in any order. */
function splitSearch(search: string): { text: string | undefined; json: string | undefined } {
  const [from, to] = [search.indexOf('{'), search.lastIndexOf('}') + 1];
  const json = from === -1 || to <= from ? undefined : search.slice(from, to);
  if (search.startsWith('{') && json === undefined) return { text: undefined, json: search };
  if (json === undefined || (!search.startsWith('{') && !isJson(json)))
    return { text: search || undefined, json: undefined };
  const text = `${search.slice(0, from)} ${search.slice(to)}`.trim();
  return { text: text || undefined, json };
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    // A text with braces, which is searched literally.
    return false;
  }
}

async function sourcesNamed(context: ReadContext, project: ProjectRow, text: string): Promise<string[]> {
  const { sources } = await context.cache.get(project.id);
  const wanted = text.toLowerCase();
  return [...sources.values()].filter(({ name }) => name.toLowerCase().includes(wanted)).map(({ id }) => id);
}

/** How far back a search without dates reaches. */
export function searchFrom(context: ReadContext, { config }: ProjectRow): number | undefined {
  const reachMs = config.search_policy === '' ? null : parseGoDuration(config.search_policy);
  return reachMs === null ? undefined : context.now() - reachMs;
}

export async function ofOwner(
  context: ReadContext,
  project: ProjectRow,
  wanted: { ownerId: string; endpointIds: string[] },
): Promise<string[]> {
  const { endpoints } = await context.cache.get(project.id);
  const owned = [...endpoints.values()].filter(({ row }) => row.owner_id === wanted.ownerId);
  const ids = owned.map(({ row }) => row.id);
  const both = wanted.endpointIds.length === 0 ? ids : ids.filter((id) => wanted.endpointIds.includes(id));
  return both.length === 0 ? [NO_ENDPOINT] : both;
}

function parseObject(json: string): object {
  try {
    const value: unknown = JSON.parse(json);
    if (isObject(value) && Object.keys(value).length > 0) return value;
  } catch {
    // The error below covers any text that is not a JSON object.
  }
  throw badQuery('body', 'must be a non-empty JSON object');
}

/** The filter of a call that acts on many events. It allows no search, whose matches cannot be counted. */
export async function batchEventFilter(
  context: ReadContext,
  project: ProjectRow,
  query: Call<unknown>['query'],
): Promise<EventFilter> {
  const { filter, patterns } = await eventSearch(context, project, query);
  if (filter.text !== undefined || patterns.length > 0)
    throw badQuery(
      patterns.length === 0 ? 'query' : 'body',
      'a batch replay does not support a search; use dates, endpoints, sources or keys',
    );
  return filter;
}
