import type { Posthorn } from 'posthorn-client';
import type { Search } from '../../data/search.ts';
import type { TimeRange } from '../../data/time-range.ts';

export const eventFilters = (search: Search, range: TimeRange) => ({
  ...range,
  ...(search['endpoint'] === undefined ? {} : { endpointId: [search['endpoint']] }),
  ...(search['source'] === undefined ? {} : { sourceId: [search['source']] }),
  ...(search['customer'] === undefined ? {} : { ownerId: search['customer'] }),
  ...(search['matched'] === 'nothing' ? { unmatched: true } : {}),
  ...(search['due'] === 'later' ? { delayed: true } : {}),
  ...(search['key'] === undefined ? {} : { idempotencyKey: search['key'] }),
  ...(search['text'] === undefined ? {} : { query: search['text'] }),
});

export const eventQuery = (api: Posthorn, project: string, id: string) => ({
  queryKey: [project, 'event', id],
  queryFn: () => api.events.get(id),
});

export const deliveriesOf = (api: Posthorn, project: string, id: string) => ({
  queryKey: [project, 'event', id, 'deliveries'],
  queryFn: () => api.eventDeliveries.list({ eventId: id, sort: 'ASC', perPage: 200 }).page(),
  refetchInterval: 2000,
});

export const explainQuery = (api: Posthorn, project: string, id: string) => ({
  queryKey: [project, 'event', id, 'explain'],
  queryFn: () => api.events.explain(id),
});
