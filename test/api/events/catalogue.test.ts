import { Ajv2020 } from 'ajv/dist/2020.js';
import { expect, test } from 'vitest';
import { portalOf, startTestApp } from '../../support/app.ts';
import type { ApiClient, Json } from '../../support/client.ts';
import { shared } from '../../support/shared.ts';

/** The event types of a project as documents for machines. */
const app = await shared(startTestApp());

const INVOICE = {
  type: 'object',
  required: ['invoice', 'lines', 'due'],
  properties: {
    invoice: { type: 'integer', minimum: 1000 },
    due: { type: 'string', format: 'date-time' },
    lines: { type: 'array', minItems: 2, items: { $ref: '#/$defs/line' } },
    parent: { anyOf: [{ type: 'null' }, { $ref: '#' }] },
  },
  additionalProperties: false,
  $defs: {
    line: { type: 'object', required: ['sku'], properties: { sku: { type: 'string', minLength: 6 } } },
  },
};

async function scene(config: object = {}): Promise<ApiClient> {
  const client = await app.newProject(config);
  const make = (fields: object) => client.post('/event-types', fields);
  await make({
    name: 'invoice.paid',
    category: 'billing',
    description: 'It was paid.',
    json_schema: INVOICE,
  });
  const old = await make({ name: 'orders/create' });
  await make({ name: 'orders create', json_schema: { type: 'object', examples: [{ order: 7 }] } });
  await make({ name: 'invoice.*' });
  await client.post(`/event-types/${old.uid}/deprecate`, {});
  return client;
}

/** The targets of all references in a document. Undefined: there is none. */
function targets(document: Json, value: Json = document): unknown[] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, item]) => {
    if (key !== '$ref') return targets(document, item);
    const parts = String(item).slice(2).split('/');
    return [parts.reduce((place: Json, part) => place?.[part.replaceAll('~1', '/')], document)];
  });
}

const isValid = (schema: object, value: unknown) =>
  new Ajv2020({ strict: false, validateFormats: false }).validate(schema, value);

test('the OpenAPI document has a webhook for each type, and can be imported again', async () => {
  const client = await scene();
  const document: Json = await client.get('/event-types/openapi');
  expect([document.openapi, Object.keys(document.webhooks)]).toEqual([
    '3.1.0',
    ['invoice.paid', 'orders create', 'orders/create'],
  ]);
  const { post } = document.webhooks['invoice.paid'];
  expect(post).toMatchObject({ operationId: 'invoice.paid', tags: ['billing'], description: 'It was paid.' });
  const { example } = post.requestBody.content['application/json'];
  expect(isValid(INVOICE, example)).toBe(true);
  expect([document.webhooks['orders/create'].post.deprecated, post.deprecated]).toEqual([true, undefined]);
  expect(document.webhooks['orders create'].post.requestBody.content['application/json'].example).toEqual({
    order: 7,
  });
  expect(targets(document).length).toBeGreaterThan(3);
  expect(targets(document)).not.toContain(undefined);
  // A schema in the document means the same as alone.
  const wrong = { ...example, lines: [{ sku: 'short' }, {}] };
  expect(isValid({ $ref: '#/components/schemas/invoice.paid', ...document }, example)).toBe(true);
  expect(isValid({ $ref: '#/components/schemas/invoice.paid', ...document }, wrong)).toBe(false);

  const other = await app.newProject();
  await other.post('/event-types/import', { spec: JSON.stringify(document) }, 200);
  const again: Json = await other.get('/event-types/openapi');
  expect(Object.keys(again.webhooks)).toEqual(Object.keys(document.webhooks));
  expect(again.webhooks['invoice.paid'].post.requestBody.content['application/json'].example).toEqual(
    example,
  );
  expect(targets(again)).not.toContain(undefined);
});

test('a stock tool gets either document without the envelope, in its own media type', async () => {
  const client = await scene();
  for (const [name, type] of [
    ['openapi', 'application/vnd.oai.openapi+json'],
    ['asyncapi', 'application/vnd.aai.asyncapi+json'],
  ] as const) {
    const path = `/event-types/${name}`;
    const read = async (query: string, accept: string): Promise<[string | undefined, Json]> => {
      const answer = await client.raw('GET', `${path}${query}`, { headers: { accept } });
      return [answer.headers.get('content-type')?.split(';')[0], await answer.json()];
    };
    const [plain, envelope] = await read('', '*/*');
    expect([plain, envelope.status, envelope.data[name]]).toEqual([
      'application/json',
      true,
      expect.stringMatching(/^3\./),
    ]);
    expect(await read('?bare=true', '*/*')).toEqual([type, envelope.data]);
    expect(await read('', `text/html, ${type};version=3.1`)).toEqual([type, envelope.data]);
    expect(await read('', 'application/json;bare=true')).toEqual(['application/json', envelope.data]);
    expect((await read('?bare=false', 'application/json'))[1]).toEqual(envelope);
    await client.get(`${path}?bare=1`, 400);
  }
  // Another operation has no such form.
  const listed = await client.raw('GET', '/event-types', {
    headers: { accept: 'application/json;bare=true' },
  });
  expect(await listed.json()).toHaveProperty('status', true);
});

test('the AsyncAPI document has a message for each type, and its references lead somewhere', async () => {
  const client = await scene();
  const document: Json = await client.get('/event-types/asyncapi');
  expect([document.asyncapi, document.info.title, document.channels.webhooks.address]).toEqual([
    '3.0.0',
    (await client.get('')).name,
    null,
  ]);
  expect(document.operations['invoice.paid']).toEqual({
    action: 'send',
    channel: { $ref: '#/channels/webhooks' },
    messages: [{ $ref: '#/channels/webhooks/messages/invoice.paid' }],
  });
  const { messages } = document.components;
  // The ids differ where the names would give the same one.
  expect(Object.keys(messages)).toEqual(['invoice.paid', 'orders_create', 'orders_create-2']);
  expect(messages['orders_create-2']).toMatchObject({
    name: 'orders/create',
    'x-deprecated': true,
    payload: {},
  });
  expect(isValid(INVOICE, messages['invoice.paid'].examples[0].payload)).toBe(true);
  expect(targets(document)).not.toContain(undefined);
});

test('in a project with an envelope the documents have it around schema and example', async () => {
  const client = await scene({ envelope: 'standard' });
  const document: Json = await client.get('/event-types/openapi');
  const contentOf = (name: string) => document.webhooks[name].post.requestBody.content['application/json'];
  const { example } = contentOf('invoice.paid');
  expect([Object.keys(example), example.type]).toEqual([['type', 'timestamp', 'data'], 'invoice.paid']);
  expect(isValid(INVOICE, example.data)).toBe(true);
  expect(targets(document)).not.toContain(undefined);
  const fits = (value: object) => isValid({ $ref: '#/components/schemas/invoice.paid', ...document }, value);
  const wrong = { ...example, data: { ...example.data, lines: [{ sku: 'short' }, {}] } };
  expect([fits(example), fits(example.data), fits(wrong)]).toEqual([true, false, false]);
  expect(contentOf('orders/create').example).toMatchObject({ type: 'orders/create', data: {} });
  const { components }: Json = await client.get('/event-types/asyncapi');
  expect(components.messages['invoice.paid'].examples[0].payload).toEqual(example);
});

test('a change of the catalogue is another version, and an empty one is a document too', async () => {
  const client = await app.newProject();
  const before: Json = await client.get('/event-types/openapi');
  expect([before.webhooks, before.components]).toEqual([{}, { schemas: {} }]);
  await client.post('/event-types', { name: 'a' });
  const after: Json = await client.get('/event-types/openapi');
  expect(Number(after.info.version)).toBeGreaterThan(Number(before.info.version));
});

test('a schema that refers to itself in many places has a small example', async () => {
  const client = await app.newProject();
  const properties = Object.fromEntries(Array.from({ length: 20 }, (_, n) => [`p${n}`, { $ref: '#' }]));
  await client.post('/event-types', { name: 'wide', json_schema: { type: 'object', properties } });
  const document: Json = await client.get('/event-types/openapi');
  const text = JSON.stringify(document.webhooks.wide.post.requestBody.content);
  expect(text.length).toBeLessThan(100_000);
});

test('a portal link sees the types that it may use', async () => {
  const client = await scene();
  const portal = await portalOf(client, 'o', { event_types: ['invoice.paid'] });
  const document: Json = await portal.get('/event-types/openapi');
  expect(Object.keys(document.webhooks)).toEqual(['invoice.paid']);
  expect(document.webhooks['invoice.paid'].post.description).toBe('It was paid.');
});
