import { createHmac } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { httpSource, startTestApp, subscribe } from '../support/app.ts';
import { ApiClient, type Json } from '../support/client.ts';
import { eventually } from '../support/eventually.ts';
import type { Received } from '../support/servers/receiver.ts';
import { shared } from '../support/shared.ts';
import { numbers, scene } from './scene.ts';

const app = await shared(startTestApp());

const LATE = { max_wait_seconds: 300 };
const RETRIES = { type: 'linear', interval_seconds: 1, retry_count: 3 };
const LARGE = 'x'.repeat(400);
const sortedNumbers = (requests: readonly Received[]) => requests.flatMap(numbers).toSorted((a, b) => a - b);
const upTo = (count: number) => Array.from({ length: count }, (_, n) => n + 1);
const idOf = ({ headers }: Received) => headers['webhook-id'];

describe('a batch', () => {
  // proves Subscriptions: batch.max
  test('is an array with one signature, and each delivery keeps its id and its attempts', async () => {
    const { client, receiver, send, ended } = await scene(app, { max: 3, ...LATE });
    await send(3);
    const [request] = (await receiver.received(1)) as [Received];
    const deliveries = await ended(3);
    expect(request.json).toEqual(
      deliveries.map(({ uid }, index) => ({
        id: uid,
        type: 'order.paid',
        timestamp: expect.stringMatching(/^20.*Z$/),
        data: { n: index + 1 },
      })),
    );
    const { 'webhook-id': id, 'webhook-timestamp': at, 'webhook-signature': given } = request.headers;
    const hmac = createHmac('sha256', 'a secret of the endpoint').update([id, at, ''].join('.'));
    expect(given).toBe(`v1,${hmac.update(request.body).digest('base64')}`);
    expect(request.headers['content-type']).toBe('application/json');
    for (const { uid, status, metadata } of deliveries) {
      expect(uid).not.toBe(id);
      expect([status, metadata.num_trials]).toEqual(['Success', 1]);
      const attempts = await client.get(`/eventdeliveries/${uid}/deliveryattempts`);
      expect(attempts).toHaveLength(1);
      expect(attempts[0]).toMatchObject({ http_status: '200 OK', response_data: 'ok', status: true });
      expect(attempts[0].request_http_header['webhook-id']).toBe(id);
    }
    expect(receiver.requests).toHaveLength(1);
    const rows = await app.database.query('select from delivery_queue where project_id = $1', [
      client.projectId,
    ]);
    expect(rows).toEqual([]);
  });

  // proves Subscriptions: batch.max_wait_seconds
  test('is sent when its oldest delivery has waited long enough, and until then says what it waits for', async () => {
    const { client, receiver, send, ended, deliveries } = await scene(app, { max: 100, max_wait_seconds: 2 });
    await send(2);
    const waiting = await deliveries();
    expect(waiting.map(({ waiting_for }) => waiting_for.gate)).toEqual(['batch', 'batch']);
    expect((await client.get('/eventdeliveries?waitingFor=batch')).content).toHaveLength(2);
    const { uid } = waiting[0] as Json;
    expect((await client.get(`/eventdeliveries/${uid}`)).metadata.description ?? '').not.toContain('node');
    await ended(2);
    expect(receiver.requests.map(numbers)).toEqual([[1, 2]]);
  });

  // proves Subscriptions: batch.max_bytes
  test('takes no more bytes than it may, and a larger payload is one of its own', async () => {
    const { receiver, send, ended } = await scene(app, { max: 100, max_bytes: 1_000, ...LATE });
    await send(3, { event: { data: { n: 1, LARGE } } });
    await receiver.received(1);
    expect(receiver.requests.map(({ json }) => json.length)).toEqual([2]);
    await send(1, { event: { data: { n: 2, LARGE: LARGE.repeat(4) } } });
    await ended(4);
    expect(receiver.requests.map(({ json }) => json.length)).toEqual([2, 1, 1]);
  });

  test('of at most one delivery, without a wait, is still an array', async () => {
    const { receiver, send, ended } = await scene(app, { max: 1, max_wait_seconds: 0 });
    await send(2);
    await ended(2);
    expect(receiver.requests.map(({ json }) => json.length)).toEqual([1, 1]);
  });

  test('may have a thousand deliveries, while neighbours get theirs one by one', async () => {
    const { client, receiver, send } = await scene(app, { max: 1_000, ...LATE });
    await subscribe(client, `${receiver.url}/single`, { eventTypes: ['other'] });
    await send(999);
    await client.post('/events/broadcast', { event_type: 'other', data: { n: 0 } });
    await receiver.received(1, '/single');
    expect(receiver.at('/')).toHaveLength(0);
    await client.post('/events/broadcast', { event_type: 'order.paid', data: { n: 1_000 } });
    // `other` goes to both subscriptions, so one of the thousand is left.
    await eventually(() => receiver.at('/').length, 1);
    expect(receiver.at('/')[0]?.json).toHaveLength(1_000);
    expect(receiver.at('/single').map(({ json }) => json)).toEqual([{ n: 0 }]);
  });

  test('has CloudEvents where the endpoint asks for them, and other content as text or base64', async () => {
    const endpoint = { cloudevents: 'binary' };
    const one = await scene(app, { max: 2, ...LATE }, { endpoint });
    await one.send(2);
    const [cloud] = (await one.receiver.received(1)) as [Received];
    expect(cloud.headers['content-type']).toContain('application/cloudevents-batch+json');
    expect(cloud.json).toMatchObject([
      { specversion: '1.0', type: 'order.paid', data: { n: 1 } },
      { specversion: '1.0', type: 'order.paid', data: { n: 2 } },
    ]);
    const source = await httpSource(one.client);
    const other = await subscribe(one.client, `${one.receiver.url}/other`, {
      subscription: { source_id: source.uid, batch: { max: 2, ...LATE } },
    });
    expect(other.subscription.batch).toEqual({ max: 2, max_bytes: 1_000_000, max_wait_seconds: 300 });
    const post = (type: string, body: string | Buffer) =>
      fetch(source.url, { method: 'POST', headers: { 'content-type': type }, body: body as string });
    await post('text/plain', 'a "text"');
    await post('application/octet-stream', Buffer.from([0xff, 0xfe]));
    const [request] = await one.receiver.received(1, '/other');
    expect(request?.json).toMatchObject([{ data: 'a "text"' }, { data_base64: '//4=' }]);
  });
});

describe('a batch that fails', () => {
  test('is sent again as it was, with the same id and the same bytes, after what the endpoint asks for', async () => {
    const { client, receiver, send, ended } = await scene(
      app,
      { max: 2, ...LATE },
      { subscription: { retry_config: RETRIES } },
    );
    receiver.answerNext(503, (_request, response) => response.writeHead(429, { 'retry-after': '2' }).end());
    await send(2);
    const deliveries = await ended(2);
    const [first, second, third] = receiver.requests as [Received, Received, Received];
    expect(receiver.requests).toHaveLength(3);
    expect([idOf(second), idOf(third)]).toEqual([idOf(first), idOf(first)]);
    expect([second.body, third.body]).toEqual([first.body, first.body]);
    expect(third.at - second.at).toBeGreaterThan(1_900);
    for (const { uid, metadata } of deliveries) {
      expect(metadata.num_trials).toBe(3);
      expect(await client.get(`/eventdeliveries/${uid}/deliveryattempts`)).toHaveLength(3);
    }
  });

  test('is split in halves after 413, each with an id of its own', async () => {
    const { receiver, send, ended } = await scene(app, { max: 8, ...LATE });
    receiver.answerAlways(({ json }, response) => response.writeHead(json.length > 2 ? 413 : 200).end());
    await send(8);
    const deliveries = await ended(8);
    expect(deliveries.map(({ status }) => status)).toEqual(Array(8).fill('Success'));
    const sizes = receiver.requests.map(({ json }) => json.length).toSorted((a, b) => b - a);
    expect(sizes).toEqual([8, 4, 4, 2, 2, 2, 2]);
    expect(new Set(receiver.requests.map(idOf)).size).toBe(7);
    const good = receiver.requests.filter(({ json }) => json.length === 2);
    expect(sortedNumbers(good)).toEqual(upTo(8));
  });

  test('is split after a final failure, until the one at fault fails alone', async () => {
    const config = { final_status_codes: [400] };
    const { receiver, send, ended } = await scene(app, { max: 8, ...LATE }, { endpoint: config });
    receiver.answerAlways((request, response) =>
      response.writeHead(numbers(request).includes(3) ? 400 : 200).end(),
    );
    await send(8);
    const deliveries = await ended(8);
    const statuses = deliveries.map(({ status }) => status);
    expect(statuses).toEqual(upTo(8).map((n) => (n === 3 ? 'Failure' : 'Success')));
    expect(receiver.requests.map(({ json }) => json.length).toSorted((a, b) => b - a)).toEqual([
      8, 4, 4, 2, 2, 1, 1,
    ]);
    expect(deliveries[2]?.description).toContain('this status is final');
  });

  test('at most once is not sent again, in no part', async () => {
    const subscription = { delivery_mode: 'at_most_once', retry_config: RETRIES };
    const { receiver, send, ended } = await scene(app, { max: 4, ...LATE }, { subscription });
    receiver.answerAlways(413);
    await send(4);
    const deliveries = await ended(4);
    expect(deliveries.map(({ status }) => status)).toEqual(Array(4).fill('Failure'));
    expect(receiver.requests).toHaveLength(1);
  });

  test('has no part in what its endpoint takes: a body over max_body_bytes is split before it is sent', async () => {
    const { receiver, send, ended } = await scene(
      app,
      { max: 4, ...LATE },
      { endpoint: { max_body_bytes: 300 } },
    );
    await send(4);
    const deliveries = await ended(4);
    expect(deliveries.map(({ metadata }) => metadata.num_trials)).toEqual([1, 1, 1, 1]);
    expect(receiver.requests.map(({ json }) => json.length)).toEqual([2, 2]);
  });
});

describe('one attempt', () => {
  test('is what a batch is for the rate limit, the alert and the metrics', async () => {
    const attempts = async () => {
      const text = await (await fetch(`${app.url}/metrics`)).text();
      return Number(/^posthorn_attempts_total\{[^}]*5xx[^}]*\} (\d+)/m.exec(text)?.[1] ?? 0);
    };
    const before = await attempts();
    const { client, receiver, send, ended } = await scene(
      app,
      { max: 10, ...LATE },
      {
        endpoint: { rate_limit: 2, rate_limit_duration: 600 },
        subscription: {
          alert_config: { count: 2, threshold: '1h' },
          retry_config: { ...RETRIES, retry_count: 1 },
        },
      },
    );
    receiver.answerNext(500, 200);
    await send(10);
    await ended(10);
    expect(receiver.requests).toHaveLength(2);
    expect((await attempts()) - before).toBe(1);
    const alerts = await app.database.query('select from alerts where project_id = $1', [client.projectId]);
    expect(alerts).toEqual([]);
  });
});

describe('two nodes', () => {
  test('fill one batch together, and one of them sends it', async () => {
    const other = await app.addNode();
    const { client, receiver, ended } = await scene(app, { max: 4, ...LATE });
    const second = new ApiClient(client.base.replace(app.url, other.url), client.key);
    for (const [n, at] of [client, second, second, client].entries())
      await at.post('/events/broadcast', { event_type: 'order.paid', data: { n } });
    await ended(4);
    expect(receiver.requests.map(({ json }) => json.length)).toEqual([4]);
    await other.stop();
  });
});

describe('a setting that cannot be', () => {
  const bad: [string, object, string][] = [
    ['too many', { max: 1_001 }, 'batch.max'],
    ['none', { max: 0 }, 'batch.max'],
    ['no bytes', { max_bytes: 0 }, 'batch.max_bytes'],
    ['too long a wait', { max_wait_seconds: 301 }, 'batch.max_wait_seconds'],
    ['a negative wait', { max_wait_seconds: -1 }, 'batch.max_wait_seconds'],
  ];
  test.each(bad)('%s is refused', async (_name, batch, field) => {
    const client = app.project;
    const endpoint = await client.post('/endpoints', { name: 'e', url: 'http://127.0.0.1:1/' });
    const made = { name: 's', endpoint_id: endpoint.uid, batch };
    const answer = await client.post('/subscriptions', made, 400);
    expect(JSON.stringify(answer)).toContain(field);
    expect((await client.get(`/subscriptions?endpointId=${endpoint.uid}`)).content).toEqual([]);
  });

  const kafka = { type: 'kafka', kafka: { brokers: ['127.0.0.1:1'], topic_name: 't', topic: 't' } };
  test.each([
    ['pull', { delivery: 'pull' }],
    ['broker', { delivery: 'broker', broker: kafka }],
  ])('a batch for a %s endpoint is refused, also later', async (_name, given) => {
    const client = await app.newProject();
    const endpoint = await client.post('/endpoints', { name: 'e', ...given });
    const made = { name: 's', endpoint_id: endpoint.uid };
    const answer = await client.post('/subscriptions', { ...made, batch: { max: 2 } }, 400);
    expect(JSON.stringify(answer)).toContain('batch');
    const stored = await client.post('/subscriptions', made);
    await client.put(`/subscriptions/${stored.uid}`, { batch: { max: 2 } }, 400);
    const kept = await client.get(`/subscriptions/${stored.uid}`);
    expect(kept.batch).toBeUndefined();
  });
});
