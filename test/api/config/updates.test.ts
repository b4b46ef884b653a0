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
/** Those of people: test/people. */
const NOT_RESOURCES = [/expire_secret$/, /bulk_update$/, /^PUT \/portal-api/, /\/people\//, /^PUT \/auth/];

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
  const path = await resource.make(client, nested(first));
  const read = () => resource.read?.(client, path) ?? client.get(path);
  const put = (change: Record<string, unknown>, expected = resource.status) =>
    client.put(path, nested(change), expected);
  const view = async () => viewOf(await read(), fields);
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
  const path = await filter.make(app.project, Object.fromEntries(first));
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
