import { createHmac } from 'node:crypto';
import { expect, test } from 'vitest';
import { startTestApp } from '../support/app.ts';
import { shared } from '../support/shared.ts';
import { numbers, scene } from './scene.ts';

const app = await shared(startTestApp());

// proves Subscriptions: batch
test('events are sent together, as an array with one signature and the id of the batch', async () => {
  const { receiver, send, ended } = await scene(app, { max: 3, max_wait_seconds: 300 });
  await send(3);
  const [request] = await receiver.received(1);
  const deliveries = await ended(3);
  expect(request?.json).toEqual(
    deliveries.map(({ uid }, index) => ({
      id: uid,
      type: 'order.paid',
      timestamp: expect.stringMatching(/^20/),
      data: { n: index + 1 },
    })),
  );
  const { 'webhook-id': id, 'webhook-timestamp': at, 'webhook-signature': given } = request?.headers ?? {};
  expect(deliveries.map(({ uid }) => uid)).not.toContain(id);
  const key = 'a secret of the endpoint';
  const expected = createHmac('sha256', key)
    .update(`${id}.${at}.`)
    .update(request?.body ?? '')
    .digest('base64');
  expect(given).toBe(`v1,${expected}`);
  expect(request?.headers['content-type']).toBe('application/json');
  expect(receiver.requests).toHaveLength(1);
  expect(numbers(request as never)).toEqual([1, 2, 3]);
});
