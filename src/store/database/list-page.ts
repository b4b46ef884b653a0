import type { EndpointScope } from '../../domain/endpoint-scope.ts';
import { firstIdAt } from '../../domain/ids.ts';
import type { Page, PageRequest } from '../../domain/pagination.ts';
import { isEventTypePattern } from '../../domain/subscription.ts';
import type { Queryable } from './database.ts';

/** Conditions of a list, collected with their values. `?` in a clause stands for its value. */
export class Where {
  readonly values: unknown[] = [];
  readonly #clauses: string[] = [];

  add(clause: string, ...values: unknown[]): this {
    let next = 0;
    this.#clauses.push(clause.replaceAll('?', () => `$${this.values.push(values[next++])}`));
    return this;
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
}

/** Reads one page, plus one row after it and one before it to know whether there are more. */
export async function listPage<R extends { id: string }>(db: Queryable, list: ListOptions): Promise<Page<R>> {
  const { page } = list;
  const forward = page.direction === 'next';
  const rows = await readRun<R>(db, list, {
    forward,
    inclusive: forward,
    limit: page.perPage + 1,
    cursor: page.cursor,
  });
  const more = rows.length > page.perPage;
  const extra = more ? rows.pop() : undefined;
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
  const before = { ...list, select: `${list.id} as id` };
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
  const select = `select ${list.select} from ${list.from} where ${where}`;
  if (list.perKey === undefined)
    return db.query<R>(`${select} order by ${list.id} ${order} ${limit}`, values);
  values.push([...new Set(list.perKey.values)]);
  return db.query<R>(
    `select r.* from unnest($${values.length}::text[]) as k(key) cross join lateral (
       ${select} and ${list.perKey.column} = k.key order by ${list.id} ${order} ${limit}
     ) r order by r.id ${order} ${limit}`,
    values,
  );
}
