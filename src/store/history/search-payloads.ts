import { AppError } from '../../domain/errors.ts';
import type { Page, PageRequest } from '../../domain/pagination.ts';
import { payloadTest } from '../../platform/json-contains.ts';
import type { Queryable } from '../database/database.ts';
import { type EventFilter, eventConditions, eventsByIds, payloadRun, type StoredEvent } from './events.ts';

/**
 * Finds events whose payload contains a JSON object. It reads payloads in id order, a bounded run at a time,
 * until the page is full, the scan ends or the time is up. Payloads are compared here and not in SQL, because
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
  const found: string[] = [];
  let compare = forward ? '=' : '';
  for (let cursor = page.cursor; found.length <= page.perPage; ) {
    if (performance.now() > deadline)
      throw new AppError('search_timeout', { seconds: Math.round(search.limitMs / 1000) });
    const where = eventConditions(projectId, filter).addIf(`id ${ascending ? '>' : '<'}${compare} ?`, cursor);
    const run = await payloadRun(db, where, { ascending, rows: RUN_ROWS, bytes: RUN_BYTES });
    found.push(...run.filter(({ payload }) => payload !== null && contains(payload)).map(({ id }) => id));
    if (run.length === 0) break;
    cursor = run.at(-1)?.id ?? null;
    compare = '';
  }
  return makePage(found, page, await eventsByIds(db, projectId, found.slice(0, page.perPage)));
}

function makePage(found: string[], page: PageRequest, events: StoredEvent[]): Page<StoredEvent> {
  const forward = page.direction === 'next';
  const ids = found.slice(0, page.perPage);
  const more = found.length > page.perPage;
  if (!forward) ids.reverse();
  const byId = new Map<string, StoredEvent>(events.map((event) => [event.id, event]));
  return {
    rows: ids.flatMap((id) => byId.get(id) ?? []),
    pagination: {
      per_page: page.perPage,
      has_next_page: forward ? more : true,
      has_prev_page: forward ? page.cursor !== null : more,
      next_page_cursor: (forward ? found[page.perPage] : page.cursor) ?? '',
      prev_page_cursor: ids[0] ?? '',
    },
  };
}
