import { createHash, createHmac } from 'node:crypto';
import { beforeEach, expect, test } from 'vitest';
import { startTestApp, subscribe } from '../support/app.ts';
import type { Json } from '../support/client.ts';
import { Receiver } from '../support/servers/receiver.ts';
import { newestDelivery } from '../support/settled.ts';
import { shared } from '../support/shared.ts';

const app = await shared(startTestApp());
let receiver: Receiver;

beforeEach(async () => {
  receiver = await Receiver.start();
  return () => receiver.stop();
});

async function deliver(
  event: object,
  setup: { endpoint?: object; subscription?: object } = {},
): Promise<Json> {
  const { endpoint } = await subscribe(app.project, `${receiver.url}/hook`, {
    ...setup,
    eventTypes: ['never'],
  });
  const { uid } = await app.project.post('/subscriptions', {
    name: 'only',
    endpoint_id: endpoint.uid,
    filter_config: { event_types: [endpoint.uid] },
    ...setup.subscription,
  });
  await app.project.post('/events/broadcast', { event_type: endpoint.uid, data: {}, ...event });
  return newestDelivery(app.project, `subscriptionId=${uid}`, 'Success', 'Failure', 'Discarded');
}

const attempts = (delivery: Json): Promise<Json[]> =>
  app.project.get(`/eventdeliveries/${delivery.uid}/deliveryattempts`);

// proves Endpoints: secret
// proves Subscriptions: function
test('a function changes the body, and that body is signed, sent, shown and kept for retries', async () => {
  receiver.answerNext(500, 200);
  const delivery = await deliver(
    { data: { amount: 5 } },
    {
      endpoint: { secret: 'the-secret', advanced_signatures: false },
      subscription: {
        function:
          'function transform(payload) { return { doubled: payload.amount * 2, luck: Math.random() } }',
        retry_config: { type: 'linear', interval_seconds: 1, retry_count: 3 },
      },
    },
  );
  expect(delivery.status).toBe('Success');
  const [first, second] = receiver.requests;
  expect(first?.json.doubled).toBe(10);
  expect(second?.body.toString()).toBe(first?.body.toString());
  expect(delivery.metadata.raw).toBe(first?.body.toString());
  const signature = createHmac('sha256', 'the-secret')
    .update(first?.body ?? '')
    .digest('hex');
  expect(first?.headers['x-convoy-signature']).toBe(signature);
});

// proves Endpoints: authentication.type, authentication.api_key.header_name
// proves Endpoints: authentication.api_key.header_value, authentication.basic_auth.username
// proves Endpoints: authentication.basic_auth.password
test('basic and key authentication are sent and stored masked', async () => {
  const basic = await deliver(
    {},
    { endpoint: { authentication: { type: 'basic_auth', basic_auth: { username: 'u', password: 'p:w' } } } },
  );
  expect(receiver.requests[0]?.headers.authorization).toBe(
    `Basic ${Buffer.from('u:p:w').toString('base64')}`,
  );
  expect((await attempts(basic))[0].request_http_header.Authorization).toBe('***');
  const key = await deliver(
    {},
    {
      endpoint: { authentication: { type: 'api_key', api_key: { header_name: 'X-Key', header_value: 'v' } } },
    },
  );
  expect(receiver.requests[1]?.headers['x-key']).toBe('v');
  expect((await attempts(key))[0].request_http_header['X-Key']).toBe('***');
});

// proves Endpoints: content_type
test('a form endpoint gets form fields, and the signature covers those bytes', async () => {
  await deliver(
    { data: { b: 'ü &', a: 12.5 } },
    {
      endpoint: {
        content_type: 'application/x-www-form-urlencoded',
        secret: 's',
        advanced_signatures: false,
      },
    },
  );
  const [request] = receiver.requests;
  expect(request?.headers['content-type']).toBe('application/x-www-form-urlencoded');
  expect(Object.fromEntries(new URLSearchParams(request?.body.toString()))).toEqual({ a: '12.5', b: 'ü &' });
  expect(request?.headers['x-convoy-signature']).toBe(
    createHmac('sha256', 's')
      .update(request?.body ?? '')
      .digest('hex'),
  );
});

// proves Subscriptions: delivery_mode
test('at most once: any response ends it, a refused connection is retried', async () => {
  receiver.answerAlways(500);
  const answered = await deliver({}, { subscription: { delivery_mode: 'at_most_once' } });
  expect([answered.status, answered.metadata.num_trials]).toEqual(['Failure', 1]);

  const stopped = await Receiver.start();
  const { url } = stopped;
  await stopped.stop();
  const refused = await deliver(
    {},
    {
      endpoint: { url },
      subscription: {
        delivery_mode: 'at_most_once',
        retry_config: { type: 'linear', interval_seconds: 1, retry_count: 1 },
      },
    },
  );
  expect([refused.status, refused.metadata.num_trials]).toEqual(['Failure', 2]);
});

test('every attempt has its address, the time of each step, and the response', async () => {
  const delivery = await deliver({ data: { hash: createHash('sha256').update('x').digest('hex') } });
  const [attempt] = await attempts(delivery);
  expect(attempt).toMatchObject({
    ip_address: '127.0.0.1',
    http_status: '200 OK',
    method: 'POST',
    status: true,
    response_data: 'ok',
    msg_id: delivery.uid,
  });
  expect(attempt.timings.totalMs).toBeGreaterThan(0);
  expect(delivery.latency).toMatch(/^\d+(\.\d+)?ms$|s$/);
});
