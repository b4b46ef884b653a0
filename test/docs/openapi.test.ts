import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import type { Json } from '../support/client.ts';
import { cases } from '../support/operations/cases.ts';
import { operations as documented } from '../support/operations/documented.ts';

/**
 * Rules that generators of clients need. After a change of shape run them on the document, in an empty directory:
 *   npx openapi-typescript openapi.json -o api.d.ts                      then tsc --noEmit --strict api.d.ts
 *   oapi-codegen -package api -generate types,client -o api.go openapi.json   (v2) then go mod tidy && go build ./...
 *   java -jar openapi-generator-cli.jar generate -i openapi.json -g python -o python   (7) then compileall, import all
 *   java -jar openapi-generator-cli.jar generate -i openapi.json -g typescript-fetch -o typescript   (7) then tsc
 *   openapi-python-client generate --path openapi.json                   then compileall, import all
 */
const text = readFileSync(join(import.meta.dirname, '../../openapi.json'), 'utf8');
const document = JSON.parse(text) as Json;

const operations: [string, Json][] = Object.entries<Json>(document.paths).flatMap(([path, item]) =>
  Object.entries<Json>(item).map(([method, operation]): [string, Json] => [`${method} ${path}`, operation]),
);

/** Every schema below a value, with where it stands. */
function* schemasOf(value: Json, at: string): Generator<[string, Json]> {
  if (typeof value !== 'object' || value === null) return;
  yield [at, value];
  for (const [name, child] of Object.entries(value)) yield* schemasOf(child, `${at}.${name}`);
}

it('every operation of the portal declares what a link needs', () => {
  const own = operations.filter(([name]) => name.includes(' /portal-api/'));
  expect(own.length).toBeGreaterThan(20);
  const silent = own.filter(([, operation]) => operation['x-portal-right'] === undefined);
  expect(silent.map(([name]) => name)).toEqual([]);
});

const oneName = (name: string) => name.replaceAll(/[^a-z0-9]/gi, '').toLowerCase();

it('no two parameters of an operation become one name in camel case', () => {
  for (const [name, { parameters = [] }] of operations) {
    const names = parameters.map((parameter: Json) => oneName(parameter.name));
    expect([name, names]).toEqual([name, [...new Set(names)]]);
  }
});

it('no two fields of an object become one name in camel case', () => {
  for (const [at, { properties }] of schemasOf(document, '')) {
    if (typeof properties !== 'object' || at.endsWith('.properties')) continue;
    const names = Object.keys(properties).map(oneName);
    expect([at, names]).toEqual([at, [...new Set(names)]]);
  }
});

it('every operation has an id of its own', () => {
  const ids = operations.map(([, { operationId }]) => operationId).filter((id) => id !== undefined);
  expect(ids.map(oneName)).toEqual([...new Set(ids.map(oneName))]);
});

it('every query parameter has one type, and lists have one for their items', () => {
  const simple = ['string', 'integer', 'number', 'boolean'];
  for (const [name, { parameters = [] }] of operations)
    for (const { name: parameter, schema } of parameters) {
      const type = schema.type === 'array' ? schema.items.type : schema.type;
      expect([name, parameter, simple.includes(type)]).toEqual([name, parameter, true]);
    }
});

it('numbers, booleans and choices among query parameters have their types', () => {
  const typeOf = (operationId: string, name: string): Json => {
    const found = operations.find(([, operation]) => operation.operationId === operationId);
    return found?.[1].parameters.find((parameter: Json) => parameter.name === name)?.schema;
  };
  expect(typeOf('listEvents', 'perPage')).toMatchObject({ type: 'integer', maximum: 1000 });
  expect(typeOf('listEvents', 'sort')).toMatchObject({ enum: ['ASC', 'DESC'] });
  expect(typeOf('listEventDeliveries', 'status').items.enum).toContain('Success');
  expect(typeOf('batchReplayEvents', 'only_endpoint')).toMatchObject({ type: 'boolean' });
  expect(typeOf('onboard', 'dry_run')).toMatchObject({ type: 'boolean' });
});

it('the key file of Google is a text, because generators fail on a choice of types', () => {
  for (const name of ['PubSubInput', 'BrokerInput']) {
    const [google] = document.components.schemas[name].properties.google.anyOf;
    expect([name, google.properties.service_account.anyOf]).toEqual([
      name,
      [{ type: 'string' }, { type: 'null' }],
    ]);
  }
});

it('the document has the version of the product, and parameters that Convoy knows', () => {
  const { version } = JSON.parse(
    readFileSync(join(import.meta.dirname, '../../package.json'), 'utf8'),
  ) as Json;
  expect(document.info.version).toBe(version);
  const known: Record<string, string[]> = {
    batchReplayEvents: ['perPage', 'sort', 'direction', 'next_page_cursor', 'prev_page_cursor'],
    countBatchReplayEvents: ['perPage', 'sort', 'direction', 'next_page_cursor', 'prev_page_cursor'],
    batchRetryEventDeliveries: ['perPage', 'sort', 'direction', 'next_page_cursor', 'prev_page_cursor'],
    listPortalLinks: ['q'],
    listProjects: ['orgID'],
    createProject: ['orgID'],
  };
  for (const [id, names] of Object.entries(known)) {
    const [, operation] = operations.find(([, { operationId }]) => operationId === id) ?? ['', {}];
    const declared = operation.parameters.map(({ name }: Json) => name);
    expect([id, declared]).toEqual([id, expect.arrayContaining(names)]);
  }
});

it('null occurs only together with another type', () => {
  for (const [at, schema] of schemasOf(document, '')) {
    if (at.endsWith('.properties')) continue;
    if (!/\.anyOf\.\d+$/.test(at)) expect([at, schema.type === 'null']).toEqual([at, false]);
    if (!Array.isArray(schema.anyOf)) continue;
    const others = schema.anyOf.filter(({ type }: Json) => type !== 'null');
    expect([
      at,
      others.every(
        (other: Json) => other.type !== undefined || other.$ref !== undefined || other.anyOf !== undefined,
      ),
    ]).toEqual([at, true]);
  }
});

it('each resource of the interface has a name', () => {
  const names =
    'Endpoint Event EventDelivery DeliveryAttempt Source Subscription Filter Project PortalLink EventType MetaEvent Job ApiKey AuditEntry';
  expect(Object.keys(document.components.schemas)).toEqual(expect.arrayContaining(names.split(' ')));
});

const JSON_TYPE = 'application/json';
const resolved = (schema: Json): Json =>
  schema?.$ref === undefined ? schema : document.components.schemas[schema.$ref.split('/').at(-1)];
const bodies: [string, Json][] = operations.flatMap(([name, { requestBody }]) =>
  requestBody === undefined ? [] : [[name, requestBody.content[JSON_TYPE].schema]],
);

/** The fields of a body by path, as far as the service looks into it for null. */
function* fieldsOf(schema: Json, at: string): Generator<[string, Json, boolean]> {
  const { properties = {}, required = [], items } = resolved(schema);
  for (const [name, field] of Object.entries<Json>(properties)) {
    yield [`${at}.${name}`, field, required.includes(name)];
    const [only, ...others] = (resolved(field).anyOf ?? [field]).filter(({ type }: Json) => type !== 'null');
    if (others.length === 0) yield* fieldsOf(only, `${at}.${name}`);
  }
  if (items !== undefined) yield* fieldsOf(items, `${at}[]`);
}

it('a field of a body may be null if it may be absent', () => {
  const isFreeForm = ({ type, anyOf }: Json): boolean => type === undefined && anyOf === undefined;
  const allowsNull = ({ anyOf = [] }: Json): boolean => anyOf.some(({ type }: Json) => type === 'null');
  const fields = bodies.flatMap(([name, schema]) => [...fieldsOf(schema, name)]);
  expect(fields.length).toBeGreaterThan(500);
  const wrong = fields.filter(([, field, isRequired]) => {
    const schema = resolved(field);
    return !isFreeForm(schema) && allowsNull(schema) === isRequired;
  });
  expect(wrong.map(([at]) => at)).toEqual([]);
});

it('bodies and results have names, and no object with several fields is written twice', () => {
  const isNamed = (schema: Json): boolean => schema?.properties === undefined;
  const unnamed = bodies.filter(([, schema]) => !isNamed(schema) || !isNamed(schema.items));
  expect(unnamed.map(([name]) => name)).toEqual([]);
  const places = new Map<string, string[]>();
  for (const [at, schema] of schemasOf(document, '')) {
    const names = Object.keys(schema.properties ?? {});
    // The envelope and the page have the names of what they contain.
    if (
      schema.type !== 'object' ||
      names.length < 4 ||
      names.includes('message') ||
      names.includes('pagination')
    )
      continue;
    const text = JSON.stringify(schema);
    places.set(text, [...(places.get(text) ?? []), at]);
  }
  expect([...places.values()].filter((found) => found.length > 1)).toEqual([]);
});

it('each operation says what it takes as a credential: a key, a session or nothing', () => {
  const securityOf = (operationId: string): Json => {
    const found = operations.find(([, operation]) => operation.operationId === operationId);
    return (found?.[1].security ?? document.security) as Json;
  };
  const wanted = (access: string, method: string): Json => {
    if (access === 'public') return [];
    if (access !== 'session') return [{ key: [] }];
    return [method === 'get' ? { session: [] } : { session: [], csrf: [] }];
  };
  for (const [name, { operationId, 'x-access': access }] of operations)
    expect([name, securityOf(operationId)]).toEqual([name, wanted(access, name.split(' ')[0] ?? '')]);
  expect(document.components.securitySchemes).toMatchObject({
    key: { in: 'header', name: 'Authorization' },
    session: { in: 'cookie', name: 'posthorn_session' },
    csrf: { in: 'header', name: 'X-Posthorn-Csrf' },
  });
});

it('a variant of a call has its own status and result', () => {
  const [, onboard] = operations.find(([, { operationId }]) => operationId === 'onboard')!;
  const resultOf = (status: number): Json =>
    onboard.responses[status].content[JSON_TYPE].schema.properties.data;
  expect(resultOf(200)).toEqual({ $ref: '#/components/schemas/OnboardCheck' });
  expect(resultOf(202)).toEqual({ $ref: '#/components/schemas/OnboardJob' });
});

it('the document stays small enough to read', () => {
  expect(text.length).toBeLessThan(700_000);
});

it('every operation has a case in test/support/operations, except reads that need nothing but ids', () => {
  const known = new Set(documented.map(({ caseId }) => caseId));
  expect(documented.filter(({ method, caseId }) => method !== 'GET' && !(caseId in cases))).toEqual([]);
  expect(Object.keys(cases).filter((id) => !known.has(id))).toEqual([]);
});
