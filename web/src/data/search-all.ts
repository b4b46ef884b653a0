import { type Posthorn, PosthornError } from 'posthorn-client';

export interface Hit {
  kind: string;
  title: string;
  /** Which field matched. */
  note: string;
  /** Its page in the project. */
  page: string;
}

const ID = /^[0-9A-Za-z_-]{16,64}$/;
const MAX = 8;

/** One search over ids, names, customers, idempotency keys and values of payloads. */
export async function searchAll(api: Posthorn, text: string): Promise<Hit[]> {
  const byId = ID.test(text) ? await findById(api, text) : [];
  if (byId.length > 0) return byId;
  const lists = await Promise.all([
    api.endpoints.list({ q: text, perPage: MAX }).page(),
    api.endpoints.list({ ownerId: text, perPage: MAX }).page(),
    api.events.list({ idempotencyKey: text, perPage: MAX }).page(),
    api.events.list({ query: text, perPage: MAX }).page(),
  ]);
  const [named, owned, keyed, valued] = lists;
  const hits = [
    ...named.content.map(({ uid, name }) => ({
      kind: 'Endpoint',
      title: name,
      note: 'name',
      page: `endpoints/${uid}`,
    })),
    ...owned.content.map(({ uid, name }) => ({
      kind: 'Endpoint',
      title: name,
      note: 'customer',
      page: `endpoints/${uid}`,
    })),
    ...keyed.content.map(({ uid, event_type }) => ({
      kind: 'Event',
      title: event_type,
      note: 'idempotency key',
      page: `events/${uid}`,
    })),
    ...valued.content.map(({ uid, event_type }) => ({
      kind: 'Event',
      title: `${event_type} ${uid}`,
      note: 'value of the payload',
      page: `events/${uid}`,
    })),
  ];
  return [...new Map(hits.map((hit) => [hit.page, hit])).values()];
}

async function findById(api: Posthorn, id: string): Promise<Hit[]> {
  const look = async (
    kind: string,
    page: string,
    get: () => Promise<{ name?: string; event_type?: string }>,
  ): Promise<Hit[]> => {
    try {
      const { name, event_type } = await get();
      return [{ kind, title: name ?? event_type ?? id, note: 'id', page: `${page}/${id}` }];
    } catch (error) {
      if (error instanceof PosthornError && [400, 404].includes(error.status)) return [];
      throw error;
    }
  };
  const found = await Promise.all([
    look('Event', 'events', () => api.events.get(id)),
    look('Delivery', 'deliveries', () => api.eventDeliveries.get(id)),
    look('Endpoint', 'endpoints', () => api.endpoints.get(id)),
    look('Subscription', 'subscriptions', () => api.subscriptions.get(id)),
    look('Source', 'sources', () => api.sources.get(id)),
  ]);
  return found.flat();
}
