import type { TSchema, TString } from 'typebox';
import { badQuery, invalid } from '../../domain/errors.ts';
import type { Page } from '../../domain/pagination.ts';
import { payloadText } from '../../domain/payload-text.ts';
import { formatTime, readDate, readTime, TIME_HINT } from '../../domain/time.ts';
import { RawJson } from '../../platform/json/raw-json.ts';
import { nullable, oneOf, Type } from '../../platform/type.ts';
import { showInSlices } from './show-rows.ts';

/** Common parts of the resources' schemas. */
export const Time = Type.String({ format: 'date-time', description: 'RFC 3339, UTC, milliseconds.' });
export const NullableTime = nullable(Time);
export const times = { created_at: Time, updated_at: Time, deleted_at: NullableTime };

/** Always null, for clients that expect the field. As a type of its own (`type: null`) it crashes generators. */
export const Nothing = Type.Unsafe<null>({
  anyOf: [{ type: 'object' }, { type: 'null' }],
  description: 'Always null.',
});

export const Pagination = Type.Object({
  per_page: Type.Integer(),
  has_next_page: Type.Boolean(),
  has_prev_page: Type.Boolean(),
  next_page_cursor: Type.String(),
  prev_page_cursor: Type.String(),
});

export const PageOf = <Item extends TSchema>(item: Item) =>
  Type.Object({ content: Type.Array(item), pagination: Pagination });

/** Query parameters of every list. */
export const pageQuery = {
  perPage: Type.Optional(
    Type.Integer({ minimum: 1, maximum: 1000, description: 'Items per page; 20 by default.' }),
  ),
  direction: Type.Optional(oneOf(['next', 'prev'], '`next` by default.')),
  next_page_cursor: Type.Optional(Type.String()),
  prev_page_cursor: Type.Optional(Type.String()),
  sort: Type.Optional(oneOf(['ASC', 'DESC'], '`DESC` by default: newest first.')),
};

/** Convoy's clients send them with batches too, where they have no effect. */
export const ignoredPageQuery = Object.fromEntries(
  Object.entries(pageQuery).map(([name, schema]) => [
    name,
    Type.Optional(Type.Unsafe<unknown>({ ...schema, description: 'Has no effect on this call.' })),
  ]),
);

/** A parameter that may be repeated. */
export const Repeated = <Item extends TSchema = TString>(
  description: string,
  item: Item | TString = Type.String(),
) => Type.Optional(Type.Array(item, { description }));

/** Query parameters for dates. */
export const dateQuery = {
  startDate: Type.Optional(
    Type.String({ description: 'Start time: 2026-01-31T15:04:05, UTC, or RFC 3339.' }),
  ),
  endDate: Type.Optional(Type.String({ description: 'End time, in the same form.' })),
};

let lastIso = { ms: 0, text: new Date(0).toISOString() };

/**
 * The last result is cached: an event shows its time twice, and most events of a batch have the same
 * millisecond. Throws if the stored value is not a time, such as infinity.
 */
export function iso(ms: number): string {
  if (ms !== lastIso.ms) lastIso = { ms, text: formatTime(ms) };
  return lastIso.text;
}

export function isoOrNull(ms: number | null): string | null {
  return ms === null ? null : iso(ms);
}

export async function mapPage<Row, Item>(
  page: Page<Row>,
  map: (row: Row) => Item,
): Promise<{ content: Item[]; pagination: Page<Row>['pagination'] }> {
  return { content: await showInSlices(page.rows, map), pagination: page.pagination };
}

/** A time from the body in milliseconds. */
export function parseTime(field: string, text: string): number {
  const ms = readTime(text);
  if (ms === null) throw invalid(field, TIME_HINT);
  return ms;
}

export function parseFutureTime(field: string, text: string, nowMs: number): number {
  const ms = parseTime(field, text);
  if (ms <= nowMs) throw invalid(field, 'must be in the future');
  return ms;
}

/** Dates of a list: `2006-01-02T15:04:05`, read as UTC, or RFC 3339. Empty and year 1 mean absent. */
export function dateRange(query: Record<string, string | string[] | undefined>): {
  fromMs: number | undefined;
  toMs: number | undefined;
} {
  const fromMs = queryTime(query, 'startDate');
  const toMs = queryTime(query, 'endDate');
  if (fromMs !== undefined && toMs !== undefined && fromMs > toMs) {
    throw badQuery('startDate', 'must not be later than endDate');
  }
  return { fromMs, toMs };
}

/** A time in the query. */
export function queryTime(
  query: Record<string, string | string[] | undefined>,
  name: string,
): number | undefined {
  const text = [query[name]].flat().at(-1);
  // Go's zero time, which in a zone east of UTC is before the year 1.
  if (text === undefined || text === '' || text.startsWith('0001-01-01')) return undefined;
  const ms = readDate(text);
  if (ms === null) throw badQuery(name, `"${text}" is not a date such as 2026-01-31T15:04:05`);
  return text.startsWith('0001-') ? undefined : ms;
}

/** Why an open delivery or event waits. */
export const waitingForSchema = <Gate extends string>(gates: readonly Gate[]) =>
  nullable(
    Type.Object({ gate: oneOf(gates), until: NullableTime }),
    'Why it waits, and until when if that is known; null if it does not wait.',
  );

/** JSON exactly as received, number text and key order included. */
export const AnyJson = (description: string) => Type.Unsafe<RawJson>({ description });

export const HeaderValues = Type.Record(Type.String(), Type.Array(Type.String()));

export function payloadJson(payload: Buffer, contentType: string | null): RawJson {
  return new RawJson(payloadText(payload, contentType), payload);
}
