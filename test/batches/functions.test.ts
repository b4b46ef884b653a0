import { expect, test } from 'vitest';
import { startTestApp } from '../support/app.ts';
import { ApiClient } from '../support/client.ts';
import { eventually, every } from '../support/eventually.ts';
import { shared } from '../support/shared.ts';
import { numbers, scene } from './scene.ts';

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
  const all = await eventually(deliveries, every({ status: 'Retry' }));
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

test('results of a function that are larger than a batch may be are stored step by step and sent in parts', async () => {
  const { client, receiver, send } = await scene(
    app,
    { max: 20, ...LATE },
    { subscription: { function: `function transform({ n }) { return { n, x: 'x'.repeat(3e6) }; }` } },
  );
  await send(20);
  // The API would answer with all the bodies.
  const [states] = await eventually(
    () =>
      app.database.query(
        `select array_agg(distinct status) as statuses, array_agg(distinct num_trials) as tries
         from event_deliveries where project_id = $1`,
        [client.projectId],
      ),
    ([found]) => String(found?.statuses) === 'Success',
  );
  expect(states?.tries).toEqual([1]);
  // 60 MB: 20, 10 and 5 deliveries are more than 10 MB. All of it is more than a project may have in memory at a time.
  expect(receiver.requests.map(({ json }) => json.length).toSorted((a, b) => a - b)).toEqual([
    2, 2, 2, 2, 3, 3, 3, 3,
  ]);
  const sent = receiver.requests.flatMap(numbers).toSorted((a, b) => a - b);
  expect(sent).toEqual(Array.from({ length: 20 }, (_, n) => n + 1));
  const left = await app.database.query('select from delivery_queue where project_id = $1', [
    client.projectId,
  ]);
  expect(left).toEqual([]);
});
