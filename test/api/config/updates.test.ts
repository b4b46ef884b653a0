import { beforeAll, describe, expect, test } from 'vitest';
import { startTestApp } from '../../support/app.ts';
import { ApiClient, type Json } from '../../support/client.ts';
import { fetchOpenApi } from '../../support/openapi.ts';
import { shared } from '../../support/shared.ts';
import { type Field, type Resource, updatable } from './update-cases.ts';

/**
 * The rule of updates (docs/updates.md), held against every field of every resource that can be updated. The
 * fields come from the OpenAPI document, so a field without a case fails.
 */
const app = await shared(startTestApp());
let document: Json;
const ids = { endpoint: '', other: '', source: '', second: '' };

beforeAll(async () => {
  document = await fetchOpenApi(app.url);
  for (const name of ['endpoint', 'other'] as const)
    ids[name] = (await app.project.post('/endpoints', { name, url: 'http://127.0.0.1:9/' })).uid;
  for (const name of ['source', 'second'] as const)
    ids[name] = (await app.project.post('/sources', { name, type: 'http' })).uid;
});

/** PUTs with a body that are no updates of a resource, or the same update under another path. */
/** Operations of people: test/people has their tests. */
const NOT_RESOURCES = [
  /expire_secret$/,
  /deliver_at$/,
  /bulk_update$/,
  /^PUT \/portal-api/,
  /\/people\//,
  /^PUT \/auth/,
];

const bodyOf = (operation: string): Json => {
  const [method = '', path = ''] = operation.split(' ');
  return document.paths[path]?.[method.toLowerCase()]?.requestBody?.content['application/json'].schema;
};

/** Names of the fields that an update takes; those of a project's config key by key, since it merges so. */
function namesOf(schema: Json, prefix = ''): string[] {
  return Object.entries<Json>(schema.properties).flatMap(([name, property]) => {
    const object = [property, ...(property.anyOf ?? [])].find(({ properties }) => properties !== undefined);
    return /^config\b/.test(prefix + name) && object !== undefined
      ? namesOf(object, `${prefix}${name}.`)
      : [prefix + name];
  });
}

/** `{a: {b: 1}}` of `{'a.b': 1}`. */
function nested(fields: Record<string, unknown>): Json {
  const body: Json = {};
  for (const [name, value] of Object.entries(fields)) {
    const keys = name.split('.');
    const last = keys.pop() ?? '';
    let at = body;
    for (const key of keys) at = at[key] ??= {};
    at[last] = value;
  }
  return body;
}

const valueAt = (data: Json, name: string) => name.split('.').reduce((at, key) => at?.[key], data);
const shownOf = (data: Json, name: string, { shown }: Field) =>
  (shown ?? ((all) => valueAt(all, name)))(data);
const viewOf = (data: Json, fields: Record<string, Field>) =>
  Object.fromEntries(Object.entries(fields).map(([name, field]) => [name, shownOf(data, name, field)]));

/** Fields whose value others show too. */
const TOGETHER: Record<string, string[]> = {
  endpoint_id: ['app_id'],
  app_id: ['endpoint_id'],
  'config.retention_policy.policy': ['config.retention_policy.retention_policy_enabled'],
  // Another value replaces the list.
  'config.strategy.type': ['config.strategy.schedule'],
  'config.strategy.duration': ['config.strategy.schedule'],
  'config.strategy.retry_count': ['config.strategy.schedule'],
  // Broker settings belong to the type.
  type: ['pub_sub'],
};

async function clientFor({ operation }: Resource): Promise<ApiClient> {
  if (!operation.endsWith('{projectID}')) return app.project;
  const body = { name: `project ${Math.random()}`, type: 'outgoing' };
  const { project, api_key } = await app.instance.post('/projects', body);
  return new ApiClient(`${app.url}/api/v1/projects/${project.uid}`, api_key.key);
}

async function make(resource: Resource) {
  const client = await clientFor(resource);
  const fields = resource.fields(ids);
  const first = Object.fromEntries(Object.entries(fields).map(([name, field]) => [name, field.values[0]]));
  const { path, answer } = await resource.make(client, nested(first));
  const read = () => resource.read?.(client, path) ?? client.get(path);
  const view = async () => viewOf(await read(), fields);
  expect(viewOf(answer, fields)).toEqual(await view());
  /** Its answer shows what a read shows. */
  const put = async (change: Record<string, unknown>, expected = resource.status) => {
    const changed = await client.put(path, nested(change), expected);
    if (expected === resource.status) expect(viewOf(changed, fields)).toEqual(await view());
    return changed;
  };
  return { fields, put, read, view };
}

/** Fields that null changes. In all others it means "not named". */
const NULL_IS_A_VALUE = ['enabled_at', 'expires_at', 'can_see_secrets', 'can_edit_functions'];

test('every PUT that changes a resource has its cases', () => {
  const operations = Object.entries<Json>(document.paths).flatMap(([path, item]) =>
    item.put?.requestBody === undefined ? [] : [`PUT ${path}`],
  );
  const resources = operations.filter((operation) => !NOT_RESOURCES.some((each) => each.test(operation)));
  expect(resources.sort()).toEqual(updatable.map(({ operation }) => operation).sort());
});

describe.each(updatable)('$operation', (resource) => {
  test('has a case for every field', () => {
    expect(Object.keys(resource.fields(ids)).sort()).toEqual(namesOf(bodyOf(resource.operation)).sort());
  });

  test('requires no field', () => {
    expect(bodyOf(resource.operation).required ?? []).toEqual([]);
  });

  test('keeps each field that is absent or null', async () => {
    const { fields, put, read, view } = await make(resource);
    const shown = Object.entries(fields).map(([name, { values, as }]) => [name, (as ?? values)[0]]);
    expect(await view()).toEqual(Object.fromEntries(shown));
    const before = { ...(await read()), updated_at: '' };
    await put({});
    expect({ ...(await read()), updated_at: '' }).toEqual(before);
    for (const name of Object.keys(fields)) {
      if (NULL_IS_A_VALUE.includes(name)) continue;
      await put({ [name]: null });
      expect([name, { ...(await read()), updated_at: '' }]).toEqual([name, before]);
    }
  });

  test('changes the field that is named, and no other', async () => {
    for (const name of Object.keys(resource.fields(ids))) {
      const { fields, put, view } = await make(resource);
      const field = fields[name] as Field;
      const before = await view();
      await put({ [name]: field.values[1] });
      expectOnly([name, (field.as ?? field.values)[1]], before, await view());
    }
  });

  // differs Requests and answers: Every update follows [one rule](updates.md); Convoy clears some fields and
  //   keeps others. A `PUT` needs no field, not even a name.
  test('clears a field by its empty value, or refuses it', async () => {
    for (const name of Object.keys(resource.fields(ids))) {
      const { fields, put, view } = await make(resource);
      const empty = fields[name]?.empty;
      if (empty === undefined) continue;
      const before = await view();
      const answer = await put({ [name]: empty.given }, empty.refused ? 400 : resource.status);
      if (empty.refused) expect(answer.message).toContain(name);
      const after = empty.refused || empty.keeps ? before[name] : empty.leaves;
      expectOnly([name, after], before, await view());
    }
  });
});

function expectOnly([name, value]: [string, unknown], before: Json, after: Json): void {
  expect([name, after[name]]).toEqual([name, value]);
  for (const other of [name, ...(TOGETHER[name] ?? [])]) {
    delete before[other];
    delete after[other];
  }
  expect([name, after]).toEqual([name, before]);
}

test('updating several filters at once follows the same rule', async () => {
  const filter = updatable.find(({ operation }) => operation.endsWith('{filterID}')) as Resource;
  const bulk = bodyOf('PUT /api/v1/projects/{projectID}/subscriptions/{subscriptionID}/filters/bulk_update');
  expect(namesOf(bulk.items).sort()).toEqual(['uid', ...Object.keys(filter.fields(ids))].sort());
  const first = Object.entries(filter.fields(ids)).map(([name, field]) => [name, field.values[0]]);
  const { path } = await filter.make(app.project, Object.fromEntries(first));
  const before = await app.project.get(path);
  const change = async (body: Json) => {
    const where = path.replace(/[^/]+$/, 'bulk_update');
    await app.project.put(where, [{ uid: before.uid, ...body }], 200);
    return app.project.get(path);
  };
  expect(await change({})).toEqual(before);
  expect(await change({ body: null, event_type: null })).toEqual(before);
  expect(await change({ body: {} })).toMatchObject({ raw_body: {}, raw_headers: { a: 1 } });
});

test('a change that names another version of the config is refused and changes nothing', async () => {
  const target = await app.newProject();
  const HEADER = 'x-posthorn-config-version';
  const at = (response: Response) => Number(response.headers.get(HEADER));
  let version = at(await target.raw('GET', ''));
  /** On each version but the right one it is refused, and on that one it raises the version by one. */
  const change = async (method: string, path: string, body?: unknown): Promise<Json> => {
    for (const wrong of [version - 1, version + 1]) {
      const refused = await target.raw(method, path, { body, headers: { [HEADER]: String(wrong) } });
      expect([refused.status, await refused.json()]).toEqual([
        412,
        expect.objectContaining({ code: 'config_changed' }),
      ]);
    }
    const made = await target.raw(method, path, { body, headers: { [HEADER]: String(version) } });
    expect([made.ok, at(made)]).toEqual([true, version + 1]);
    version += 1;
    return ((await made.json()) as Json).data;
  };
  await change('PUT', '', { name: `of ${target.projectId}` });
  const type = await change('POST', '/event-types', { name: 'a.b' });
  await change('PUT', `/event-types/${type.uid}`, { description: 'two' });
  await change('POST', `/event-types/${type.uid}/deprecate`);
  const source = await change('POST', '/sources', { name: 's', type: 'http' });
  await change('PUT', `/sources/${source.uid}`, { name: 't' });
  const endpoint = await change('POST', '/endpoints', { name: 'e', url: 'http://127.0.0.1:9/' });
  await change('PUT', `/endpoints/${endpoint.uid}`, { name: 'f' });
  await change('PUT', `/endpoints/${endpoint.uid}/pause`);
  await change('POST', `/endpoints/${endpoint.uid}/activate`);
  const subscription = await change('POST', '/subscriptions', { name: 's', endpoint_id: endpoint.uid });
  await change('PUT', `/subscriptions/${subscription.uid}`, { name: 't' });
  await change('PUT', `/subscriptions/${subscription.uid}/toggle_status`);
  const [filter] = await target.get(`/subscriptions/${subscription.uid}/filters`);
  await change('PUT', `/subscriptions/${subscription.uid}/filters/${filter.uid}`, { body: { n: 1 } });
  await change('DELETE', `/subscriptions/${subscription.uid}`);
  await change('DELETE', `/endpoints/${endpoint.uid}`);
  await change('DELETE', `/sources/${source.uid}`);
  expect(at(await target.raw('GET', ''))).toBe(version);
  const nonsense = await target.raw('PUT', '', { body: {}, headers: { [HEADER]: 'newest' } });
  expect(nonsense.status).toBe(400);
});

describe('a dry run', () => {
  const headers = { 'x-posthorn-dry-run': 'true' };
  const states = async (client: ApiClient): Promise<Json> => ({
    project: await client.get(''),
    version: (await client.raw('GET', '')).headers.get('x-posthorn-config-version'),
    lists: await Promise.all(
      ['/event-types', '/sources', '/endpoints', '/subscriptions', '/audit'].map((path) => client.get(path)),
    ),
  });

  test('of every create and update answers as the change would, and stores nothing', async () => {
    const client = await app.newProject({ meta_event: { is_enabled: true, url: 'http://127.0.0.1:9/' } });
    const type = await client.post('/event-types', { name: 'a.b' });
    const source = await client.post('/sources', { name: 's', type: 'http' });
    const endpoint = await client.post('/endpoints', { name: 'e', url: 'http://127.0.0.1:9/' });
    const subscription = await client.post('/subscriptions', { name: 's', endpoint_id: endpoint.uid });
    const before = await states(client);
    const run = async (method: string, path: string, body: object): Promise<Json> => {
      const answer = await client.raw(method, path, { body, headers });
      expect(answer.headers.get('x-posthorn-config-version')).toBeNull();
      const { status, message, data } = (await answer.json()) as Json;
      expect([answer.ok, status, message]).toEqual([true, true, 'Dry run: nothing was stored']);
      return data;
    };
    await run('PUT', '', { config: { search_policy: '1h' } });
    await run('POST', '/event-types', { name: 'c.d' });
    await run('PUT', `/event-types/${type.uid}`, { description: 'two' });
    await run('POST', '/sources', { name: 't', type: 'http' });
    for (const method of ['PUT', 'POST']) await run(method, `/sources/${source.uid}`, { name: 't' });
    expect(await run('POST', '/endpoints', { name: 'f', url: 'http://127.0.0.1:9/' })).toMatchObject({
      name: 'f',
      status: 'active',
    });
    expect(await run('PUT', `/endpoints/${endpoint.uid}`, { name: 'f' })).toMatchObject({ name: 'f' });
    // Its endpoint may not exist yet.
    expect(
      await run('POST', '/subscriptions', { name: 't', filter_config: { event_types: ['e.f'] } }),
    ).toMatchObject({ name: 't', endpoint_metadata: null });
    await run('PUT', `/subscriptions/${subscription.uid}`, { name: 't' });
    expect(await states(client)).toEqual(before);
  });

  test.each([
    ['POST', '/event-types', { name: 'a.b' }, 'name'],
    ['POST', '/endpoints', { name: 'f', url: 'http://127.0.0.1:9/', key: 'one' }, 'key'],
    ['POST', '/endpoints', { name: 'f', url: 'ftp://127.0.0.1' }, 'url'],
    ['POST', '/sources', { name: 's', type: 'http', body_function: 'nonsense(' }, 'body_function'],
    ['POST', '/subscriptions', { name: 's', endpoint_id: 'none' }, 'endpoint_id'],
    ['POST', '/endpoints', { name: 'f', url: 'http://127.0.0.1:9/' }, 'x-posthorn-dry-run', 'perhaps'],
    // These have none, and would be made.
    ['POST', '/portal-links', { name: 'l', owner_id: 'o' }, 'x-posthorn-dry-run'],
    ['POST', '/events', { endpoint_id: 'e', event_type: 'a', data: {} }, 'x-posthorn-dry-run'],
  ])('%s %s %j is refused for %s', async (...[method, path, body, field, value = 'true']) => {
    const client = await app.newProject();
    await client.post('/event-types', { name: 'a.b' });
    await client.post('/endpoints', { name: 'e', url: 'http://127.0.0.1:9/', key: 'one' });
    const answer = await client.raw(method, path, { body, headers: { 'x-posthorn-dry-run': value } });
    expect([answer.status, await answer.json()]).toEqual([
      400,
      expect.objectContaining({ message: expect.stringContaining(field) }),
    ]);
    expect((await client.get('/endpoints')).content).toHaveLength(1);
  });
});
