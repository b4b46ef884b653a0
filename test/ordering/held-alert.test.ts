import { expect, test } from 'vitest';
import { wronglyAlerted } from '../../src/store/ordering/held-keys.ts';
import { scrape } from '../metrics/scrape.ts';
import { startTestApp } from '../support/app.ts';
import { eventually } from '../support/eventually.ts';
import { shared } from '../support/shared.ts';
import { heldScene } from './held-scene.ts';

/** A subscription has one alert while any of its ordering keys is held. */
const app = await shared(startTestApp());
const db = app.database.open();

const wrong = async (projectId: string) =>
  (await wronglyAlerted(db)).filter((found) => found.projectId === projectId);

test('two held keys raise one alert, and it is cleared when the second one is free', async () => {
  const { client, endpoint, subscription, refused, send, held, alerts, drained } = await heldScene(app);
  for (const n of [1, 2]) refused.add(n);
  await send('a', 1);
  const [key] = await held(1);
  const [raised] = await alerts(1);
  expect(raised).toMatchObject({
    event_type: 'alert.raised',
    data: {
      kind: 'ordering',
      endpoint_id: endpoint.uid,
      subscription_id: subscription.uid,
      summary: 'A failed delivery holds the ordering key "a".',
      last_status: '503 Service Unavailable',
      last_delivery_id: key?.head_id,
    },
  });
  await send('b', 2);
  await eventually(
    () => scrape(app.url),
    ({ value }) =>
      value('posthorn_ordering_keys_held') >= 2 && value('posthorn_ordering_oldest_held_seconds') > 0,
  );
  const second = (await held(2)).find((each) => each.key === 'b');
  await client.post('/ordering-keys/skip', { ids: [key?.uid] }, 200);
  await held(1);
  refused.clear();
  await client.put(`/eventdeliveries/${second?.head_id}/resend`, undefined, 200);
  expect((await alerts(2)).map(({ event_type, data }) => [event_type, data.kind])).toEqual([
    ['alert.raised', 'ordering'],
    ['alert.cleared', 'ordering'],
  ]);
  await drained();
  expect(await wrong(client.projectId)).toEqual([]);
});

test('a skip clears the alert, the next failure raises it again, and it does not clash with that of failures', async () => {
  const { client, refused, send, held, alerts } = await heldScene(app, {
    alert_config: { count: 1, threshold: '1h' },
  });
  for (const n of [1, 2]) refused.add(n);
  await send('a', 1);
  const kinds = async (many: number) =>
    (await alerts(many)).map(({ event_type, data }) => `${event_type} ${data.kind}`);
  expect((await kinds(2)).toSorted()).toEqual(['alert.raised failures', 'alert.raised ordering']);
  const [key] = await held(1);
  await client.post('/ordering-keys/skip', { ids: [key?.uid] }, 200);
  expect((await kinds(3)).at(2)).toBe('alert.cleared ordering');
  await send('a', 2);
  expect((await kinds(4)).at(3)).toBe('alert.raised ordering');
});

test('with skip no key is held and no alert is raised', async () => {
  const { client, refused, send, drained, alerts } = await heldScene(app, {
    ordering: { key: '$.body.account', on_failure: 'skip' },
  });
  refused.add(1);
  await send('a', 1);
  await send('a', 2);
  await drained();
  expect(await alerts(0)).toEqual([]);
  expect(await wrong(client.projectId)).toEqual([]);
});

test('a key that two subscriptions share is held by that of the failed delivery', async () => {
  const ordering = { key: 'endpoint', on_failure: 'hold' };
  const { client, endpoint, subscription, refused, send, held, alerts } = await heldScene(app, {
    ordering,
    filter_config: { event_types: ['a'] },
  });
  await client.post('/subscriptions', {
    name: 'other',
    endpoint_id: endpoint.uid,
    ordering,
    filter_config: { event_types: ['b'] },
  });
  refused.add(1);
  await send('x', 1);
  await held(1);
  await send('x', 2, { event_type: 'b' });
  expect(await held(1)).toMatchObject([{ subscription_id: subscription.uid, waiting: 1 }]);
  expect((await alerts(1))[0]?.data).toMatchObject({ kind: 'ordering', subscription_id: subscription.uid });
});

test('a node that starts raises the alert of a hold, and clears the alert without a hold', async () => {
  const { client, refused, send, alerts } = await heldScene(app);
  refused.add(1);
  await send('a', 1);
  await alerts(1);
  const change = (text: string) => app.database.query(text, [client.projectId]);
  // as if the node had died between the end of the delivery and the alert
  await change('delete from alerts where project_id = $1');
  const types = async (many: number) => (await alerts(many)).map(({ event_type }) => event_type);
  await app.addNode();
  expect(await types(2)).toEqual(['alert.raised', 'alert.raised']);
  await change('update ordering_keys set held_at = null, head_id = null where project_id = $1');
  await app.addNode();
  expect(await types(3)).toEqual(['alert.raised', 'alert.raised', 'alert.cleared']);
});
