import { AppError } from '../../domain/errors.ts';
import type { Page, PageRequest } from '../../domain/pagination.ts';
import { payloadTest } from '../../platform/json/json-contains.ts';
import { valueFinder } from '../../platform/json/json-find.ts';
import type { Queryable } from '../database/database.ts';
import { MAX_PAGE_BYTES } from '../database/list-page.ts';
import { unlessTooSlow } from '../database/unless-too-slow.ts';
import {
  type EventFilter,
  eventConditions,
  eventsByIds,
  type SearchedEvent,
  type StoredEvent,
  searchRun,
} from './events.ts';

/**
 * Finds events whose payload contains a JSON object. It reads payloads in id order, a bounded run at a time,
 * until the page is full, by rows or by bytes, the scan ends or the time is up. Payloads are compared here and not in SQL, because
 * a payload that the json type refuses (a NUL, a number too large, nesting too deep) would fail the whole
 * search.
 */
const RUN_ROWS = 1_000;
const RUN_BYTES = 2 * 1024 * 1024;

export async function searchPayloads(
  db: Queryable,
  projectId: string,
  search: { filter: EventFilter; page: PageRequest; patterns: unknown[]; limitMs: number },
): Promise<Page<StoredEvent>> {
  const { page, filter } = search;
  const forward = page.direction === 'next';
  const ascending = (page.order === 'ASC') === forward;
  const deadline = performance.now() + search.limitMs;
  const tests = search.patterns.map(payloadTest);
  const contains = (payload: Buffer) => tests.every((test) => test(payload));
  const found = new Found(page.perPage);
  let compare = forward ? '=' : '';
  for (let cursor = page.cursor; !found.isFull; ) {
    if (performance.now() > deadline)
      throw new AppError('search_timeout', { seconds: Math.round(search.limitMs / 1000) });
    const where = eventConditions(projectId, filter).addIf(`id ${ascending ? '>' : '<'}${compare} ?`, cursor);
    const run = await searchRun(db, where, { ascending, rows: RUN_ROWS, bytes: RUN_BYTES });
    for (const { id, payload } of run)
      if (payload !== null && contains(payload)) found.add(id, payload.length);
    if (run.length === 0) break;
    cursor = run.at(-1)?.id ?? null;
    compare = '';
  }
  const events = await eventsByIds(db, projectId, found.ids);
  return makePage(found, page, events);
}

/** The ids of a page, and the one after it. */
class Found {
  readonly ids: string[] = [];
  readonly #perPage: number;
  #bytes = 0;
  /** The first that does not fit on the page. */
  extra: string | undefined;

  constructor(perPage: number) {
    this.#perPage = perPage;
  }

  get isFull(): boolean {
    return this.extra !== undefined;
  }

  add(id: string, bytes: number): void {
    if (this.isFull) return;
    this.#bytes += bytes;
    const fits = this.ids.length < this.#perPage && this.#bytes <= MAX_PAGE_BYTES;
    if (fits || this.ids.length === 0) this.ids.push(id);
    else this.extra = id;
  }
}

function makePage(found: Found, page: PageRequest, events: StoredEvent[]): Page<StoredEvent> {
  const forward = page.direction === 'next';
  const ids = forward ? found.ids : found.ids.toReversed();
  const byId = new Map<string, StoredEvent>(events.map((event) => [event.id, event]));
  return {
    rows: ids.flatMap((id) => byId.get(id) ?? []),
    pagination: {
      per_page: page.perPage,
      has_next_page: forward ? found.isFull : true,
      has_prev_page: forward ? page.cursor !== null : found.isFull,
      next_page_cursor: (forward ? found.extra : page.cursor) ?? '',
      prev_page_cursor: ids[0] ?? '',
    },
  };
}

export interface EventMatch {
  id: string;
  event_type: string;
  field: string;
  value: string;
}

/** The hits of a search, and how far it came. */
export interface EventMatches {
  found: EventMatch[];
  searched: number;
  /** The id below which nothing was looked at. Null: no event was looked at, or all were. */
  reached: string | null;
  /** Nothing is left. */
  isComplete: boolean;
}

/**
 * Events whose type, idempotency key or payload contains a text, newest first. It reads a bounded run at a time, each in
 * a reading of its own, and ends with the limit of matches, the end of the events or the end of the time, with what it
 * has found by then. A cursor is the `reached` of the search before.
 */
export async function findEvents(
  reading: <T>(work: (tx: Queryable) => Promise<T>) => Promise<T>,
  projectId: string,
  search: { filter: EventFilter; text: string; cursor: string | null; limit: number; limitMs: number },
): Promise<EventMatches> {
  const deadline = performance.now() + search.limitMs;
  const findValue = valueFinder(search.text);
  const result: EventMatches = { found: [], searched: 0, reached: null, isComplete: false };
  for (let { cursor } = search; ; ) {
    const where = eventConditions(projectId, search.filter).addIf('id < ?', cursor);
    const run = await unlessTooSlow(
      reading((tx) => searchRun(tx, where, { ascending: false, rows: RUN_ROWS, bytes: RUN_BYTES })),
    );
    if (run === null) return { ...result, reached: cursor };
    for (const row of run) {
      const match = matchOf(row, search.text, findValue);
      result.searched += 1;
      if (match !== null) result.found.push({ id: row.id, event_type: row.event_type, ...match });
      if (result.found.length >= search.limit) return { ...result, reached: row.id };
    }
    if (run.length === 0) return { ...result, isComplete: true };
    cursor = run.at(-1)?.id ?? null;
    if (performance.now() > deadline) return { ...result, reached: cursor };
  }
}

function matchOf(
  row: SearchedEvent,
  text: string,
  findValue: ReturnType<typeof valueFinder>,
): { field: string; value: string } | null {
  const wanted = text.toLowerCase();
  if (row.idempotency_key?.toLowerCase().includes(wanted))
    return { field: 'idempotency_key', value: row.idempotency_key };
  if (row.event_type.toLowerCase().includes(wanted)) return { field: 'event_type', value: row.event_type };
  if (row.payload === null) return null;
  const value = findValue(row.payload);
  return value === null ? null : { field: `data.${value.path}`.replace(/\.$/, ''), value: value.value };
}
