import type { Pagination } from './generated/types.ts';

export interface Page<T> {
  content: T[];
  pagination: Pagination;
}

interface Walk {
  perPage?: number;
  direction?: 'next' | 'prev';
}

const PER_PAGE = 100;

/**
 * A list that is read page by page while it is iterated over:
 * `for await (const event of posthorn.events.list({ sort: 'ASC' })) ...`
 */
export class List<T> implements AsyncIterable<T> {
  readonly #query: object;
  readonly #read: (query: object) => Promise<Page<T>>;

  constructor(query: object, read: (query: object) => Promise<Page<T>>) {
    this.#query = query;
    this.#read = read;
  }

  /** The first page only, with its cursors. */
  page(): Promise<Page<T>> {
    return this.#read({ perPage: PER_PAGE, ...this.#query });
  }

  async *pages(): AsyncGenerator<Page<T>, void, undefined> {
    const isBack = (this.#query as Walk).direction === 'prev';
    for (let query: object = { perPage: PER_PAGE, ...this.#query }; ; ) {
      const page = await this.#read(query);
      yield page;
      const { has_next_page, has_prev_page, next_page_cursor, prev_page_cursor } = page.pagination;
      if (!(isBack ? has_prev_page : has_next_page)) return;
      query = isBack ? { ...query, prev_page_cursor } : { ...query, next_page_cursor };
    }
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<T, void, undefined> {
    for await (const { content } of this.pages()) yield* content;
  }
}
