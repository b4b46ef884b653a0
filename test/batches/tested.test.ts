import { expect, test } from 'vitest';
import { startTestApp } from '../support/app.ts';
import { shared } from '../support/shared.ts';
import { scene } from './scene.ts';

const app = await shared(startTestApp());
const LATE = { max: 100, max_wait_seconds: 300 };

test('a test of an endpoint with batches waits for no others: it is a batch of its own', async () => {
  const { client, receiver, endpoint, send, deliveries } = await scene(app, LATE);
  await send(2);
  const attempt = await client.post(`/endpoints/${endpoint.uid}/test`, undefined, 200);
  expect(attempt).toMatchObject({ status: true, http_status: '200 OK' });
  expect(receiver.requests.map(({ json }) => json)).toMatchObject([
    [{ data: { endpoint_id: endpoint.uid } }],
  ]);
  expect((await deliveries()).map(({ status }) => status)).toEqual(['Scheduled', 'Scheduled', 'Success']);
});

test('a test that fails is not sent again', async () => {
  const { client, receiver, endpoint, ended } = await scene(app, LATE);
  receiver.answerAlways(503);
  const attempt = await client.post(`/endpoints/${endpoint.uid}/test`, undefined, 200);
  expect(attempt).toMatchObject({ status: false, http_status: '503 Service Unavailable' });
  expect(await ended(1)).toMatchObject([{ status: 'Failure', description: 'A test has one attempt.' }]);
  expect(receiver.requests).toHaveLength(1);
});
