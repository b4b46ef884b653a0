import type { TSchema, Type as TypeBox } from 'typebox';

/**
 * The builders of typebox that schemas here use, with its types. They return the same JSON Schemas, as type.test.ts shows.
 * typebox itself is 373 files, which took a fifth of the CPU time of a start to load.
 *
 * `Optional` marks a copy of a schema with a property that is not enumerable, so that no reader of the schema sees it.
 */
type Built = Pick<
  typeof TypeBox,
  | 'Array'
  | 'Boolean'
  | 'Integer'
  | 'Literal'
  | 'Null'
  | 'Number'
  | 'Object'
  | 'Omit'
  | 'Optional'
  | 'Partial'
  | 'Record'
  | 'Required'
  | 'String'
  | 'Union'
  | 'Unknown'
  | 'Unsafe'
>;
type Schema = Record<string, unknown>;
type Properties = Record<string, Schema>;

const OPTIONAL = Symbol('optional');

const withMark = (schema: Schema, isOptional: boolean): Schema =>
  Object.defineProperty({ ...schema }, OPTIONAL, { value: isOptional, enumerable: false });

const plain =
  (type: string) =>
  (options?: Schema): Schema => ({ type, ...options });

function object(properties: Properties, options?: Schema): Schema {
  const required = Object.keys(properties).filter(
    (name) => (properties[name] as { [OPTIONAL]?: boolean })[OPTIONAL] !== true,
  );
  return { type: 'object', ...(required.length > 0 && { required }), properties, ...options };
}

/** The options of the given schema are dropped, as typebox does. */
const marked = (isOptional: boolean) => (schema: { properties: Properties }, options?: Schema) =>
  object(
    Object.fromEntries(
      Object.entries(schema.properties).map(([name, property]) => [name, withMark(property, isOptional)]),
    ),
    options,
  );

function omit(schema: { properties: Properties }, names: readonly string[], options?: Schema): Schema {
  const kept = Object.entries(schema.properties).filter(([name]) => !names.includes(name));
  return object(Object.fromEntries(kept), options);
}

const builders: Record<keyof Built, (...args: never[]) => Schema> = {
  Array: (items: Schema, options?: Schema) => ({ type: 'array', items, ...options }),
  Boolean: plain('boolean'),
  Integer: plain('integer'),
  Literal: (value: string | number | boolean, options?: Schema) => ({
    type: typeof value,
    const: value,
    ...options,
  }),
  Null: plain('null'),
  Number: plain('number'),
  Object: object,
  Omit: omit,
  Optional: (schema: Schema) => withMark(schema, true),
  Partial: marked(true),
  Record: (_key: Schema, value: Schema, options?: Schema) => ({
    type: 'object',
    patternProperties: { '^.*$': value },
    ...options,
  }),
  Required: marked(false),
  String: plain('string'),
  Union: (anyOf: Schema[], options?: Schema) => ({ anyOf, ...options }),
  Unknown: (options?: Schema) => ({ ...options }),
  Unsafe: (schema: Schema) => ({ ...schema }),
};

export const Type = builders as unknown as Built;

export const oneOf = <T extends string>(values: readonly T[], description?: string) =>
  Type.Unsafe<T>({ type: 'string', enum: [...values], ...(description !== undefined && { description }) });

export const Text = (maxLength: number, description?: string) =>
  Type.String({ maxLength, ...(description !== undefined && { description }) });

export const RequiredText = (maxLength: number, description?: string) =>
  Type.String({ minLength: 1, maxLength, ...(description !== undefined && { description }) });

export const nullable = <S extends TSchema>(schema: S, description?: string) =>
  Type.Union([schema, Type.Null()], description === undefined ? {} : { description });

/** Marks a branch of a schema that the server takes and the OpenAPI document does not have. */
export const UNDECLARED = 'not in the OpenAPI document';

/** One of several kinds of settings, which stand under the name of the kind. */
export type Chosen<Kinds> = {
  [Kind in keyof Kinds]: { type: Kind } & Record<Kind, Kinds[Kind]>;
}[keyof Kinds];

const KEPT = new Set(['type', 'anyOf', 'enum', 'const', 'format', 'required']);

/** The schema of an answer with the fields of a request: without their limits and descriptions. */
export function answered<S extends TSchema>(schema: S): S {
  const { properties, patternProperties, items } = schema as {
    properties?: Record<string, TSchema>;
    patternProperties?: Record<string, TSchema>;
    items?: TSchema;
  };
  const each = (fields: Record<string, TSchema>) =>
    Object.fromEntries(Object.entries(fields).map(([name, field]) => [name, answered(field)]));
  return {
    ...Object.fromEntries(Object.entries(schema).filter(([name]) => KEPT.has(name))),
    ...(items && { items: answered(items) }),
    ...(properties && { properties: each(properties) }),
    ...(patternProperties && { patternProperties: each(patternProperties) }),
  } as unknown as S;
}
