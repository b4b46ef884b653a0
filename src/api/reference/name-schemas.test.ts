import { describe, expect, it } from 'vitest';
import { Type } from '../../platform/type.ts';
import { nameSchemas } from './name-schemas.ts';

const Secret = Type.Object({ value: Type.String() });
const Endpoint = Type.Object({
  url: Type.String(),
  secrets: Type.Array(Secret),
  headers: Type.Record(Type.String(), Type.String()),
});

const inDocument = (schema: object): object =>
  JSON.parse(
    JSON.stringify(schema).replaceAll(
      '"patternProperties":{"^.*$":{"type":"string"}}',
      '"additionalProperties":{"type":"string"}',
    ),
  );

describe('nameSchemas', () => {
  const document = {
    paths: { '/endpoints': { schema: inDocument(Endpoint) }, '/secrets': { schema: inDocument(Secret) } },
    components: { schemas: { Refusal: { type: 'object' } } },
  };
  const named = nameSchemas(document, { Endpoint, Secret });

  it('puts a reference where a named schema stood', () => {
    expect(named.paths['/endpoints'].schema).toEqual({ $ref: '#/components/schemas/Endpoint' });
    expect(named.paths['/secrets'].schema).toEqual({ $ref: '#/components/schemas/Secret' });
  });

  it('refers to named schemas inside named schemas', () => {
    const { Endpoint: endpoint } = named.components.schemas as unknown as Record<
      string,
      { properties: Record<string, object> }
    >;
    expect(endpoint?.properties['secrets']).toEqual({
      type: 'array',
      items: { $ref: '#/components/schemas/Secret' },
    });
  });

  it('keeps the components that are there', () => {
    expect(Object.keys(named.components.schemas)).toEqual(['Refusal', 'Endpoint', 'Secret']);
  });

  it('leaves a schema alone that differs from the named one', () => {
    const other = {
      components: {},
      paths: { a: { schema: { type: 'object', properties: { value: { type: 'number' } } } } },
    };
    expect(nameSchemas(other, { Secret }).paths).toEqual(other.paths);
  });
});
