import { expect, test } from 'vitest';
import { portalOf, startTestApp, subscribe } from '../../support/app.ts';
import type { ApiClient, Json } from '../../support/client.ts';
import { eventually, not } from '../../support/eventually.ts';
import { Receiver } from '../../support/servers/receiver.ts';
import { shared } from '../../support/shared.ts';
import { storedRows } from '../../support/stored-rows.ts';

const app = await shared(startTestApp());
const receiver = await shared(Receiver.start());
const send = (client: ApiClient, data: unknown, fields: object = {}): Promise<Json> =>
  client.post('/events/broadcast', { event_type: 'order', data, ...fields });

/** Asks again while the machine is too busy to run functions. */
async function preview(client: ApiClient, subscription: Json, body: object = {}): Promise<Json> {
  const path = `/subscriptions/${subscription.uid}/preview`;
  const answer = await eventually(
    async (): Promise<Json> => (await client.raw('POST', path, { body })).json(),
    { code: not('overloaded') },
  );
  expect(answer).toMatchObject({ status: true });
  return answer.data;
}

test('a preview applies a changed filter and function to the latest events; nothing is saved or sent', async () => {
  const project = await app.newProject();
  const { subscription } = await subscribe(project, `${receiver.url}/one`, { eventTypes: ['none'] });
  await send(project, { amount: 5 });
  const big = await send(project, { amount: 50.0 });
  await send(project, { amount: 70 }, { event_type: 'other' });
  const before = await storedRows(app.database);
  const seen = receiver.requests.length;
  const answer = await preview(project, subscription, {
    filter_config: { event_types: ['order'], filter: { body: { amount: { $gte: 10 } } } },
    function: 'function transform(order) { return { doubled: order.amount * 2, luck: Math.random() } }',
  });
  expect(answer).toMatchObject({
    matched: 1,
    cut: null,
    events: [
      {
        event_id: big.uid,
        matched: true,
        before: { amount: 50 },
        after: { doubled: 100 },
        function_error: null,
      },
      {
        matched: false,
        cause: 'filter',
        clause: { path: 'amount', operator: '$gte', expected: 10, actual: 5 },
        after: null,
      },
    ],
  });
  expect(await storedRows(app.database)).toEqual(before);
  expect(receiver.requests.length).toBe(seen);
  expect((await project.get(`/subscriptions/${subscription.uid}`)).function).toBe('');
});

test('the events are the latest of the types subscribed to, by name and by glob', async () => {
  const project = await app.newProject();
  const { subscription } = await subscribe(project, `${receiver.url}/types`, { eventTypes: ['rare'] });
  const rare = await send(project, {}, { event_type: 'rare' });
  const glob = await send(project, {}, { event_type: 'often.not' });
  for (let n = 0; n < 3; n++) await send(project, { n }, { event_type: 'often' });
  const shown = async (eventTypes: string[]) => {
    const body = { filter_config: { event_types: eventTypes }, limit: 2 };
    return (await preview(project, subscription, body)).events.map(({ event_id }: Json) => event_id);
  };
  expect((await preview(project, subscription, { limit: 2 })).events).toMatchObject([{ event_id: rare.uid }]);
  expect(await shown(['often.*', 'rare'])).toEqual([glob.uid, rare.uid]);
  expect(await shown(['never'])).toEqual([]);
  expect(await shown(['*'])).toHaveLength(2);
});

test('the preview equals the later delivery, random numbers included', async () => {
  const project = await app.newProject();
  const code = 'function transform() { return { luck: Math.random(), at: Date.now() } }';
  const { subscription } = await subscribe(project, `${receiver.url}/same`, {
    subscription: { function: code },
  });
  await send(project, {});
  const [sent] = await receiver.received(1, '/same');
  const [event] = (await preview(project, subscription)).events;
  expect(event.after).toEqual(sent?.json);
});

test('a function that fails shows its error per event, and one that does not compile is refused', async () => {
  const project = await app.newProject();
  const { subscription } = await subscribe(project, `${receiver.url}/fails`, { eventTypes: ['order'] });
  await send(project, { customer: { name: 'Ada' } });
  await send(project, {});
  const answer = await preview(project, subscription, {
    function: 'function transform(order) { return order.customer.name }',
  });
  expect(answer.events.map((event: Json) => [event.after, event.function_error !== null])).toEqual([
    [null, true],
    ['Ada', false],
  ]);
  const refused = await project.post(
    `/subscriptions/${subscription.uid}/preview`,
    { function: 'function transform( {' },
    400,
  );
  expect([refused.code, refused.message]).toEqual(['validation_failed', expect.stringContaining('function')]);
  await project.post(
    `/subscriptions/${subscription.uid}/preview`,
    { filter_config: { filter: { body: { a: { $nope: 1 } } } } },
    400,
  );
  await project.post(`/subscriptions/${subscription.uid}/preview`, { limit: 101 }, 400);
  await project.post('/subscriptions/01NONE/preview', {}, 404);
});

test('the number of events is limited, and an inactive subscription is treated as active', async () => {
  const project = await app.newProject();
  const { subscription } = await subscribe(project, `${receiver.url}/many`);
  await project.put(`/subscriptions/${subscription.uid}/toggle_status`);
  for (let n = 0; n < 25; n++) await send(project, { n });
  expect((await preview(project, subscription)).matched).toBe(20);
  expect((await preview(project, subscription, { limit: 3 })).events).toHaveLength(3);
  expect((await preview(project, subscription, { limit: 100 })).events).toHaveLength(25);
});

test('a preview is cut after too many bytes, and reports that', async () => {
  const project = await app.newProject();
  const { subscription } = await subscribe(project, `${receiver.url}/cut`, { eventTypes: ['never'] });
  const text = 'x'.repeat(1_000_000);
  for (let n = 0; n < 12; n++) await send(project, { text });
  const types = { filter_config: { event_types: ['order'] } };
  const read = await preview(project, subscription, types);
  expect([read.cut, read.events.length]).toEqual(['bytes', 8]);
  const shown = await preview(project, subscription, {
    ...types,
    function: 'function transform(order) { return [order, order] }',
  });
  expect([shown.cut, shown.events.length]).toEqual(['bytes', 2]);
});

test('a function that never ends is stopped each time, and the preview ends', async () => {
  const project = await app.newProject();
  const { subscription } = await subscribe(project, `${receiver.url}/loop`, { eventTypes: ['never'] });
  await Promise.all(Array.from({ length: 100 }, (_, n) => send(project, { n })));
  const answer = await preview(project, subscription, {
    filter_config: { event_types: ['order'] },
    function: 'function transform() { for (;;); }',
    limit: 100,
  });
  expect(answer.cut).toBe('time');
  expect(answer.events.length).toBeGreaterThan(0);
  expect(answer.events.length).toBeLessThan(100);
  expect(answer.events[0].function_error).toContain('CPU time');
});

test('a portal previews its own subscriptions on its own events and learns no header values', async () => {
  const project = await app.newProject();
  const mine = await subscribe(project, `${receiver.url}/mine`, {
    eventTypes: ['order'],
    endpoint: { owner_id: 'me' },
  });
  const theirs = await subscribe(project, `${receiver.url}/theirs`, {
    eventTypes: ['other'],
    endpoint: { owner_id: 'them' },
  });
  const portal = await portalOf(project, 'me');
  await send(project, { secret: 'theirs' }, { event_type: 'other' });
  await send(project, { for: 'me' }, { custom_headers: { 'X-Token': 'hush-hush' } });
  const answer = await preview(portal, mine.subscription, {
    filter_config: { event_types: ['*'], filter: { headers: { 'x-token': 'guess' } } },
  });
  expect(answer.events).toHaveLength(1);
  expect(answer.events[0]).toMatchObject({ matched: false, cause: 'filter', clause: { scope: 'headers' } });
  expect(JSON.stringify(answer)).not.toContain('hush-hush');
  await portal.post(`/subscriptions/${theirs.subscription.uid}/preview`, {}, 404);
});
