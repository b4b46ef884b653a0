import { isEventTypePattern } from '../../domain/config/subscription.ts';
import type { EndpointScope } from '../../domain/endpoint-scope.ts';
import { firstIdAt } from '../../domain/ids.ts';
import type { Page, PageRequest } from '../../domain/pagination.ts';
import type { Queryable } from './database.ts';

/** Conditions of a list, collected with their values. `?` in a clause stands for its value. */
export class Where {
  readonly values: unknown[] = [];
  readonly #clauses: string[] = [];

  add(clause: string, ...values: unknown[]): this {
    this.#clauses.push(this.place(clause, ...values));
    return this;
  }

  /** An expression with its values, for a part of the statement that is not a condition of its own. */
  place(expression: string, ...values: unknown[]): string {
    let next = 0;
    return expression.replaceAll('?', () => `$${this.values.push(values[next++])}`);
  }

  /** Adds the clause only if there is a value. */
  addIf(clause: string, value: unknown): this {
    const absent = value === undefined || value === null || (Array.isArray(value) && value.length === 0);
    return absent ? this : this.add(clause, value);
  }

  /** Only rows of endpoints the caller may see. */
  within(column: string, scope: EndpointScope | undefined): this {
    return scope === undefined ? this : this.add(`${column} = any(?)`, [...scope.endpointIds]);
  }

  /** Only rows of the given event types: names, `*` and trailing globs. None means all. */
  ofTypes(column: string, patterns: readonly string[] = []): this {
    if (patterns.length === 0) return this;
    const prefixes = patterns.filter(isEventTypePattern).map((glob) => glob.slice(0, -1));
    return this.add(
      `${column} = any(?::text[]) or exists (select from unnest(?::text[]) p where starts_with(${column}, p))`,
      patterns.filter((type) => !isEventTypePattern(type)),
      prefixes,
    );
  }

  toString(): string {
    return this.#clauses.length === 0 ? 'true' : this.#clauses.map((clause) => `(${clause})`).join(' and ');
  }
}

/** Dates of a list as a range of ids. */
export function addIdRange(
  where: Where,
  column: string,
  range: { fromMs?: number | undefined; toMs?: number | undefined },
): void {
  where
    .addIf(`${column} >= ?`, range.fromMs === undefined ? undefined : firstIdAt(range.fromMs))
    .addIf(`${column} < ?`, range.toMs === undefined ? undefined : firstIdAt(range.toMs + 1));
}

export interface ListOptions {
  select: string;
  from: string;
  where: Where;
  page: PageRequest;
  /** The id column that orders the list. */
  id: string;
  /**
   * Rows whose `column` has one of the values. Each value is read in order by its own index scan (column, id)
   * and the runs are merged. An `= any` would sort all of their rows.
   */
  perKey?: { column: string; values: readonly string[] };
  /** The size of what a row shows, for lists of large rows. A page ends before it exceeds MAX_PAGE_BYTES. */
  bytes?: string;
}

/** A page is one statement and one JSON text in memory. Its first row is shown, however large. */
export const MAX_PAGE_BYTES = 8_000_000;

interface Sized {
  bytes?: number;
  bytes_before?: number;
}

/** Reads one page, plus one row after it and one before it to know whether there are more. */
export async function listPage<R extends { id: string }>(db: Queryable, list: ListOptions): Promise<Page<R>> {
  const { page } = list;
  const forward = page.direction === 'next';
  const rows = await readRun<R & Sized>(db, list, {
    forward,
    inclusive: forward,
    limit: page.perPage + 1,
    cursor: page.cursor,
  });
  const [extra] = rows.splice(Math.min(page.perPage, countFitting(rows)));
  const more = extra !== undefined;
  if (!forward) rows.reverse();
  const first = rows[0]?.id ?? '';
  if (!forward) {
    return makePage(list, rows, {
      hasNext: page.cursor !== null,
      hasPrev: more,
      next: page.cursor ?? '',
      prev: first,
    });
  }
  const hasPrev = page.cursor !== null && (await hasRowBefore(db, list, page.cursor));
  return makePage(list, rows, { hasNext: more, hasPrev, next: extra?.id ?? '', prev: first });
}

function countFitting(rows: readonly Sized[]): number {
  const end = rows.findIndex(
    ({ bytes = 0, bytes_before = 0 }, n) => n > 0 && bytes_before + bytes > MAX_PAGE_BYTES,
  );
  return end < 0 ? rows.length : end;
}

/** The next ids of a scan from the oldest on, both ends excluded. */
export async function idsAfter(
  db: Queryable,
  walk: Omit<ListOptions, 'page'>,
  run: { after: string; before: string; limit: number },
): Promise<string[]> {
  walk.where.add(`${walk.id} < ?`, run.before);
  const page = { perPage: run.limit, direction: 'next', cursor: null, order: 'ASC' } as const;
  const rows = await readRun<{ id: string }>(
    db,
    { ...walk, page },
    { forward: true, inclusive: false, limit: run.limit, cursor: run.after },
  );
  return rows.map((row) => row.id);
}

function makePage<R>(
  list: ListOptions,
  rows: R[],
  edge: { hasNext: boolean; hasPrev: boolean; next: string; prev: string },
): Page<R> {
  return {
    rows,
    pagination: {
      per_page: list.page.perPage,
      has_next_page: edge.hasNext,
      has_prev_page: edge.hasPrev,
      next_page_cursor: edge.next,
      prev_page_cursor: edge.prev,
    },
  };
}

async function hasRowBefore(db: Queryable, list: ListOptions, cursor: string): Promise<boolean> {
  const { bytes: _, ...before } = { ...list, select: `${list.id} as id` };
  return (await readRun(db, before, { forward: false, inclusive: false, limit: 1, cursor })).length > 0;
}

function readRun<R extends object>(
  db: Queryable,
  list: ListOptions,
  run: { forward: boolean; inclusive: boolean; limit: number; cursor: string | null },
): Promise<R[]> {
  const ascending = (list.page.order === 'ASC') === run.forward;
  const values = [...list.where.values];
  let where = list.where.toString();
  if (run.cursor !== null) {
    values.push(run.cursor);
    where += ` and ${list.id} ${ascending ? '>' : '<'}${run.inclusive ? '=' : ''} $${values.length}`;
  }
  values.push(run.limit);
  const limit = `limit $${values.length}`;
  const order = ascending ? 'asc' : 'desc';
  const size = list.bytes === undefined ? '' : `, ${list.bytes} as bytes`;
  const select = `select ${list.select}${size} from ${list.from} where ${where}`;
  let text = `${select} order by ${list.id} ${order} ${limit}`;
  if (list.perKey !== undefined) {
    values.push([...new Set(list.perKey.values)]);
    text = `select r.* from unnest($${values.length}::text[]) as k(key) cross join lateral (
       ${select} and ${list.perKey.column} = k.key order by ${list.id} ${order} ${limit}
     ) r order by r.id ${order} ${limit}`;
  }
  return db.query<R>(list.bytes === undefined ? text : withinBytes(text, order), values);
}

/** The rows that fit, and the one after them. Sizes are known without reading the values, so the others are not read. */
const withinBytes = (text: string, order: string) => `select * from (
    select r.*, row_number() over run as n, sum(r.bytes) over run - r.bytes as bytes_before from (${text}) r
    window run as (order by r.id ${order} rows unbounded preceding)
  ) r where n <= 2 or bytes_before <= ${MAX_PAGE_BYTES} order by id ${order}`;
