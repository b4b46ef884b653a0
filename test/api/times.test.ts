import { expect, test } from 'vitest';
import { startTestApp, subscribe } from '../support/app.ts';
import { type Json } from '../support/client.ts';
import { fetchOpenApi } from '../support/openapi.ts';
import { Receiver } from '../support/servers/receiver.ts';
import { deliveryOf } from '../support/settled.ts';
import { shared } from '../support/shared.ts';

/** Times that come in: one rule for every place that takes one. */
const service = await shared(startTestApp());
const receiver = await shared(Receiver.start());

const { endpoint, subscription } = await subscribe(service.project, receiver.url, {
  endpoint: { owner_id: 'owner' },
  subscription: { retry_config: { type: 'linear', interval_seconds: 1, retry_count: 3 } },
});

const REFUSED = [
  '0000-06-01T00:00:00Z',
  '0001-01-01T00:00:00+00:01',
  '9999-12-31T23:59:59-00:01',
  '2026-02-30T00:00:00Z',
  '2027-02-29T00:00:00Z',
  '2016-12-31T23:59:60Z',
  '2026-01-01T24:00:00Z',
  'tomorrow',
];

// differs Events and deliveries: Latency counts from our own acceptance. A time is RFC 3339, of a day that
//   exists, in the years 1 to 9999 in UTC, else 400. Others cannot be stored.
test('a body with an invalid time is refused, and the field is named', async () => {
  const event = { event_type: 'a', data: {} };
  await service.project.post('/event-types', { name: 'timed' });
  const filter = await service.project.post(`/subscriptions/${subscription.uid}/filters`, {
    event_type: 'timed',
    body: {},
  });
  const filters = `/subscriptions/${subscription.uid}/filters`;
  const link = await service.project.post('/portal-links', { name: 'link', owner_id: 'owner' });
  const calls: [method: string, path: string, field: string, body: (time: string) => unknown][] = [
    [
      'POST',
      '/events',
      'acknowledged_at',
      (time) => ({ ...event, endpoint_id: endpoint.uid, acknowledged_at: time }),
    ],
    ['POST', '/events/broadcast', 'acknowledged_at', (time) => ({ ...event, acknowledged_at: time })],
    [
      'POST',
      '/events/fanout',
      'acknowledged_at',
      (time) => ({ ...event, owner_id: 'owner', acknowledged_at: time }),
    ],
    [
      'POST',
      '/events/dynamic',
      'acknowledged_at',
      (time) => ({ ...event, url: receiver.url, acknowledged_at: time }),
    ],
    ['POST', '/keys', 'expires_at', (time) => ({ name: 'key', expires_at: time })],
    ['POST', '/portal-links', 'expires_at', (time) => ({ name: 'l', owner_id: 'owner', expires_at: time })],
    ['PUT', `/portal-links/${link.uid}`, 'expires_at', (time) => ({ name: 'l', expires_at: time })],
    ['POST', filters, 'enabled_at', (time) => ({ event_type: 'b.*', enabled_at: time })],
    ['PUT', `${filters}/${filter.uid}`, 'enabled_at', (time) => ({ enabled_at: { set: true, time } })],
    ['PUT', `${filters}/bulk_update`, 'enabled_at', (time) => [{ uid: filter.uid, enabled_at: time }]],
    [
      'PUT',
      '',
      'created_at',
      (time) => ({
        name: 'default',
        config: { signature: { versions: [{ hash: 'SHA256', encoding: 'hex', created_at: time }] } },
      }),
    ],
  ];
  for (const [method, path, field, body] of calls) {
    for (const time of REFUSED) {
      const answer = await service.project.call(method, path, { body: body(time), expected: 400 });
      expect(`${path} ${time} ${answer.message}`).toContain(field);
    }
  }
});

/** Path and method of every operation that takes dates, from the document itself. */
async function datedOperations(): Promise<{ method: string; path: string }[]> {
  const document = await fetchOpenApi(service.url);
  return Object.entries<Json>(document.paths).flatMap(([path, methods]) =>
    Object.entries<Json>(methods)
      .filter(([, operation]) => operation.parameters?.some((p: Json) => p.name === 'startDate'))
      .map(([method]) => ({ method: method.toUpperCase(), path })),
  );
}

test('every filter by date refuses a day that does not exist and treats the year 1 as absent', async () => {
  const dated = (await datedOperations()).filter(({ path }) => path.startsWith('/api/'));
  expect(dated.length).toBeGreaterThanOrEqual(12);
  for (const { method, path } of dated) {
    const concrete = path.replace('/api/v1', '').replace('{projectID}', service.projectId);
    // Parameters that these operations need besides dates.
    const extra = path.endsWith('/summary') ? '&type=daily' : path.endsWith('/search') ? '&q=x' : '';
    const answerOf = async (name: string, time: string) => {
      const url = `${concrete}?${name}=${encodeURIComponent(time)}${extra}`;
      const response = await service.instance.raw(method, url, method === 'GET' ? {} : { body: {} });
      await response.arrayBuffer();
      return response.status;
    };
    for (const name of ['startDate', 'endDate']) {
      for (const time of ['2026-02-30', '2026-02-30T10:00:00', ...REFUSED.slice(2)])
        expect(`${method} ${path} ${name}=${time} ${await answerOf(name, time)}`).toMatch(/ 400$/);
      expect(`${method} ${path} ${name} ${await answerOf(name, '0001-01-01T00:00:00Z')}`).toMatch(
        / 20[012]$/,
      );
    }
  }
});

test.each([
  ['0001-01-01T00:00:00Z', '0001-01-01T00:00:00.000Z'],
  ['0050-06-01T12:00:00+02:00', '0050-06-01T10:00:00.000Z'],
  ['1895-01-01T00:00:00.5Z', '1895-01-01T00:00:00.500Z'],
  ['9999-12-31T23:59:59.999Z', '9999-12-31T23:59:59.999Z'],
])('acknowledged_at %s is shown as %s everywhere, and changes nothing else', async (given, shown) => {
  receiver.answerNext(500);
  const event = await service.project.post('/events', {
    endpoint_id: endpoint.uid,
    event_type: 'a',
    data: {},
    acknowledged_at: given,
  });
  expect(event.acknowledged_at).toBe(shown);
  expect((await service.project.get(`/events/${event.uid}`)).acknowledged_at).toBe(shown);
  // The second try is made from the row of the queue, not from what this node has in memory.
  const delivery = await deliveryOf(service.project, event);
  expect(delivery.acknowledged_at).toBe(shown);
  const sinceAccepted = Date.now() - Date.parse(event.created_at);
  expect(delivery.latency_seconds).toBeLessThanOrEqual(sinceAccepted / 1000);
  expect(delivery.latency).toMatch(/^\d+(\.\d+)?(ms|s)$/);
  const page = await (await fetch(`${service.url}/metrics`)).text();
  const sum = Number(/^posthorn_delivery_latency_seconds_sum (\S+)$/m.exec(page)?.[1]);
  const count = Number(/^posthorn_delivery_latency_seconds_count (\S+)$/m.exec(page)?.[1]);
  expect(count).toBeGreaterThan(0);
  expect(sum / count).toBeLessThan(600);
});
