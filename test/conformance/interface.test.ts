import { beforeAll, describe, expect, test } from 'vitest';
import { startTestApp, subscribe } from '../support/app.ts';
import type { Json } from '../support/client.ts';
import { eventually } from '../support/eventually.ts';
import { Receiver } from '../support/servers/receiver.ts';
import { type Check, listOf } from '../support/shape.ts';
import { shared } from '../support/shared.ts';
import {
  deliveryAttempt,
  endpoint,
  event,
  eventDelivery,
  filter,
  metaEvent,
  pageOf,
  portalLink,
  source,
  subscription,
} from './resources.ts';

/** The operations of the interface, one by one: what they are asked with, answer with, and show of what was given. */
const app = await shared(startTestApp());
const receiver = await shared(Receiver.start());
const ids: Record<string, string> = {};

beforeAll(async () => {
  await app.project.put('', {
    name: 'default',
    config: { meta_event: { is_enabled: true, event_type: ['*'], url: `${receiver.url}/meta`, secret: 's' } },
  });
  const made = await subscribe(app.project, receiver.url, {
    eventTypes: ['invoice.paid'],
    endpoint: { owner_id: 'owner', secret: 'first' },
  });
  ids['endpoint'] = made.endpoint.uid;
  ids['subscription'] = made.subscription.uid;
  const [record] = await app.project.get(`/subscriptions/${made.subscription.uid}/filters`);
  ids['filter'] = record.uid;
  ids['source'] = (await app.project.post('/sources', { name: 'source', type: 'rest_api' })).uid;
  ids['link'] = (await app.project.post('/portal-links', { name: 'link', owner_id: 'owner' })).uid;
  const sent = await app.project.post('/events/broadcast', {
    event_type: 'invoice.paid',
    data: { amount: 1 },
    source_id: ids['source'],
  });
  const { content } = await eventually(
    () => app.project.get(`/eventdeliveries?eventId=${sent.uid}`),
    (page) => page.content[0]?.status === 'Success',
  );
  ids['delivery'] = content[0].uid;
  const [attempt] = await app.project.get(`/eventdeliveries/${ids['delivery']}/deliveryattempts`);
  ids['attempt'] = attempt.uid;
  await eventually(
    () => app.project.get('/meta-events'),
    (page) => page.content.some((row: Json) => row.status === 'Success'),
  );
});

const withIds = (path: string): string =>
  path.replaceAll(/\{(\w+)\}/g, (_, name: string) => ids[name] ?? name);

interface Row {
  operation: string;
  status: number;
  body?: object;
  data: Check;
}

const operations: Row[] = [
  {
    operation: 'POST /portal-links',
    status: 201,
    body: { name: 'another', owner_id: 'owner' },
    data: portalLink,
  },
  { operation: 'GET /portal-links', status: 200, data: pageOf(portalLink) },
  { operation: 'GET /portal-links/{link}', status: 200, data: portalLink },
  {
    operation: 'PUT /portal-links/{link}',
    status: 202,
    body: { name: 'link', owner_id: 'owner' },
    data: portalLink,
  },
  {
    operation: 'POST /subscriptions',
    status: 201,
    body: { name: 'another', endpoint_id: '{endpoint}', filter_config: { event_types: ['none'] } },
    data: subscription,
  },
  { operation: 'GET /subscriptions', status: 200, data: pageOf(subscription) },
  { operation: 'GET /subscriptions/{subscription}', status: 200, data: subscription },
  {
    operation: 'PUT /subscriptions/{subscription}',
    status: 202,
    body: { name: 'subscription', endpoint_id: '{endpoint}' },
    data: subscription,
  },
  { operation: 'GET /subscriptions/{subscription}/filters/{filter}', status: 200, data: filter },
  { operation: 'POST /sources', status: 201, body: { name: 'another', type: 'http' }, data: source },
  { operation: 'GET /sources', status: 200, data: pageOf(source) },
  { operation: 'GET /sources/{source}', status: 200, data: source },
  {
    operation: 'PUT /sources/{source}',
    status: 202,
    body: { name: 'source', type: 'rest_api' },
    data: source,
  },
  { operation: 'GET /endpoints/{endpoint}', status: 200, data: endpoint },
  { operation: 'PUT /endpoints/{endpoint}/pause', status: 202, data: endpoint },
  {
    operation: 'PUT /endpoints/{endpoint}/expire_secret',
    status: 200,
    body: { expiration: 60, secret: 'second' },
    data: endpoint,
  },
  {
    operation: 'POST /events/broadcast',
    status: 201,
    body: { event_type: 'invoice.paid', data: { amount: 2 } },
    data: event,
  },
  { operation: 'GET /eventdeliveries/{delivery}', status: 200, data: eventDelivery },
  {
    operation: 'GET /eventdeliveries/{delivery}/deliveryattempts',
    status: 200,
    data: listOf(deliveryAttempt),
  },
  {
    operation: 'GET /eventdeliveries/{delivery}/deliveryattempts/{attempt}',
    status: 200,
    data: deliveryAttempt,
  },
  { operation: 'GET /meta-events', status: 200, data: pageOf(metaEvent) },
];

describe('the 21 operations', () => {
  test.each(operations)('$operation answers $status with every field', async (row) => {
    const [method = '', path = ''] = row.operation.split(' ');
    const body =
      row.body && JSON.parse(JSON.stringify(row.body).replaceAll('"{endpoint}"', `"${ids['endpoint']}"`));
    // The interface sends the key bare.
    const response = await app.project.raw(method, withIds(path), {
      body,
      headers: { authorization: app.project.key },
    });
    const answer = (await response.json()) as Json;
    expect([response.status, answer.status, typeof answer.message]).toEqual([row.status, true, 'string']);
    expect(row.data(answer.data, 'data')).toEqual([]);
    if (method === 'GET' && answer.data.content) expect(answer.data.content).not.toEqual([]);
  });

  test('are complete', () => {
    expect(new Set(operations.map((row) => row.operation)).size).toBe(21);
  });
});
