import { badQuery } from './errors.ts';

/**
 * Cursor pagination of the API. A cursor is a row's id. `next_page_cursor` is the first row of the next page,
 * inclusive. `prev_page_cursor` is the first row of this page, exclusive for the page before. Ids only grow,
 * so rows that arrive between pages neither shift nor repeat others.
 */
export interface PageRequest {
  perPage: number;
  direction: 'next' | 'prev';
  /** The row to continue from. Null for the first page. */
  cursor: string | null;
  order: 'ASC' | 'DESC';
}

export interface Page<Row> {
  rows: Row[];
  pagination: {
    per_page: number;
    has_next_page: boolean;
    has_prev_page: boolean;
    next_page_cursor: string;
    prev_page_cursor: string;
  };
}

export const DEFAULT_PER_PAGE = 20;
export const MAX_PER_PAGE = 1000;

type Query = Record<string, string | string[] | undefined>;

/** The last value of a parameter. An empty one counts as absent, because some clients always send every parameter. */
export function queryValue(query: Query, name: string): string | undefined {
  const value = query[name];
  const last = Array.isArray(value) ? value.at(-1) : value;
  return last === '' ? undefined : last;
}

/** A parameter that is `true` or `false`. Other words are refused, so that a typing error starts nothing. */
export function queryFlag(query: Query, name: string): boolean | undefined {
  const value = queryValue(query, name);
  if (value !== undefined && value !== 'true' && value !== 'false')
    throw badQuery(name, 'must be true or false');
  return value === undefined ? undefined : value === 'true';
}

/** All values of a repeated parameter. */
export function queryValues(query: Query, name: string): string[] {
  return [query[name] ?? []].flat().filter((value) => value !== '');
}

/** The values of a parameter that may be repeated, if all of them are known words. */
export function queryWords<Word extends string>(query: Query, name: string, known: readonly Word[]): Word[] {
  const wanted = queryValues(query, name);
  const unknown = wanted.find((word) => !(known as readonly string[]).includes(word));
  if (unknown !== undefined) throw badQuery(name, `"${unknown}" is not one of ${known.join(', ')}`);
  return wanted as Word[];
}

export function parsePageRequest(query: Query): PageRequest {
  const asked = Number(queryValue(query, 'perPage'));
  const perPage = Number.isInteger(asked) && asked > 0 ? Math.min(asked, MAX_PER_PAGE) : DEFAULT_PER_PAGE;
  const direction = queryValue(query, 'direction') === 'prev' ? 'prev' : 'next';
  const cursor = queryValue(query, direction === 'prev' ? 'prev_page_cursor' : 'next_page_cursor') ?? null;
  const order = queryValue(query, 'sort')?.toUpperCase() ?? 'DESC';
  if (order !== 'ASC' && order !== 'DESC') throw badQuery('sort', 'must be ASC or DESC');
  return { perPage, direction: cursor === null ? 'next' : direction, cursor, order };
}
