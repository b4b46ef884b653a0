/*
 * The rows of a list, page by page, followed live:
 *
 *   the list   pages by cursor, loaded as the reader scrolls
 *   the head   the newest page, read when the stream has news, and every few seconds while the tab is visible
 *
 * Rows of the head that the list does not have are "new". They go on top when the reader asks for them, or at once if
 * nothing can move under the pointer. Rows that both have are shown as the head has them, so states change in place.
 */
import { type QueryKey, useInfiniteQuery, useQuery } from '@tanstack/react-query';
import type { Page } from 'posthorn-client';
import { useCallback, useMemo, useState } from 'react';
import { type News, useNews } from './service/live.ts';

const HEAD_EVERY_MS = 5000;
const PER_PAGE = 100;

export interface PageQuery {
  perPage: number;
  next_page_cursor?: string;
}

export interface Rows<T> {
  rows: T[];
  /** Rows that came after the list was read; `100+` if they fill a page. */
  fresh: T[];
  showFresh(): void;
  loadMore: (() => void) | undefined;
  isPending: boolean;
  error: Error | null;
  refetch(): void;
}

interface Options<T> {
  key: QueryKey;
  load(page: PageQuery): Promise<Page<T>>;
  live?: boolean;
  /** The news of the stream about these rows; undefined: none. */
  news?: News;
}

export function useRows<T extends { uid: string }>({ key, load, live = false, news }: Options<T>): Rows<T> {
  // The pages are read again from the top when the reader asks for new rows.
  const [since, setSince] = useState(0);
  const list = useInfiniteQuery({
    queryKey: [...key, 'pages', since],
    initialPageParam: '',
    queryFn: ({ pageParam }) =>
      load({ perPage: PER_PAGE, ...(pageParam === '' ? {} : { next_page_cursor: pageParam }) }),
    getNextPageParam: ({ pagination }) =>
      pagination.has_next_page ? pagination.next_page_cursor : undefined,
    // The head keeps it fresh. Reading every page again would cost as many requests as there are pages.
    staleTime: Number.POSITIVE_INFINITY,
    refetchOnMount: 'always',
    placeholderData: (before) => before,
  });
  const head = useQuery({
    queryKey: [...key, 'head'],
    queryFn: () => load({ perPage: PER_PAGE }),
    enabled: live && list.isSuccess,
    refetchInterval: HEAD_EVERY_MS,
  });
  useNews(String(key[0]), live ? news : undefined, () => void head.refetch());
  const { data, hasNextPage, isFetchingNextPage, fetchNextPage } = list;
  const stored = useMemo(() => data?.pages.flatMap(({ content }) => content) ?? [], [data]);
  const merged = useMemo(() => merge(stored, head.data?.content ?? []), [stored, head.data]);
  const loadMore = useCallback(() => {
    if (!isFetchingNextPage) void fetchNextPage();
  }, [isFetchingNextPage, fetchNextPage]);
  return {
    ...merged,
    showFresh: () => setSince(since + 1),
    loadMore: hasNextPage ? loadMore : undefined,
    isPending: list.isPending,
    error: list.error,
    refetch: () => void list.refetch(),
  };
}

function merge<T extends { uid: string }>(stored: T[], head: readonly T[]): { rows: T[]; fresh: T[] } {
  const known = new Set(stored.map(({ uid }) => uid));
  const now = new Map(head.map((row) => [row.uid, row]));
  return {
    rows: stored.map((row) => now.get(row.uid) ?? row),
    fresh: head.filter(({ uid }) => !known.has(uid)),
  };
}
