import { describe, expect, test } from 'vitest';
import { httpSource, portalOf, startTestApp, subscribe } from '../../support/app.ts';
import type { Json } from '../../support/client.ts';
import { shared } from '../../support/shared.ts';

const app = await shared(startTestApp());

const endpoint = await app.project.post('/endpoints', { name: 'e', url: 'http://127.0.0.1:9' });

const create = (fields: object = {}, expected = 201): Promise<Json> =>
  app.project.post('/subscriptions', { name: 's', endpoint_id: endpoint.uid, ...fields }, expected);

test('a subscription created with the required fields takes every event type', async () => {
  const made = await create();
  expect(made).toEqual({
    uid: expect.any(String),
    project_id: app.projectId,
    name: 's',
    key: '',
    type: 'api',
    status: 'active',
    endpoint_metadata: expect.objectContaining({ uid: endpoint.uid, secrets: endpoint.secrets }),
    source_metadata: null,
    device_metadata: null,
    function: '',
    is_portal_function: false,
    delivery_mode: 'at_least_once',
    ttl_seconds: 0,
    filter_config: {
      event_types: ['*'],
      filter: { is_flattened: false, body: {}, headers: {}, query: {}, path: {} },
    },
    created_at: expect.any(String),
    updated_at: expect.any(String),
    deleted_at: null,
  });
  expect(await app.project.get(`/subscriptions/${made.uid}`)).toEqual(made);
});

test('every field given comes back in its response form', async () => {
  const source = await httpSource(app.project);
  const filter = {
    body: { z: 1, a: { b: { $in: ['ü', 2] } }, $or: [{ c: 1 }, { c: 2 }] },
    headers: { 'X-Kind': 'big' },
    query: { page: '1' },
    path: { path: { $regex: '^/in' } },
  };
  const made = await create({
    source_id: source.uid,
    function: 'function transform(p) { return p }',
    delivery_mode: 'at_most_once',
    ttl_seconds: 3_600,
    alert_config: { count: 3, threshold: '1h' },
    rate_limit_config: { count: 5, duration: 10 },
    retry_config: { type: 'exponential', duration: '1h3m', interval_seconds: 7, retry_count: 4 },
    filter_config: { event_types: ['b', 'a', 'b', 'inv.*'], filter },
  });
  expect(made).toMatchObject({
    source_metadata: source,
    function: 'function transform(p) { return p }',
    delivery_mode: 'at_most_once',
    ttl_seconds: 3_600,
    alert_config: { count: 3, threshold: '1h' },
    rate_limit_config: { count: 5, duration: 10 },
    retry_config: { type: 'exponential', duration: 3780, retry_count: 4 },
    filter_config: { event_types: ['b', 'a', 'inv.*'], filter: { is_flattened: false, ...filter } },
  });
  expect(Object.keys(made.filter_config.filter.body)).toEqual(['z', 'a', '$or']);
  expect(await app.project.get(`/subscriptions/${made.uid}`)).toEqual(made);
  const { content } = await app.project.get('/subscriptions?perPage=1');
  expect(content).toEqual([made]);
});

test('app_id still names the endpoint, and endpoint_id overrides it', async () => {
  expect((await create({ endpoint_id: undefined, app_id: endpoint.uid })).endpoint_metadata.uid).toBe(
    endpoint.uid,
  );
  expect((await create({ app_id: 'other' })).endpoint_metadata.uid).toBe(endpoint.uid);
});

test('omitted fields of retry_config come from the project', async () => {
  const { config } = await app.instance.get(`/projects/${app.projectId}`);
  const made = await create({ retry_config: { interval_seconds: 9 } });
  expect(made.retry_config).toEqual({
    type: config.strategy.type,
    duration: 9,
    retry_count: config.strategy.retry_count - 1,
  });
});

const bad: [string, object, string][] = [
  ['no name', { name: undefined }, 'name: is required'],
  ['no endpoint', { endpoint_id: undefined }, 'endpoint_id: is required'],
  ['an unknown endpoint', { endpoint_id: 'nope' }, 'endpoint_id: there is no endpoint nope'],
  ['an unknown source', { source_id: 'nope' }, 'source_id: there is no source nope'],
  ['a function with a mistake', { function: 'function transform(p) {\n  retrun p\n}' }, 'function: line 2'],
  ['a function of another name', { function: 'function f() {}' }, 'function: '],
  ['a negative life', { ttl_seconds: -1 }, 'ttl_seconds'],
  ['an unknown mode', { delivery_mode: 'twice' }, 'delivery_mode: must be one of'],
  [
    'a bad retry type',
    { retry_config: { type: 'cubic' } },
    'retry_config.type: must be one of linear, exponential',
  ],
  [
    'a bad retry duration',
    { retry_config: { duration: '5 minutes' } },
    'retry_config.duration: must be a duration',
  ],
  ['a negative retry duration', { retry_config: { duration: '-5s' } }, 'retry_config.duration'],
  ['a retry duration of ages', { retry_config: { duration: '9000h' } }, 'retry_config.duration'],
  [
    'a text for a count',
    { retry_config: { retry_count: '3' } },
    'retry_config.retry_count: must be an integer',
  ],
  [
    'a bad threshold',
    { alert_config: { count: 1, threshold: 'soon' } },
    'alert_config.threshold: must be a duration',
  ],
  ['half a rate limit', { rate_limit_config: { count: 1 } }, 'rate_limit_config.duration: is required'],
  ['an empty event type', { filter_config: { event_types: [''] } }, 'filter_config.event_types.0'],
  [
    'an unknown operator',
    { filter_config: { filter: { body: { person: { age: { $foo: 1 } } } } } },
    'filter_config.filter.body.person.age.$foo: there is no operator $foo',
  ],
  [
    'a wildcard in headers',
    { filter_config: { filter: { headers: { 'a.$.b': 1 } } } },
    'filter_config.filter.headers.a.$.b',
  ],
  ['a filter that is no object', { filter_config: { filter: { body: 4 } } }, 'filter_config.filter.body'],
  [
    'a filter of more than a mebibyte',
    { filter_config: { filter: { body: { a: 'x'.repeat(1_048_577) } } } },
    'have at most 1048576 bytes',
  ],
];
test.each(bad)('a subscription with %s is refused', async (_, fields, text) => {
  expect((await create(fields, 400)).message).toContain(text);
});

test('an update changes only what is given', async () => {
  const source = await app.project.post('/sources', { name: 'src', type: 'rest_api' });
  const made = await create({
    source_id: source.uid,
    function: 'function transform(p) { return p }',
    retry_config: { type: 'exponential', duration: '10s', retry_count: 2 },
    alert_config: { count: 1, threshold: '1m' },
    filter_config: { event_types: ['x'], filter: { body: { a: 1 }, headers: { h: '1' } } },
  });
  const path = `/subscriptions/${made.uid}`;
  const renamed = await app.project.put(path, { name: 'renamed', endpoint_id: '' });
  expect(renamed).toEqual({ ...made, name: 'renamed', updated_at: renamed.updated_at });
  expect(await app.project.put(path, {})).toMatchObject({ name: 'renamed' });
  const retried = await app.project.put(path, { retry_config: { interval_seconds: 30 } });
  expect(retried.retry_config).toEqual({ type: 'linear', duration: 30, retry_count: 9 });
  const filter_config = { event_types: ['x'], filter: { body: { a: 1 } } };
  const filtered = await app.project.put(path, { filter_config });
  expect(filtered.filter_config).toMatchObject({
    event_types: ['x'],
    filter: { body: { a: 1 }, headers: {} },
  });
  const typed = await app.project.put(path, { filter_config: { event_types: [] } });
  expect(typed.filter_config).toMatchObject({ event_types: ['*'], filter: { body: {} } });
  expect((await app.project.put(path, { function: '' })).function).toBe('');
  const moved = await app.project.post('/endpoints', { name: 'm', url: 'http://127.0.0.1:9' });
  const after = await app.project.put(path, { endpoint_id: moved.uid });
  expect(after).toMatchObject({
    endpoint_metadata: { uid: moved.uid },
    source_metadata: { uid: source.uid },
  });
});

test('a misspelt limit of a batch is named and not kept', async () => {
  const path = `/subscriptions/${(await create()).uid}`;
  const answer = await app.project.raw('PUT', path, { body: { batch: { max: 10, max_wait: 3 } } });
  expect(await answer.json()).toMatchObject({ warnings: [expect.stringContaining('batch.max_wait')] });
  const { batch } = await app.project.get(path);
  expect(batch).toEqual({ max: 10, max_bytes: 1_000_000, max_wait_seconds: 5 });
});

test('an update that breaks a rule changes nothing', async () => {
  const made = await create();
  const path = `/subscriptions/${made.uid}`;
  await app.project.put(path, { name: 'no', endpoint_id: 'nope' }, 400);
  await app.project.put(path, { name: 'no', source_id: 'nope' }, 400);
  await app.project.put(path, { name: 'no', function: '}' }, 400);
  await app.project.put(path, { name: 'no', filter_config: { filter: { body: { $x: 1 } } } }, 400);
  expect(await app.project.get(path)).toEqual(made);
});

// differs Sending: `toggle_status` works; subscriptions show `status`. In Convoy it does nothing.
test('toggle_status switches between active and inactive', async () => {
  const made = await create();
  const toggle = `/subscriptions/${made.uid}/toggle_status`;
  expect((await app.project.put(toggle)).status).toBe('inactive');
  expect((await app.project.get(`/subscriptions/${made.uid}`)).status).toBe('inactive');
  expect((await app.project.put(toggle, '"{}"')).status).toBe('active');
  await app.project.put('/subscriptions/nope/toggle_status', undefined, 404);
});

test('a deleted subscription is gone', async () => {
  const made = await create();
  expect(await app.project.delete(`/subscriptions/${made.uid}`)).toBeNull();
  await app.project.get(`/subscriptions/${made.uid}`, 404);
  await app.project.put(`/subscriptions/${made.uid}`, { name: 'x' }, 404);
  await app.project.delete(`/subscriptions/${made.uid}`, 404);
});

// differs Events and deliveries: A project may have several subscriptions per endpoint by default. The interface
//   has no such limit.
// proves Projects: multiple_endpoint_subscriptions
test('a project that allows one subscription per endpoint refuses a second, even at once', async () => {
  const client = await app.newProject({ multiple_endpoint_subscriptions: false });
  const made = await client.post('/endpoints', { name: 'e', url: 'http://127.0.0.1:9' });
  const body = { name: 's', endpoint_id: made.uid };
  const answers = await Promise.all([1, 2, 3].map(() => client.raw('POST', '/subscriptions', { body })));
  expect(answers.map((answer) => answer.status).sort((a, b) => a - b)).toEqual([201, 400, 400]);
  const { content } = await client.get('/subscriptions');
  expect(content).toHaveLength(1);
  const second = await subscribe(client, 'http://127.0.0.1:9');
  const path = `/subscriptions/${second.subscription.uid}`;
  await client.put(path, { endpoint_id: made.uid }, 400);
  await client.put(path, { name: 'still mine', endpoint_id: second.endpoint.uid });
});

test('a project sees and changes only its own subscriptions, and cannot link to resources of another', async () => {
  const other = await app.newProject();
  const made = await create();
  const path = `/subscriptions/${made.uid}`;
  expect((await other.get('/subscriptions')).content).toEqual([]);
  await other.get(path, 404);
  await other.put(path, { name: 'x' }, 404);
  await other.put(`${path}/toggle_status`, undefined, 404);
  await other.delete(path, 404);
  await other.post('/subscriptions', { name: 's', endpoint_id: endpoint.uid }, 400);
  const source = await httpSource(app.project);
  const own = await other.post('/endpoints', { name: 'e', url: 'http://127.0.0.1:9' });
  const answer = await other.post(
    '/subscriptions',
    { name: 's', endpoint_id: own.uid, source_id: source.uid },
    400,
  );
  expect(answer.code).toBe('not_in_project');
  expect(await app.project.get(path)).toEqual(made);
});

test('the list is filtered by endpoints and name and walked to its end', async () => {
  const client = await app.newProject();
  const made: Json[] = [];
  for (const name of ['alpha', 'beta', 'Alphabet'])
    made.push(await subscribe(client, 'http://127.0.0.1:9', { subscription: { name } }));
  const list = async (query: string) =>
    (await client.get(`/subscriptions?${query}`)).content.map((item: Json) => item.name);
  expect(await list('name=ALPHA')).toEqual(['Alphabet', 'alpha']);
  expect(await list('sort=asc')).toEqual(['alpha', 'beta', 'Alphabet']);
  const [first, second] = made;
  expect(await list(`endpointId=${first.endpoint.uid}&endpointId=${second.endpoint.uid}`)).toEqual([
    'beta',
    'alpha',
  ]);
  expect(await list(`endpointId=${first.endpoint.uid}&name=beta`)).toEqual([]);
  const walk: string[] = [];
  for (let cursor = ''; ; ) {
    const page = await client.get(`/subscriptions?perPage=1&next_page_cursor=${cursor}`);
    walk.push(...page.content.map((item: Json) => item.name));
    if (!page.pagination.has_next_page) break;
    cursor = page.pagination.next_page_cursor;
  }
  expect(walk).toEqual(['Alphabet', 'beta', 'alpha']);
});

const tries: [string, object, boolean, object?][] = [
  ['an empty filter', { request: { body: { a: 1 } }, schema: {} }, true],
  ['nothing at all', {}, true],
  ['a body that matches', { request: { body: { a: { b: '5' } } }, schema: { body: { 'a.b': 5 } } }, true],
  [
    'a body that does not',
    { request: { body: { a: 1 } }, schema: { body: { a: { $gt: 2 } } } },
    false,
    { scope: 'body', path: 'a', operator: '$gt', expected: 2, actual: 1 },
  ],
  [
    'a header under the singular',
    { request: { header: { 'X-A': 'b' } }, schema: { header: { 'x-a': 'b' } } },
    true,
  ],
  [
    'a header under the plural',
    { request: { headers: { 'X-A': ['b'] } }, schema: { headers: { 'x-a': 'b' } } },
    true,
  ],
  ['a query object', { request: { query: { a: ['1', '2'] } }, schema: { query: { a: '2' } } }, true],
  [
    'a query string',
    { request: { query: '?a=1' }, schema: { query: { a: '2' } } },
    false,
    { scope: 'query' },
  ],
  ['a path', { request: { path: '/in/x' }, schema: { path: { path: { $regex: '^/in' } } } }, true],
  ['a path object', { request: { path: { path: '/out' } }, schema: { path: { path: '/in' } } }, false],
  ['a body of null', { request: { body: null }, schema: { body: { a: 1 } } }, false],
];
test.each(tries)('a filter can be tested on %s', async (_, body, matched, explained) => {
  const response = await app.project.raw('POST', '/subscriptions/test_filter', { body });
  expect(response.status).toBe(200);
  const answer: Json = await response.json();
  expect(answer).toMatchObject({ status: true, data: matched, explain: { matched, ...explained } });
});

test('an invalid filter is refused with the place of the mistake', async () => {
  const answer = await app.project.post(
    '/subscriptions/test_filter',
    { schema: { body: { a: { $near: 1 } } } },
    400,
  );
  expect(answer.message).toBe('schema.body.a.$near: there is no operator $near');
  await app.project.post('/subscriptions/test_filter', { request: { query: 4 } }, 400);
  await app.project.post('/subscriptions/test_filter', { request: { path: 4 } }, 400);
});

test('a huge value is explained without being shown', async () => {
  const huge = { request: { body: { a: 'x'.repeat(10_000) } }, schema: { body: { a: 1 } } };
  const shown: Json = await (
    await app.project.raw('POST', '/subscriptions/test_filter', { body: huge })
  ).json();
  expect(shown.explain.actual.length).toBeLessThan(5_000);
});

describe('an endpoint with its subscriptions', () => {
  const create = (subscriptions: object[], expected = 201, client = app.project): Promise<Json> =>
    client.post('/endpoints', { name: 'with', url: 'http://127.0.0.1:9', subscriptions }, expected);
  const counted = async () =>
    app.database.query(
      'select (select count(*) from endpoints) as endpoints, (select count(*) from subscriptions) as subscriptions',
    );

  test('is created with all of them', async () => {
    const { uid } = await create([
      {},
      { name: 'second', filter_config: { event_types: ['a.b'], filter: { body: { n: 1 } } } },
    ]);
    const { content } = await app.project.get(`/subscriptions?endpointId=${uid}&sort=ASC`);
    expect(content.map((one: Json) => [one.name, one.filter_config.event_types])).toEqual([
      ['with', ['*']],
      ['second', ['a.b']],
    ]);
    const { content: entries } = await app.project.get('/audit?perPage=3&sort=DESC');
    expect(entries.map(({ action }: Json) => action)).toEqual([
      'subscription.created',
      'subscription.created',
      'endpoint.created',
    ]);
  });

  test.each([
    [
      'a filter that is wrong',
      { filter_config: { filter: { body: { $nonsense: 1 } } } },
      'subscriptions.1.filter',
    ],
    ['a function that does not compile', { function: 'function (' }, 'subscriptions.1.function'],
    ['a source that is not there', { source_id: 'none' }, 'subscriptions.1.source_id'],
    ['a key that is taken', { key: 'taken' }, 'key'],
  ])('is not created if one of them has %s', async (_what, wrong, place) => {
    if ('key' in wrong) await create([{ key: 'taken' }]);
    const before = await counted();
    const { message } = await create([{}, wrong], 400);
    expect(message).toContain(place);
    expect(await counted()).toEqual(before);
  });

  test('is not created with two of them where a project allows one per endpoint', async () => {
    const project = await app.newProject({ multiple_endpoint_subscriptions: false });
    expect((await create([{}, {}], 400, project)).message).toContain('one per endpoint');
    expect((await project.get('/endpoints')).content).toEqual([]);
    expect((await create([{}], 201, project)).name).toBe('with');
  });

  test('of a portal link has the owner of the link, no key, and only its event types', async () => {
    const rights = { can_manage_endpoint: true, event_types: ['mine.*'] };
    const portal = await portalOf(app.project, 'with', rights);
    const made = await create([{ key: 'claimed', filter_config: { event_types: ['mine.a'] } }], 201, portal);
    const { content } = await app.project.get(`/subscriptions?endpointId=${made.uid}`);
    expect([made.owner_id, content[0].key]).toEqual(['with', '']);
    const before = await counted();
    await create([{ filter_config: { event_types: ['others.a'] } }], 403, portal);
    expect(await counted()).toEqual(before);
  });
});
