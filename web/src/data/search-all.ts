import { useInfiniteQuery } from '@tanstack/react-query';
import type { Posthorn, SearchResult } from 'posthorn-client';
import { useEffect } from 'react';
import { useProject } from './project.ts';

export interface Hit {
  /** A plural noun. */
  kind: string;
  uid: string;
  title: string;
  /** Which field matched, with its value. Empty if the title or the id did. */
  note: string;
  /** The customer. Empty: none, or several. */
  owner: string;
  at: string | null;
  /** Its page in the project. */
  page: string;
}

type Kind = SearchResult['hits'][number]['kind'];

const KINDS: Readonly<Record<Kind, [word: string, page: (uid: string) => string]>> = {
  event: ['Events', (uid) => `events/${uid}`],
  event_delivery: ['Deliveries', (uid) => `deliveries/${uid}`],
  endpoint: ['Endpoints', (uid) => `endpoints/${uid}`],
  subscription: ['Subscriptions', (uid) => `subscriptions/${uid}`],
  source: ['Sources', (uid) => `sources/${uid}`],
  event_type: ['Event types', () => 'event-types'],
  customer: ['Customers', (uid) => `customers/${encodeURIComponent(uid)}`],
  job: ['Jobs', (uid) => `jobs/${uid}`],
  meta_event: ['Meta events', (uid) => `meta-events/${uid}`],
};

/** The part of a search that one call answers. */
interface Found {
  hits: Hit[];
  /** Contents of events were searched back to here. Null: of all events. */
  from: string | null;
  /** The cursor with which the next call goes on. Null: nothing is left to search. */
  next: string | null;
}

/** One search over ids, keys, names, customers, types and values of payloads. A cursor goes on to older events. */
async function searchOnce(api: Posthorn, text: string, next_page_cursor: string): Promise<Found> {
  const answer = await api.dashboard.search({ q: text, next_page_cursor });
  const { searched_from: from, next_page_cursor: next } = answer;
  const hits = answer.hits.map(({ kind, uid, title, field, value, owner_id: owner, created_at: at }): Hit => {
    const [word, page] = KINDS[kind];
    const note = field === 'uid' || value === title ? '' : `${field}: ${value}`;
    return { kind: word, uid, title, note, owner, at, page: page(uid) };
  });
  return { hits, from, next: next || null };
}

/** A search goes on to older events by itself for so many calls of at most 3 s, or until it has so many hits. */
const MOST_CALLS = 10;
const MOST_HITS = 100;

export interface Search {
  /** Each hit once, under the name of its kind. */
  groups: [kind: string, hits: Hit[]][];
  /** Undefined: nothing is searched yet. */
  from: string | null | undefined;
  isSearching: boolean;
  /** Searches older events. Undefined: there are none. */
  more: (() => void) | undefined;
  error: Error | null;
}

/** A search that goes on by itself. A hit that is the only one is opened. */
export function useSearch(asked: string, open: (page: string) => void): Search {
  const { api, id } = useProject();
  const { data, error, hasNextPage, isFetching, fetchNextPage } = useInfiniteQuery({
    queryKey: [id, 'search', asked],
    initialPageParam: '',
    queryFn: ({ pageParam }) => searchOnce(api, asked, pageParam),
    getNextPageParam: ({ next }) => next,
    enabled: asked !== '',
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
  });
  const calls = data?.pages ?? [];
  const hits = [
    ...new Map(calls.flatMap((call) => call.hits).map((hit) => [hit.page + hit.title, hit])).values(),
  ];
  const goesOn = hasNextPage && error === null && calls.length < MOST_CALLS && hits.length < MOST_HITS;
  useEffect(() => {
    if (goesOn && !isFetching) void fetchNextPage();
  }, [goesOn, isFetching, fetchNextPage]);
  const only = hits.length === 1 && !hasNextPage ? hits[0]?.page : undefined;
  useEffect(() => {
    if (only !== undefined) open(only);
    // The hit decides, not the function, which is another one each time.
    // oxlint-disable-next-line react/exhaustive-deps
  }, [only]);
  return {
    groups: [...Map.groupBy(hits, ({ kind }) => kind)],
    from: calls.at(-1)?.from,
    isSearching: isFetching || goesOn,
    more: hasNextPage ? () => void fetchNextPage() : undefined,
    error,
  };
}
