import { beforeAll, describe, expect, test } from 'vitest';
import { startTestApp, subscribe } from '../support/app.ts';
import type { Json } from '../support/client.ts';
import { eventually } from '../support/eventually.ts';
import { shared } from '../support/shared.ts';

/** Every list is walked the same way, while rows are being added. */
const ROWS = 23;
const app = await shared(startTestApp());
let endpoint: Json;
/** Not the target of the events: each of its subscriptions would take a delivery of its own. */
let subscribed: Json;

interface List {
  path: string;
  /** Adds one row. */
  add(): Promise<unknown>;
}

const lists: Record<string, List> = {
  endpoints: {
    path: '/endpoints',
    add: () => app.project.post('/endpoints', { name: 'listed', url: 'http://127.0.0.1:1' }),
  },
  subscriptions: {
    path: '/subscriptions',
    add: () => app.project.post('/subscriptions', { name: 'listed', endpoint_id: subscribed.uid }),
  },
  sources: {
    path: '/sources',
    add: () => app.project.post('/sources', { name: 'listed', type: 'rest_api' }),
  },
  events: {
    path: '/events',
    add: () => app.project.post('/events', { endpoint_id: endpoint.uid, event_type: 'x', data: {} }),
  },
  deliveries: {
    path: '/eventdeliveries',
    add: () => app.project.post('/events', { endpoint_id: endpoint.uid, event_type: 'x', data: {} }),
  },
};

beforeAll(async () => {
  endpoint = await app.project.post('/endpoints', { name: 'target', url: 'http://127.0.0.1:1' });
  subscribed = await app.project.post('/endpoints', { name: 'subscribed', url: 'http://127.0.0.1:1' });
  // Paused: deliveries stay as they are.
  await app.project.put(`/endpoints/${endpoint.uid}/pause`);
  for (const name of ['endpoints', 'events', 'sources', 'subscriptions'])
    await Promise.all(Array.from({ length: ROWS }, () => lists[name]!.add()));
});

const idsOf = (page: Json): string[] => page.content.map((row: Json) => row.uid);
const sorted = (ids: string[]): string[] => [...ids].sort();

async function fetchPage(list: List, query: Record<string, string>): Promise<Json> {
  return app.project.get(`${list.path}?${new URLSearchParams(query).toString()}`);
}

/** Every page from a first query to the end, in one direction. */
async function walk(list: List, query: Record<string, string>, between = async () => {}): Promise<Json[]> {
  const pages = [await fetchPage(list, query)];
  const key = query['direction'] === 'prev' ? 'prev' : 'next';
  for (;;) {
    const { pagination } = pages.at(-1)!;
    if (!pagination[`has_${key}_page`]) return pages;
    await between();
    pages.push(await fetchPage(list, { ...query, [`${key}_page_cursor`]: pagination[`${key}_page_cursor`] }));
  }
}

describe.each(Object.keys(lists))('the list of %s', (name) => {
  const list = lists[name]!;

  test.each(['DESC', 'ASC'])(
    'walked %s shows each row that was there exactly once, while others arrive',
    async (sort) => {
      const before = idsOf(await fetchPage(list, { perPage: '1000' }));
      const pages = await walk(list, { perPage: '5', sort }, async () => void (await list.add()));
      const seen = pages.flatMap(idsOf);
      expect(new Set(seen).size).toBe(seen.length);
      expect(sorted(seen.filter((id) => before.includes(id)))).toEqual(sorted(before));
      expect(seen).toEqual(sort === 'ASC' ? sorted(seen) : sorted(seen).toReversed());
      expect(pages.slice(0, -1).every((page) => page.content.length === 5)).toBe(true);
      expect(pages[0]!.pagination).toMatchObject({ has_prev_page: false, has_next_page: true, per_page: 5 });
      expect(pages.at(-1)!.pagination).toMatchObject({ has_next_page: false, next_page_cursor: '' });
      if (sort === 'DESC') expect(seen.length).toBe(before.length);
    },
  );

  test.each(['DESC', 'ASC'])('walked back %s shows the same pages again', async (sort) => {
    const forth = await walk(list, { perPage: '7', sort });
    const { prev_page_cursor } = forth.at(-1)!.pagination;
    const back = await walk(list, { perPage: '7', sort, direction: 'prev', prev_page_cursor });
    expect(back.map(idsOf)).toEqual(forth.slice(0, -1).map(idsOf).toReversed());
    expect(back.every((page) => page.pagination.has_next_page)).toBe(true);
    const turned = await fetchPage(list, {
      perPage: '7',
      sort,
      next_page_cursor: back[0]!.pagination.next_page_cursor,
    });
    expect(idsOf(turned)).toEqual(idsOf(forth.at(-1)!));
  });

  // differs Lists: `perPage` is 20 by default and for anything that is no positive number, 1,000 at most. Convoy
  //   has no bound.
  test.each([
    ['', 20],
    ['0', 20],
    ['-3', 20],
    ['many', 20],
    ['2.5', 20],
    ['1e1', 10],
    ['1', 1],
    ['1000', 1000],
    ['1001', 1000],
    ['99999999999', 1000],
  ])('asked for perPage %j gives %i', async (perPage, expected) => {
    const { content, pagination } = await fetchPage(list, { perPage });
    expect(pagination.per_page).toBe(expected);
    expect(content.length).toBeLessThanOrEqual(expected);
    expect(content.length).toBeGreaterThan(0);
  });

  test('treats empty and invalid parameters as absent, and a cursor beyond the end as the end', async () => {
    const plain = idsOf(await fetchPage(list, {}));
    const odd = {
      sort: '',
      direction: '',
      next_page_cursor: '',
      prev_page_cursor: '',
      perPage: '',
      startDate: '',
    };
    expect(idsOf(await fetchPage(list, odd))).toEqual(plain);
    expect(idsOf(await fetchPage(list, { sort: 'desc', direction: 'up' }))).toEqual(plain);
    expect(idsOf(await fetchPage(list, { direction: 'prev' }))).toEqual(plain);
    const beyond = await fetchPage(list, { next_page_cursor: '0' });
    expect(beyond).toMatchObject({ content: [], pagination: { has_next_page: false, has_prev_page: true } });
  });
});

describe('lists of events and deliveries', () => {
  test.each(['events', 'deliveries'])('of %s take dates, both ends included', async (name) => {
    const list = lists[name]!;
    const { content } = await fetchPage(list, { perPage: '1000' });
    const times = content.map((row: Json) => row.created_at).sort();
    const middle = times[Math.floor(times.length / 2)];
    const count = async (query: Record<string, string>) =>
      (await fetchPage(list, { perPage: '1000', ...query })).content.length;
    const later = times.filter((time: string) => time >= middle).length;
    const earlier = times.filter((time: string) => time <= middle).length;
    expect(await count({ startDate: middle })).toBe(later);
    expect(await count({ endDate: middle })).toBe(earlier);
    expect(await count({ startDate: middle.replace('Z', ''), endDate: '2999-01-01T00:00:00' })).toBe(later);
    expect(await count({ startDate: '0001-01-01T00:00:00' })).toBe(times.length);
  });

  test.each(['yesterday', '2026-13-01', '2026-01-01T25:00:00', '1'])(
    'refuse the date %j',
    async (startDate) => {
      for (const name of ['events', 'deliveries']) {
        const answer = await app.project.get(`${lists[name]!.path}?startDate=${startDate}`, 400);
        expect(answer).toMatchObject({ code: 'bad_query', message: expect.stringContaining('startDate') });
      }
    },
  );

  test('refuse a range that ends before it begins', async () => {
    await app.project.get('/events?startDate=2026-02-01&endDate=2026-01-01', 400);
  });

  // differs Lists: Deliveries are filtered by `eventType` and `event_type`; the OpenAPI document has only the
  //   first. Clients differ.
  test('filter by endpoint, event, type, status and idempotency key, several at a time', async () => {
    const event = await app.project.post('/events', {
      endpoint_id: endpoint.uid,
      event_type: 'filtered',
      data: {},
      idempotency_key: 'find me',
    });
    const deliveries = async (query: string) => (await app.project.get(`/eventdeliveries?${query}`)).content;
    const [delivery] = await deliveries(`eventId=${event.uid}`);
    expect(delivery).toMatchObject({
      event_id: event.uid,
      endpoint_id: endpoint.uid,
      idempotency_key: 'find me',
    });
    for (const query of ['eventType=filtered', 'event_type=filtered', 'idempotencyKey=find%20me'])
      expect((await deliveries(query)).map((row: Json) => row.uid)).toEqual([delivery.uid]);
    expect(await deliveries('eventType=filtered&status=Success')).toEqual([]);
    const open = await eventually(() => deliveries('eventType=filtered&status=Success&status=Scheduled'), {
      length: 1,
    });
    expect(open[0].uid).toBe(delivery.uid);
    const events = await app.project.get(
      `/events?idempotencyKey=find%20me&endpointId=${endpoint.uid}&endpointId=x`,
    );
    expect(idsOf(events)).toEqual([event.uid]);
    expect((await app.project.get('/events?endpointId=x')).content).toEqual([]);
    expect((await app.project.get(`/subscriptions?endpointId=x&name=list`)).content).toEqual([]);
  });

  test('of events that matched nothing leave out the others, and name the customer they were for', async () => {
    const client = await app.newProject();
    await client.post('/endpoints', { name: 'theirs', url: 'http://127.0.0.1:1/', owner_id: 'Acme "7"' });
    const send = async (path: string, body: object) =>
      (await client.post(`/events${path}`, { event_type: 'nowhere', data: {}, ...body })).uid;
    const broadcast = await send('/broadcast', { idempotency_key: 'once' });
    await send('/broadcast', { idempotency_key: 'once' });
    const theirs = await send('/fanout', { owner_id: 'Acme "7"' });
    await subscribe(client, 'http://127.0.0.1:1/', { eventTypes: ['somewhere'] });
    await send('/broadcast', { event_type: 'somewhere' });
    const ids = async (query: string) => idsOf(await client.get(`/events?${query}`));
    expect(await ids('unmatched=true')).toEqual([theirs, broadcast]);
    const owner = `ownerId=${encodeURIComponent('Acme "7"')}`;
    expect(await ids(`unmatched=true&${owner}`)).toEqual([theirs]);
    expect(await ids(owner)).toEqual([]);
    await client.get('/events?unmatched=perhaps', 400);
  });
});
