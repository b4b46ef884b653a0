import { expect, test } from 'vitest';
import { readOpenApiApart } from '../../../src/api/event-types/read-openapi-apart.ts';
import { startTestApp, subscribe } from '../../support/app.ts';
import type { ApiClient, Json } from '../../support/client.ts';
import { shared } from '../../support/shared.ts';
import { countTurns } from '../../support/suite/count-turns.ts';

const app = await shared(startTestApp());

const names = async (client: ApiClient) => (await client.get('/event-types')).map((type: Json) => type.name);

test('every project starts with the wildcard type', async () => {
  const star = {
    uid: expect.any(String),
    name: '*',
    category: '',
    description: '',
    json_schema: null,
    deprecated_at: null,
  };
  expect(await app.project.get('/event-types')).toEqual([star]);
  expect(await (await app.newProject()).get('/event-types')).toEqual([star]);
});

test('types that subscriptions use are added once, globs are not', async () => {
  const client = await app.newProject();
  await subscribe(client, 'http://127.0.0.1:9', { eventTypes: ['b', 'a', 'inv.*'] });
  const { subscription } = await subscribe(client, 'http://127.0.0.1:9', { eventTypes: ['a'] });
  await client.put(`/subscriptions/${subscription.uid}`, { filter_config: { event_types: ['a', 'c'] } });
  expect(await names(client)).toEqual(['*', 'a', 'b', 'c']);
});

test('a type is made with every field and updated', async () => {
  const json_schema = {
    type: 'object',
    properties: { z: { type: 'string' }, a: { minimum: 1 } },
    required: ['z'],
  };
  const given = {
    name: 'invoice.paid',
    category: 'billing',
    description: 'An invoice was paid.',
    json_schema,
  };
  const made = await app.project.post('/event-types', given);
  expect(made).toEqual({ uid: expect.any(String), deprecated_at: null, ...given });
  expect(Object.keys(made.json_schema.properties)).toEqual(['z', 'a']);
  const path = `/event-types/${made.uid}`;
  const put = (body: object, expected = 201) => app.project.put(path, body, expected);
  expect(await put({})).toEqual(made);
  const described = { ...made, category: '', description: 'Paid.' };
  expect(await put({ category: '', description: 'Paid.' })).toEqual(described);
  expect((await put({ json_schema: { type: 'array' } })).json_schema).toEqual({ type: 'array' });
  expect((await app.project.get('/event-types')).find((type: Json) => type.uid === made.uid)).toMatchObject({
    description: 'Paid.',
    json_schema: { type: 'array' },
  });
});

test('a type is deprecated once and still works', async () => {
  const made = await app.project.post('/event-types', { name: 'old' });
  const deprecated = await app.project.post(`/event-types/${made.uid}/deprecate`);
  expect(deprecated).toEqual({ ...made, deprecated_at: expect.stringMatching(/Z$/) });
  expect(await app.project.post(`/event-types/${made.uid}/deprecate`)).toEqual(deprecated);
  await subscribe(app.project, 'http://127.0.0.1:9', { eventTypes: ['old'] });
});

const deep = JSON.parse(`${'{"not":'.repeat(90)}{}${'}'.repeat(90)}`);
const bad: [string, object, string][] = [
  ['no name', {}, 'name: is required'],
  ['an empty name', { name: '' }, 'name: must not be empty'],
  ['a name that is taken', { name: '*' }, 'name: an event type with this name exists'],
  ['a schema that is none', { name: 'n', json_schema: { type: 'strnig' } }, 'json_schema.type: must be'],
  [
    'a mistake deep in its schema',
    { name: 'n', json_schema: { properties: { a: { minimum: 'x' } } } },
    'json_schema.properties.a.minimum: must be number',
  ],
  [
    'an unknown dialect',
    { name: 'n', json_schema: { $schema: 'urn:mine' } },
    'json_schema.$schema: must be one of',
  ],
  ['a list for a schema', { name: 'n', json_schema: [] }, 'json_schema: must be an object'],
  ['a schema nested deeply', { name: 'n', json_schema: deep }, 'json_schema: nests deeper than 64 levels'],
];
// proves Event types: json_schema
test.each(bad)('a type with %s is refused', async (_, body, text) => {
  expect((await app.project.post('/event-types', body, 400)).message).toContain(text);
});

test('schemas of earlier drafts are validated against their own draft', async () => {
  const draft7 = { $schema: 'http://json-schema.org/draft-07/schema#', items: [{ type: 'string' }] };
  await app.project.post('/event-types', { name: 'draft7', json_schema: draft7 });
  await app.project.post('/event-types', { name: 'newest', json_schema: { items: [{}] } }, 400);
});

test('one of two callers who create the same type is refused', async () => {
  const answers = await Promise.all(
    [1, 2].map(() => app.project.raw('POST', '/event-types', { body: { name: 'raced' } })),
  );
  expect(answers.map((answer) => answer.status).sort((a, b) => a - b)).toEqual([201, 400]);
});

test('a project sees and changes only its own types', async () => {
  const other = await app.newProject();
  const made = await app.project.post('/event-types', { name: 'mine' });
  expect(await names(other)).toEqual(['*']);
  await other.put(`/event-types/${made.uid}`, { description: 'x' }, 404);
  await other.post(`/event-types/${made.uid}/deprecate`, undefined, 404);
  await app.project.put('/event-types/nope', {}, 404);
  await app.project.post('/event-types/nope/deprecate', undefined, 404);
  await other.post('/event-types', { name: 'mine' });
});

const webhook = (schema: object, more: object = {}) => ({
  post: { ...more, requestBody: { content: { 'application/json': { schema } } } },
});
const importSpec = (client: ApiClient, spec: unknown, expected = 200): Promise<Json> =>
  client.post(
    '/event-types/import',
    { spec: typeof spec === 'string' ? spec : JSON.stringify(spec) },
    expected,
  );

test('the webhooks of an OpenAPI document become types, with the components they refer to', async () => {
  const client = await app.newProject();
  await client.post('/event-types', { name: 'pet.sold', description: 'kept', category: 'old' });
  const pet = { type: 'object', properties: { owner: { $ref: '#/components/schemas/Owner' } } };
  const owner = { properties: { pets: { items: { $ref: '#/components/schemas/Pet' } } } };
  const imported = await importSpec(client, {
    openapi: '3.1.0',
    webhooks: {
      'pet.born': webhook(
        { $ref: '#/components/schemas/Pet' },
        { summary: 'A pet was born.', tags: ['pets'] },
      ),
      'pet.sold': { post: { tags: ['pets'] } },
      'not.a.post': { get: {} },
    },
    components: { schemas: { Pet: pet, Owner: owner, Unused: {} } },
  });
  expect(imported).toEqual([
    {
      uid: expect.any(String),
      name: 'pet.born',
      category: 'pets',
      description: 'A pet was born.',
      json_schema: { $ref: '#/components/schemas/Pet', components: { schemas: { Pet: pet, Owner: owner } } },
      deprecated_at: null,
    },
    expect.objectContaining({ name: 'pet.sold', category: 'pets', description: 'kept', json_schema: null }),
  ]);
  expect(await names(client)).toEqual(['*', 'pet.born', 'pet.sold']);
});

test('YAML is accepted, and POST paths with "webhook" are used if there are no webhooks', async () => {
  const client = await app.newProject();
  const spec = `
openapi: 3.0.0
paths:
  /hooks/webhook-a:
    post: {summary: The first}
  /b:
    post: {operationId: order.shipped, tags: [Webhooks]}
  /c:
    post: {operationId: createOrder}
  /webhook-d:
    get: {}
`;
  const imported: Json[] = await importSpec(client, spec);
  expect(imported.map((type) => [type.name, type.description])).toEqual([
    ['hooks/webhook-a', 'The first'],
    ['order.shipped', ''],
  ]);
  const extended = await importSpec(client, {
    openapi: '3.0.0',
    'x-webhooks': { x: { post: {} } },
    paths: {},
  });
  expect(extended.map((type: Json) => type.name)).toEqual(['x']);
});

const badSpecs: [string, unknown, string][] = [
  ['is neither JSON nor YAML', '{"a": ', 'neither valid JSON nor valid YAML'],
  ['is broken YAML', 'a: [1', 'neither valid JSON nor valid YAML'],
  ['is a text', 'hello', 'is not an OpenAPI document'],
  ['is another document', { info: {} }, 'is not an OpenAPI document'],
  ['has no webhooks', { openapi: '3.1.0', paths: { '/a': { post: {} } } }, 'has no webhooks'],
  [
    'refers to another document',
    { openapi: '3.1.0', webhooks: { a: webhook({ $ref: 'http://127.0.0.1/x.json' }) } },
    'the reference http://127.0.0.1/x.json does not exist',
  ],
  [
    'refers to nothing',
    { openapi: '3.1.0', webhooks: { a: webhook({ items: { $ref: '#/components/schemas/toString' } }) } },
    'does not exist',
  ],
  ['holds a schema that is none', { openapi: '3.1.0', webhooks: { a: webhook({ type: 4 }) } }, 'spec.a.type'],
  ['contains itself', 'openapi: 3.1.0\nwebhooks: &w\n  a: {post: *w}', 'neither valid JSON nor valid YAML'],
  ['is empty', '', 'spec: must not be empty'],
];
test.each(badSpecs)('a document that %s is refused', async (_, spec, text) => {
  expect((await importSpec(app.project, spec, 400)).message).toContain(text);
});

test('a document of a megabyte is imported', async () => {
  const client = await app.newProject();
  const schemas = Object.fromEntries(
    Array.from({ length: 1_000 }, (_, n) => [`S${n}`, { type: 'object', description: 'x'.repeat(1_000) }]),
  );
  const webhooks = { big: webhook({ $ref: '#/components/schemas/S999' }) };
  const imported = await importSpec(client, { openapi: '3.1.0', webhooks, components: { schemas } });
  expect(imported[0].json_schema.components.schemas).toEqual({ S999: schemas['S999'] });
});

test('a large document is read in a thread, and other work has its turns', async () => {
  const hook = (n: number) => `  hook${n}:\n    post: {summary: The first}\n`;
  const webhooks = Array.from({ length: 1_001 }, (_, n) => hook(n)).join('');
  const { turns } = await countTurns(async () => {
    const read = readOpenApiApart('p', `openapi: 3.1.0\nwebhooks:\n${webhooks}`);
    await expect(read).rejects.toThrow('1000 webhooks');
  });
  expect(turns).toBeGreaterThan(100);
  const components = { schemas: Object.fromEntries([['A', { description: 'x'.repeat(100_000) }]]) };
  const spec = { openapi: '3.1.0', components, webhooks: {} as Record<string, unknown> };
  for (let n = 0; n < 400; n++) spec.webhooks[`a${n}`] = webhook({ $ref: '#/components/schemas/A' });
  await expect(readOpenApiApart('p', JSON.stringify(spec))).rejects.toThrow('more than 33554432 characters');
});

test('a YAML document with an alias bomb is refused before it expands', async () => {
  const lines = Array.from({ length: 12 }, (_, n) => `l${n + 1}: &l${n + 1} [${`*l${n},`.repeat(9)}*l${n}]`);
  await importSpec(app.project, ['openapi: 3.1.0', 'l0: &l0 lol', ...lines].join('\n'), 400);
});
