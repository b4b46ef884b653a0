import fc from 'fast-check';
import { beforeAll, describe, expect, test } from 'vitest';
import { startTestApp } from '../support/app.ts';
import type { Json } from '../support/client.ts';
import { shared } from '../support/shared.ts';
import { seeds } from './schema-arbitrary.ts';

/**
 * Random walks over a list, forth and back with pages of random size, while rows are added. Of the rows that were
 * there when the walk began, a page holds the run that follows on the last one: none twice, none left out.
 */
const app = await shared(startTestApp());
let endpoint: Json;
const ROWS = 30;

const lists: Record<string, () => Promise<unknown>> = {
  '/endpoints': () => app.project.post('/endpoints', { name: 'listed', url: 'http://127.0.0.1:1' }),
  '/sources': () => app.project.post('/sources', { name: 'listed', type: 'rest_api' }),
  '/events': () => app.project.post('/events', { endpoint_id: endpoint.uid, event_type: 'x', data: {} }),
  '/eventdeliveries': () =>
    app.project.post('/events', { endpoint_id: endpoint.uid, event_type: 'x', data: {} }),
  '/audit': () => app.project.post('/keys', { name: 'listed' }),
  '/portal-links': () => app.project.post('/portal-links', { name: 'listed', owner_id: 'owner' }),
};

beforeAll(async () => {
  endpoint = await app.project.post('/endpoints', { name: 'target', url: 'http://127.0.0.1:1' });
  await app.project.put(`/endpoints/${endpoint.uid}/pause`);
  for (const add of Object.values(lists)) for (let row = 0; row < ROWS; row += 1) await add();
});

const step = fc.record({
  direction: fc.constantFrom('next', 'next', 'next', 'prev'),
  perPage: fc.integer({ min: 1, max: 9 }),
  add: fc.boolean(),
});

class Walk {
  /** The rows there at the beginning, in the order of the list; and the part of them the last page held. */
  readonly #there: string[];
  #from = 0;
  #to = 0;
  #page: Json;
  readonly #path: string;
  readonly #sort: string;

  constructor(path: string, sort: string, there: string[]) {
    this.#path = path;
    this.#sort = sort;
    this.#there = there;
  }

  async go({ direction, perPage }: { direction: string; perPage: number }): Promise<void> {
    const side = this.#page === undefined ? 'next' : direction;
    if (this.#page !== undefined && !this.#page[`has_${side}_page`]) return;
    const cursor = this.#page?.[`${side}_page_cursor`] ?? '';
    const query = {
      sort: this.#sort,
      direction: side,
      perPage: String(perPage),
      [`${side}_page_cursor`]: cursor,
    };
    const page = await app.project.get(`${this.#path}?${new URLSearchParams(query).toString()}`);
    const held = page.content.map((row: Json) => row.uid).filter((uid: string) => this.#there.includes(uid));
    const from = side === 'next' ? this.#to : this.#from - held.length;
    expect(held).toEqual(this.#there.slice(from, from + held.length));
    expect(new Set(page.content.map((row: Json) => row.uid)).size).toBe(page.content.length);
    this.#from = from;
    this.#to = from + held.length;
    if (!page.pagination.has_next_page) expect(this.#to).toBe(this.#there.length);
    if (!page.pagination.has_prev_page) expect(this.#from).toBe(0);
    this.#page = page.pagination;
  }
}

describe.each(Object.keys(lists))('a walk over %s', (path) => {
  // differs Lists: `sort`, `direction` and both cursors work on every list. Convoy ignores them on some.
  test.each(seeds)('neither repeats nor skips a row in either direction (seed %i)', async (seed) => {
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom('ASC', 'DESC'),
        fc.array(step, { minLength: 3, maxLength: 12 }),
        async (sort, steps) => {
          const { content } = await app.project.get(`${path}?perPage=1000&sort=${sort}`);
          const walk = new Walk(
            path,
            sort,
            content.map((row: Json) => row.uid),
          );
          for (const each of steps) {
            const adding = each.add ? lists[path]!() : undefined;
            await walk.go(each);
            await adding;
          }
        },
      ),
      { seed, numRuns: 8 },
    );
  });
});
