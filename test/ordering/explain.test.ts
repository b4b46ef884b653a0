import { expect, test } from 'vitest';
import { startTestApp, subscribe } from '../support/app.ts';
import { shared } from '../support/shared.ts';
import { heldScene } from './held-scene.ts';

const app = await shared(startTestApp());

test('explain names the ordering key of each delivery, and warns where the event has none', async () => {
  const { client, receiver, send } = await heldScene(app);
  await subscribe(client, `${receiver.url}/plain`, { eventTypes: ['b'] });
  const explain = async (more: object, account?: unknown) => {
    const event = await send(account as string, 1, more);
    const { subscriptions } = await client.get(`/events/${event.uid}/explain`);
    return subscriptions[0];
  };
  expect(await explain({}, 'a')).toMatchObject({ matched: true, reason: 'Matched.', ordering_key: 'a' });
  expect(await explain({ ordering_key: 'own' })).toMatchObject({ reason: 'Matched.', ordering_key: 'own' });
  expect(await explain({}, { deep: 1 })).toMatchObject({
    matched: true,
    ordering_key: '',
    reason: 'Matched. It has no key at $.body.account, so it goes in the order of the empty key.',
  });
  const event = await send('a', 1, { event_type: 'b' });
  const [, plain] = (await client.get(`/events/${event.uid}/explain`)).subscriptions;
  expect(plain).toMatchObject({ matched: true, reason: 'Matched.' });
  expect(plain.ordering_key).toBeUndefined();
});
