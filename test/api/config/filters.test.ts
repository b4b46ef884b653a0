import { beforeAll, expect, test } from 'vitest';
import { startTestApp } from '../../support/app.ts';
import type { Json } from '../../support/client.ts';
import { shared } from '../../support/shared.ts';

const app = await shared(startTestApp());
let endpoint: Json;

beforeAll(async () => {
  endpoint = await app.project.post('/endpoints', { name: 'e', url: 'http://127.0.0.1:9' });
  for (const name of ['user.created', 'user.deleted', 'order.paid'])
    await app.project.post('/event-types', { name });
});

/** A subscription and the path of its filters. */
async function subscription(
  eventTypes: string[],
  filter: object = {},
): Promise<{ uid: string; path: string }> {
  const made = await app.project.post('/subscriptions', {
    name: 's',
    endpoint_id: endpoint.uid,
    filter_config: { event_types: eventTypes, filter },
  });
  return { uid: made.uid, path: `/subscriptions/${made.uid}/filters` };
}
const list = (path: string): Promise<Json[]> => app.project.get(path);
const typesOf = async (uid: string) =>
  (await app.project.get(`/subscriptions/${uid}`)).filter_config.event_types;

test('a new subscription has one filter per event type, each with its conditions', async () => {
  const raw = { body: { a: { b: 1 } }, headers: { 'X-A': 'b' }, query: { q: '1' }, path: { path: '/x' } };
  const { uid, path } = await subscription(['one', 'two.*'], raw);
  const filters = await list(path);
  expect(filters.map((filter) => filter.event_type)).toEqual(['one', 'two.*']);
  expect(filters[0]).toEqual({
    uid: expect.stringMatching(/^[0-9A-HJKMNP-TV-Z]{26}$/),
    subscription_id: uid,
    event_type: 'one',
    enabled_at: expect.stringMatching(/Z$/),
    body: { 'a.b': 1 },
    headers: { 'X-A': 'b' },
    query: { q: '1' },
    path: { path: '/x' },
    raw_body: raw.body,
    raw_headers: raw.headers,
    raw_query: raw.query,
    raw_path: raw.path,
  });
  expect(filters[1]).toEqual({ ...filters[0], uid: filters[1]?.uid, event_type: 'two.*' });
  expect(filters[1]?.uid).not.toBe(filters[0]?.uid);
  expect(await app.project.get(`${path}/${filters[0]?.uid}`)).toEqual(filters[0]);
});

test('filters follow the event types and the conditions of their subscription', async () => {
  const { uid, path } = await subscription(['a', 'b'], { body: { x: 1 } });
  const [first] = await list(path);
  await app.project.put(`/subscriptions/${uid}`, {
    filter_config: { event_types: ['a', 'c'], filter: { body: { x: 1 }, headers: { h: '1' } } },
  });
  const after = await list(path);
  expect(after.map((filter) => filter.event_type)).toEqual(['a', 'c']);
  expect(after[0]).toEqual({ ...first, headers: { h: '1' }, raw_headers: { h: '1' } });
  expect(after[1]).toMatchObject({ body: { x: 1 }, headers: { h: '1' } });
});

test('conditions set by hand stay until the subscription is given new ones for that scope', async () => {
  const { uid, path } = await subscription(['a', 'b'], { body: { x: 1 }, headers: { h: '1' } });
  const [a] = await list(path);
  await app.project.put(`${path}/${a?.uid}`, { body: { mine: 1 } }, 200);
  await app.project.put(`/subscriptions/${uid}`, { name: 'renamed' });
  const set = (filter: object) =>
    app.project.put(`/subscriptions/${uid}`, { filter_config: { event_types: ['a', 'b'], filter } });
  await set({ headers: { h: '2' } });
  expect(await list(path)).toMatchObject([
    { body: { mine: 1 }, headers: { h: '2' } },
    { body: {}, headers: { h: '2' } },
  ]);
  await set({ body: { x: 2 } });
  expect(await list(path)).toMatchObject([{ body: { x: 2 } }, { body: { x: 2 } }]);
});

test('a filter is added for a type of the catalogue or a glob, and the subscription shows the type', async () => {
  const { uid, path } = await subscription(['*'], { body: { x: 1 } });
  const made = await app.project.post(path, {
    event_type: 'user.created',
    body: { 'age.years': { $gte: 18 } },
    enabled_at: '2026-01-02T03:04:05+01:00',
  });
  expect(made).toMatchObject({
    event_type: 'user.created',
    enabled_at: '2026-01-02T02:04:05.000Z',
    body: { 'age.years': { $gte: 18 } },
    headers: {},
  });
  await app.project.post(path, { event_type: 'order.*' });
  expect(await typesOf(uid)).toEqual(['*', 'user.created', 'order.*']);
  expect(await list(path)).toHaveLength(3);
});

// proves Event types: name
test('a filter can be created for a type once the type exists', async () => {
  const { path } = await subscription(['user.created']);
  await app.project.post(path, { event_type: 'refund.made' }, 400);
  await app.project.post('/event-types', { name: 'refund.made' });
  await app.project.post(path, { event_type: 'refund.made' });
});

const times: [string, unknown, Json][] = [
  ['absent', undefined, expect.stringMatching(/Z$/)],
  ['null', null, null],
  ['a time', '2026-01-02T03:04:05Z', '2026-01-02T03:04:05.000Z'],
  ['set and a time', { set: true, time: '2026-01-02T03:04:05Z' }, '2026-01-02T03:04:05.000Z'],
  ['set without a time', { set: true }, null],
  ['not set', { set: false }, expect.stringMatching(/Z$/)],
  ['a valid Time', { Valid: true, Time: '2026-01-02T03:04:05Z' }, '2026-01-02T03:04:05.000Z'],
  ['an invalid Time', { Valid: false, Time: '0001-01-01T00:00:00Z' }, null],
];
test.each(times)('enabled_at may be %s', async (_, enabled_at, shown) => {
  const { path } = await subscription(['a']);
  const made = await app.project.post(path, { event_type: 'user.created', enabled_at });
  expect(made.enabled_at).toEqual(shown);
  const updated = await app.project.put(`${path}/${made.uid}`, { enabled_at }, 200);
  expect(updated.enabled_at).toEqual(shown);
});

const bad: [string, object, string][] = [
  ['no type', {}, 'event_type: is required'],
  ['an unknown type', { event_type: 'user.craeted' }, 'there is no event type user.craeted'],
  ['a type it has', { event_type: 'user.created' }, 'more than one filter for user.created'],
  [
    'a mistake in it',
    { event_type: 'user.deleted', body: { a: { $no: 1 } } },
    'body.a.$no: there is no operator $no',
  ],
  ['a bad time', { event_type: 'user.deleted', enabled_at: 'yesterday' }, 'enabled_at: must be a time'],
  ['a number for a time', { event_type: 'user.deleted', enabled_at: 4 }, 'enabled_at: must be'],
  ['a list for conditions', { event_type: 'user.deleted', body: [] }, 'body: must be an object'],
];
test.each(bad)('a filter with %s is refused', async (_, body, text) => {
  const { path } = await subscription(['user.created']);
  expect((await app.project.post(path, body, 400)).message).toContain(text);
  expect(await list(path)).toHaveLength(1);
});

test('a filter is updated in part, renamed and switched off', async () => {
  const { uid, path } = await subscription(['user.created', 'b'], { body: { x: 1 }, query: { q: '1' } });
  const [first] = await list(path);
  const one = `${path}/${first?.uid}`;
  expect(await app.project.put(one, {}, 200)).toEqual(first);
  expect(await app.project.put(one, { enabled_at: null, is_flattened: true }, 200)).toEqual({
    ...first,
    enabled_at: null,
  });
  const renamed = await app.project.put(one, { event_type: 'order.paid', query: {} }, 200);
  expect(renamed).toMatchObject({ event_type: 'order.paid', enabled_at: null, body: { x: 1 }, query: {} });
  expect(await typesOf(uid)).toEqual(['order.paid', 'b']);
  expect((await app.project.put(one, { event_type: 'b' }, 400)).message).toContain(
    'more than one filter for b',
  );
  await app.project.put(one, { event_type: 'unknown.type' }, 400);
  await app.project.put(`${path}/nope`, {}, 404);
});

test('deleting a filter removes its event type', async () => {
  const { uid, path } = await subscription(['a', 'b']);
  const [first] = await list(path);
  expect(await app.project.delete(`${path}/${first?.uid}`)).toBeNull();
  expect(await typesOf(uid)).toEqual(['b']);
  await app.project.get(`${path}/${first?.uid}`, 404);
  await app.project.delete(`${path}/${first?.uid}`, 404);
});

test('filters created and changed in bulk are applied all or none', async () => {
  const { path } = await subscription(['a']);
  const made = await app.project.post(`${path}/bulk`, [
    { event_type: 'user.created', body: { a: 1 } },
    { event_type: 'user.deleted', headers: { h: '1' } },
  ]);
  expect(made).toMatchObject([{ body: { a: 1 } }, { headers: { h: '1' } }]);
  expect((await list(path)).slice(1)).toEqual(made);

  const refusal = await app.project.post(
    `${path}/bulk`,
    [{ event_type: 'order.paid' }, { event_type: 'x.*', body: { a: { $no: 1 } } }],
    400,
  );
  expect(refusal.message).toContain('1.body.a.$no');
  await app.project.post(`${path}/bulk`, [{ event_type: 'x.*' }, { event_type: 'x.*' }], 400);
  await app.project.post(`${path}/bulk`, [], 400);
  await app.project.post(`${path}/bulk`, {}, 400);
  expect(await list(path)).toHaveLength(3);

  const changes = made.map((filter: Json) => ({ uid: filter.uid, body: { b: 2 } }));
  for (const method of ['PUT', 'POST']) {
    const body = changes.toReversed();
    const updated = await app.project.call(method, `${path}/bulk_update`, { body, expected: 200 });
    expect(updated.map((filter: Json) => filter.uid)).toEqual([made[1].uid, made[0].uid]);
    expect(updated).toMatchObject([{ body: { b: 2 }, headers: { h: '1' } }, { body: { b: 2 } }]);
  }
  await app.project.put(`${path}/bulk_update`, [...changes, { uid: 'nope' }], 404);
  await app.project.put(`${path}/bulk_update`, [{ body: {} }], 400);
});

test('a test of the filters of a type uses the deciding one', async () => {
  const { path } = await subscription(['user.created', 'order.*'], { body: { n: 1 } });
  const [created] = await list(path);
  const test = async (type: string, body: object): Promise<boolean> =>
    (await app.project.call('POST', `${path}/test/${type}`, { body, expected: 200 })).is_match;
  expect(await test('user.created', { payload: { n: 1 } })).toBe(true);
  expect(await test('user.created', { payload: { n: 2 } })).toBe(false);
  expect(await test('order.paid', { request: { body: { n: 1 } } })).toBe(true);
  expect(await test('unheard.of', { payload: {} })).toBe(true);
  await app.project.put(`${path}/${created?.uid}`, { headers: { 'X-A': 'b' } }, 200);
  expect(await test('user.created', { request: { body: { n: 1 }, header: { 'x-a': 'b' } } })).toBe(true);
  expect(await test('user.created', { request: { body: { n: 1 } } })).toBe(false);
  await app.project.put(`${path}/${created?.uid}`, { enabled_at: null }, 200);
  expect(await test('user.created', { payload: { n: 1 } })).toBe(false);
  const response = await app.project.raw('POST', `${path}/test/order.x`, { body: { payload: { n: 3 } } });
  expect(await response.json()).toMatchObject({ explain: { path: 'n', expected: 1, actual: 3 } });
});

test('filters of a subscription are reached only through it, and only by its project', async () => {
  const other = await app.newProject();
  const { path } = await subscription(['a']);
  const neighbour = await subscription(['b']);
  const [filter] = await list(path);
  await app.project.get(`${neighbour.path}/${filter?.uid}`, 404);
  await app.project.get('/subscriptions/nope/filters', 404);
  await other.get(path, 404);
  await other.get(`${path}/${filter?.uid}`, 404);
  await other.post(path, { event_type: '*' }, 404);
  await other.put(`${path}/${filter?.uid}`, { body: {} }, 404);
  await other.put(`${path}/bulk_update`, [{ uid: filter?.uid }], 404);
  await other.delete(`${path}/${filter?.uid}`, 404);
  await other.call('POST', `${path}/test/a`, { body: {}, expected: 404 });
  expect(await list(path)).toEqual([filter]);
});

test('changes of two callers at once are both kept', async () => {
  const { path } = await subscription(['a']);
  await Promise.all(
    ['user.created', 'user.deleted', 'order.paid'].map((event_type) =>
      app.project.post(path, { event_type }),
    ),
  );
  const types = (await list(path)).map((filter) => filter.event_type);
  expect(new Set(types)).toEqual(new Set(['a', 'order.paid', 'user.created', 'user.deleted']));
  expect(types).toHaveLength(4);
});

test('a subscription keeps at most a thousand filters', async () => {
  const types = Array.from({ length: 1_000 }, (_, n) => `t${n}`);
  const { path } = await subscription(types);
  expect(await list(path)).toHaveLength(1_000);
  const answer = await app.project.post(path, { event_type: 'user.created' }, 400);
  expect(answer.message).toContain('at most 1000 event types');
});
