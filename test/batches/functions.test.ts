import { expect, test } from 'vitest';
import { startTestApp } from '../support/app.ts';
import { ApiClient } from '../support/client.ts';
import { eventually } from '../support/eventually.ts';
import { shared } from '../support/shared.ts';
import { scene } from './scene.ts';

/** Functions of subscriptions with batches. */
const app = await shared(startTestApp());

const LATE = { max_wait_seconds: 300 };
const LATER = { type: 'linear', interval_seconds: 600, retry_count: 5 };
const v2 = (result: string) =>
  `export const version = 2;\nfunction transform(payload, { variables }) { return ${result} }`;

test('a body that was made with variables does not follow a portal link to another address', async () => {
  const { client, receiver, endpoint, subscription, send, deliveries, ended } = await scene(
    app,
    { max: 2, ...LATE },
    { endpoint: { owner_id: 'moved' }, subscription: { retry_config: LATER } },
  );
  await client.put('', { variables: { TOKEN: 'a token of the project' } });
  const at = `/subscriptions/${subscription.uid}`;
  await client.put(at, { function: v2('{ body: { n: payload.n, token: variables.TOKEN } }') });
  receiver.answerNext(503);
  await send(2);
  const all = await eventually(deliveries, (some) => some.every(({ status }) => status === 'Retry'));
  const link = await client.post('/portal-links', {
    name: 'l',
    owner_id: 'moved',
    can_manage_endpoint: true,
  });
  const portal = new ApiClient(client.base, link.token);
  await portal.put(at, { function: v2('{}') });
  await portal.put(`/endpoints/${endpoint.uid}`, { url: `${receiver.url}/stolen` });
  await client.post('/eventdeliveries/sendnow', { deliveryId: all[0]?.uid }, 200);
  const done = await ended(2);
  expect(done.map(({ status }) => status)).toEqual(['Failure', 'Failure']);
  expect(done[0]?.description).toContain('another address since its function made the request');
  expect(receiver.at('/stolen')).toEqual([]);
  expect(receiver.requests).toHaveLength(1);
});
