import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { listFields, queryInput, withBodyInputs } from '../../scripts/client-inputs.ts';
import { type Document, methodsOf } from '../../scripts/client-operations.ts';
import { declaration, typeText } from '../../scripts/client-types.ts';

const document = JSON.parse(
  readFileSync(join(import.meta.dirname, '../../openapi.json'), 'utf8'),
) as Document;
const methods = methodsOf(document);
const operations = Object.values(document.paths).flatMap((verbs) => Object.values(verbs));

describe('the methods of the client', () => {
  it('are one for each operation that is no second verb and no second path', () => {
    const ids = operations.map(({ operationId }) => operationId);
    // The stream is no JSON, and its method is written by hand.
    expect([...methods.map(({ id }) => id), 'streamProject'].sort()).toEqual(
      ids.filter((id) => !/(ByPost|InPortal)$/.test(id)).sort(),
    );
    for (const id of ids.filter((one) => one.endsWith('ByPost')))
      expect(ids).toContain(id.replace('ByPost', ''));
  });

  it('have names of their own', () => {
    const names = methods.map(({ resource, name }) => `${resource}.${name}`);
    expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([]);
    expect(names.filter((name) => !/^[A-Z]\w+\.[a-z]\w*$/.test(name))).toEqual([]);
  });

  it('take and return the same in a portal', () => {
    const withoutProject = (text: string) =>
      text.replace(/\{"schema":\{"type":"string"\},"in":"path","name":"projectID","required":true\},?/, '');
    const shape = ({ requestBody, parameters = [], responses }: (typeof operations)[number]) =>
      withoutProject(JSON.stringify([requestBody, parameters, responses])).replaceAll(',]', ']');
    const byId = new Map(operations.map((operation) => [operation.operationId, operation]));
    const pairs = [...byId].filter(([id]) => id.endsWith('InPortal'));
    expect(pairs.length).toBeGreaterThan(30);
    for (const [id, inPortal] of pairs)
      expect(`${id} ${shape(inPortal)}`).toBe(`${id} ${shape(byId.get(id.replace('InPortal', ''))!)}`);
  });

  it('are repeated only where a second execution changes nothing', () => {
    const repeatable = methods.filter(({ verb, isRepeatable }) => isRepeatable && verb !== 'GET');
    expect(repeatable.map(({ id }) => id).sort()).toEqual([
      'broadcastEvent',
      'createEvent',
      'dynamicEvent',
      'fanoutEvent',
      'previewSubscription',
      'testFilter',
      'testSourceConnection',
      'testSourceFunction',
      'testSubscriptionFunction',
      'tryFilters',
      'updateAccount',
      'updateEndpoint',
      'updateEventType',
      'updateFilter',
      'updateFilters',
      'updateMe',
      'updatePortalLink',
      'updateProject',
      'updateSource',
      'updateSubscription',
    ]);
  });
});

describe('a schema as TypeScript', () => {
  it.each([
    [{ type: 'integer' }, 'number'],
    [{ type: ['string', 'null'] }, 'string | null'],
    [{ enum: ['a', ''] }, '"a" | ""'],
    [{ type: 'array', items: { type: 'string' } }, 'string[]'],
    [{ type: 'array', items: { anyOf: [{ type: 'string' }, { type: 'null' }] } }, 'Array<string | null>'],
    [{ $ref: '#/components/schemas/Event' }, 'Event'],
    [{ type: 'object' }, 'Record<string, unknown>'],
    [{ type: 'object', additionalProperties: { type: 'string' } }, 'Record<string, string>'],
    [{}, 'unknown'],
    [{ anyOf: [{ type: 'object' }, { type: 'null' }], description: 'Always null.' }, 'null'],
  ])('%j is %s', (schema, text) => {
    expect(typeText(schema)).toBe(text);
  });

  it('has the descriptions as comments', () => {
    const properties = { 'a-b': { type: 'string', description: 'One */ two.' }, c: {} };
    expect(
      declaration('Thing', { type: 'object', properties, required: ['c'], description: 'A thing.' }),
    ).toBe(
      '/** A thing. */\nexport interface Thing {\n/** One *\\/ two. */\n"a-b"?: string;\nc: unknown;\n}\n',
    );
  });

  it('extends the bases whose fields it has, and repeats those of another type', () => {
    const text = { type: 'string' };
    const thing = { type: 'object', properties: { uid: text, size: text }, required: ['uid'] };
    const page = { type: 'object', properties: { page: text } };
    const bases = { Thing: thing, Page: page, Other: { type: 'object', properties: { else: text } } };
    const of = (properties: object) => ({ type: 'object', properties, required: ['uid'] }) as object;
    const all = { ...thing.properties, ...page.properties };
    expect(declaration('Listed', of(all), bases)).toBe('export type Listed = Thing & Page;\n');
    expect(declaration('Big', of({ ...thing.properties, size: { const: 'l' }, n: text }), bases)).toBe(
      'export interface Big extends Thing {\nsize?: "l";\nn?: string;\n}\n',
    );
    expect(declaration('Thing', thing, bases)).toBe(
      'export interface Thing {\nuid: string;\nsize?: string;\n}\n',
    );
  });

  it('has a name that no other type has', () => {
    const types = readFileSync(join(import.meta.dirname, '../../client/src/generated/types.ts'), 'utf8');
    const names = [...types.matchAll(/^export (?:interface|type) (\w+)/gm)].map(([, name]) => name);
    expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([]);
  });

  it('is refused with a keyword that would be lost', () => {
    expect(() => typeText({ not: {} } as object)).toThrow('the keyword not');
    expect(() => typeText({ type: 'tuple' })).toThrow('the type tuple');
  });
});

describe('the inputs of the client', () => {
  const ref = (name: string) => ({ $ref: `#/components/schemas/${name}` });
  const time = { type: 'string', format: 'date-time' };
  const ids = { type: 'array', items: { type: 'string' } };
  const inputs = withBodyInputs({
    paths: {
      '/a': {
        post: {
          requestBody: { content: { 'application/json': { schema: ref('Body') } } },
          responses: { 200: { content: { 'application/json': { schema: ref('Answer') } } } },
        },
      },
    },
    components: {
      schemas: {
        Body: { properties: { inner: ref('Inner'), both: ref('Both'), ids } },
        Inner: {
          properties: { expires_at: { anyOf: [time, { type: 'null' }] }, enabled_at: {}, names: ids },
        },
        Both: { properties: { at: time } },
        Answer: { properties: { both: ref('Both'), at: time, ids } },
      },
    },
  } as unknown as Document);
  const fields = (name: string) =>
    Object.entries(inputs.components.schemas[name]!.properties ?? {}).map(
      ([field, schema]) => `${field}: ${typeText(schema)}`,
    );

  it('take a Date for a time and one id for a list; answers stay as they are', () => {
    expect(fields('Body')).toEqual(['inner: Inner', 'both: Both', 'ids: string | string[]']);
    expect(fields('Inner')).toEqual([
      'expires_at: string | Date | null',
      'enabled_at: unknown | Date',
      'names: string[]',
    ]);
    expect(fields('Both')).toEqual(['at: string']);
    expect(fields('Answer')).toEqual(['both: Both', 'at: string', 'ids: string[]']);
    expect(listFields(inputs, ref('Body'))).toEqual(['ids']);
  });

  it('of a query too', () => {
    const properties = {
      startDate: { type: 'string' },
      endpointId: ids,
      ownerId: { type: 'string' },
      status: ids,
    };
    const query = queryInput({ type: 'object', properties });
    expect(Object.values(query.properties ?? {}).map(typeText)).toEqual([
      'string | Date',
      'string | string[]',
      'string',
      'string[]',
    ]);
  });
});
