import { beforeAll, expect, test } from 'vitest';
import { portalOf, startTestApp, subscribe } from '../../support/app.ts';
import type { ApiClient, Json } from '../../support/client.ts';
import { copyEvent } from '../../support/samples/copied-events.ts';
import { Receiver } from '../../support/servers/receiver.ts';
import { shared } from '../../support/shared.ts';

/** One search over everything of a project. */
const app = await shared(startTestApp());
const receiver = await shared(Receiver.start());
let project: ApiClient;
let endpoint: Json;
let subscription: Json;
let source: Json;
let event: Json;
let hidden: Json;

beforeAll(async () => {
  project = await app.newProject();
  ({ endpoint, subscription } = await subscribe(project, `${receiver.url}/hooks`, {
    eventTypes: ['invoice.paid'],
    endpoint: { name: 'Billing of Acme', owner_id: 'acme-17' },
    subscription: { name: 'Paid invoices' },
  }));
  source = await project.post('/sources', { name: 'Shop', type: 'rest_api' });
  await project.post('/event-types', { name: 'order.shipped', description: 'An order left' });
  event = await project.post('/events/broadcast', {
    event_type: 'invoice.paid',
    data: { invoice: { number: 'INV-2041', lines: [{ sku: 'Zoë 7' }] }, total: 99_001 },
    idempotency_key: 'payment-77',
  });
  hidden = await project.post('/events/broadcast', { event_type: 'salary.paid', data: { iban: 'DE00-1' } });
});

const find = async (text: string, client: ApiClient = project): Promise<Json> =>
  client.get(`/search?q=${encodeURIComponent(text)}`);
const short = ({ hits }: Json) => hits.map(({ kind, uid, field }: Json) => [kind, uid, field]);

test('ids find what they name', async () => {
  expect(short(await find(event.uid))).toEqual([['event', event.uid, 'uid']]);
  expect(short(await find(event.uid.toLowerCase()))).toEqual([['event', event.uid, 'uid']]);
  const [delivery] = (await project.get(`/eventdeliveries?eventId=${event.uid}`)).content;
  expect(short(await find(delivery.uid))).toEqual([['event_delivery', delivery.uid, 'uid']]);
  expect(short(await find(endpoint.uid))).toEqual([['endpoint', endpoint.uid, 'uid']]);
  expect(short(await find(subscription.uid))).toEqual([['subscription', subscription.uid, 'uid']]);
  expect(short(await find(source.uid))).toEqual([['source', source.uid, 'uid']]);
  const job = await project.post('/eventdeliveries/batchretry', undefined, 200);
  expect(short(await find(job.uid))).toEqual([['job', job.uid, 'uid']]);
});

test('names, customers, event types and keys are found by a part of them', async () => {
  expect(short(await find('billing'))).toEqual([['endpoint', endpoint.uid, 'name']]);
  expect(short(await find('ACME-1'))).toEqual([['customer', 'acme-17', 'owner_id']]);
  expect(short(await find('/hooks'))).toEqual([['endpoint', endpoint.uid, 'url']]);
  expect(short(await find('paid inv'))).toEqual([['subscription', subscription.uid, 'name']]);
  expect(short(await find('shop'))).toEqual([['source', source.uid, 'name']]);
  expect(short(await find('order.s'))).toEqual([['event_type', 'order.shipped', 'name']]);
  expect(short(await find('payment-77'))).toEqual([['event', event.uid, 'idempotency_key']]);
  expect(short(await find('payment-7'))).toEqual([['event', event.uid, 'idempotency_key']]);
  // The subscription has put the type into the catalogue.
  expect(short(await find('invoice.p'))).toEqual([
    ['event_type', 'invoice.paid', 'name'],
    ['event', event.uid, 'event_type'],
  ]);
});

test('values of payloads are found without their path, and the answer says how far it looked', async () => {
  const found = await find('INV-2041');
  expect(found).toMatchObject({ complete: true, searched_events: 2, searched_from: null });
  expect(found.hits).toEqual([
    {
      kind: 'event',
      uid: event.uid,
      title: 'invoice.paid',
      field: 'data.invoice.number',
      value: 'INV-2041',
      owner_id: 'acme-17',
      created_at: event.created_at,
    },
  ]);
  expect(short(await find('Zoë'))).toEqual([['event', event.uid, 'data.invoice.lines.0.sku']]);
  expect(short(await find('99001'))).toEqual([['event', event.uid, 'data.total']]);
  expect(await find('never sent')).toMatchObject({ hits: [], complete: true });
  const early = await project.get('/search?q=INV-2041&endDate=2020-01-01T00:00:00');
  expect(early).toMatchObject({ hits: [], searched_events: 0 });
});

test('a hit names its customer: of an endpoint, its subscription, a delivery, and of an event for one only', async () => {
  const ownersOf = async (text: string) => (await find(text)).hits.map((hit: Json) => hit.owner_id);
  const [delivery] = (await project.get(`/eventdeliveries?eventId=${event.uid}`)).content;
  for (const text of [endpoint.uid, subscription.uid, delivery.uid, event.uid, 'payment-77'])
    expect([text, await ownersOf(text)]).toEqual([text, ['acme-17']]);
  expect(await ownersOf(hidden.uid)).toEqual(['']);
  expect(await ownersOf(source.uid)).toEqual(['']);
  const { endpoint: second } = await subscribe(project, receiver.url, {
    eventTypes: ['two.customers'],
    endpoint: { owner_id: 'globex' },
  });
  await project.post('/subscriptions', {
    name: 'both',
    endpoint_id: endpoint.uid,
    filter_config: { event_types: ['two.customers'] },
  });
  const both = await project.post('/events/broadcast', { event_type: 'two.customers', data: {} });
  expect(both.owner_ids.toSorted()).toEqual(['acme-17', 'globex']);
  expect(await ownersOf(both.uid)).toEqual(['']);
  await project.delete(`/endpoints/${second.uid}`);
});

test('a search with many matches ends with the newest, and says where it stopped', async () => {
  const many = await app.newProject();
  for (let n = 0; n < 3; n++)
    await Promise.all(
      Array.from({ length: 10 }, () =>
        many.post('/events/broadcast', { event_type: 'a', data: { v: 'same' } }),
      ),
    );
  const { hits, complete, searched_events, searched_from } = await find('same', many);
  expect([hits.length, complete, searched_events]).toEqual([20, false, 20]);
  expect(searched_from).toBe(hits.at(-1).created_at);
  const newest = (await many.get('/events?perPage=20')).content.map((row: Json) => row.uid);
  expect(hits.map((hit: Json) => hit.uid)).toEqual(newest);
});

test('a cursor goes on with older hits, also of one millisecond, and repeats none', async () => {
  const many = await app.newProject();
  const event = await many.post('/events/broadcast', {
    event_type: 'a',
    data: { v: 'same' },
    idempotency_key: 'same',
  });
  await copyEvent(app, event, 99);
  const found: string[] = [];
  let searched = 0;
  for (let [cursor, isComplete] = ['', false]; !isComplete; ) {
    const page: Json = await many.get(`/search?q=same&next_page_cursor=${cursor}`);
    isComplete = page.complete;
    cursor = page.next_page_cursor;
    expect(cursor).toMatch(isComplete ? /^$/ : /^\w{26}$/);
    found.push(...page.hits.map(({ uid }: Json) => uid));
    searched += page.searched_events;
  }
  expect([found.length, new Set(found).size, searched]).toEqual([100, 100, 100]);
  expect((await many.get('/search?q=same&next_page_cursor=x', 400)).message).toContain('next_page_cursor');
});

test('a text that is empty, too long or not a text is refused', async () => {
  for (const q of ['', '%20', 'x'.repeat(257), '%00'])
    expect((await project.get(`/search?q=${q}`, 400)).code).toBe('bad_query');
  expect((await project.get('/search', 400)).code).toBe('bad_query');
});

test('another project and a portal find nothing that is not theirs', async () => {
  const other = await app.newProject();
  for (const text of [event.uid, endpoint.uid, 'billing', 'payment-77', 'INV-2041', 'acme'])
    expect((await find(text, other)).hits).toEqual([]);
  const portal = await portalOf(project, 'acme-17');
  expect(short(await find('INV-2041', portal))).toEqual([['event', event.uid, 'data.invoice.number']]);
  expect(short(await find('billing', portal))).toEqual([['endpoint', endpoint.uid, 'name']]);
  for (const text of [hidden.uid, 'DE00-1', 'salary', 'shop', source.uid, 'acme-17'])
    expect((await find(text, portal)).hits).toEqual([]);
});
