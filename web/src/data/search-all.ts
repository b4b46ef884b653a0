import type { Posthorn, SearchResult } from 'posthorn-client';

export interface Hit {
  kind: string;
  title: string;
  /** Which field matched, with its value. */
  note: string;
  /** Its page in the project. */
  page: string;
}

type Found = SearchResult['hits'][number];

const KINDS: Readonly<Record<Found['kind'], [word: string, page: (uid: string) => string]>> = {
  event: ['Event', (uid) => `events/${uid}`],
  event_delivery: ['Delivery', (uid) => `deliveries/${uid}`],
  endpoint: ['Endpoint', (uid) => `endpoints/${uid}`],
  subscription: ['Subscription', (uid) => `subscriptions/${uid}`],
  source: ['Source', (uid) => `sources/${uid}`],
  event_type: ['Event type', () => 'event-types'],
  customer: ['Customer', (uid) => `customers/${encodeURIComponent(uid)}`],
  job: ['Job', (uid) => `jobs/${uid}`],
  meta_event: ['Meta event', (uid) => `meta-events/${uid}`],
};

/** One search over ids, keys, names, customers, types and values of payloads, and how far back it looked. */
export async function searchAll(api: Posthorn, text: string): Promise<{ hits: Hit[]; reach: string }> {
  const { hits, searched_from: from, complete } = await api.dashboard.search({ q: text });
  const shown = hits.map(({ kind, uid, title, field, value }): Hit => {
    const [word, page] = KINDS[kind];
    return { kind: word, title, note: `${field}: ${value}`, page: page(uid) };
  });
  const since = from === null ? 'all events' : `events since ${new Date(from).toLocaleString()}`;
  return {
    hits: shown,
    reach: complete ? '' : `Contents of ${since} were searched. Type more to find older ones.`,
  };
}
