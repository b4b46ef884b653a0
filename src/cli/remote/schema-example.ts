/** The part of JSON Schema that examples and types are made from. */
export interface JsonSchema {
  type?: string | string[];
  properties?: Record<string, JsonSchema>;
  required?: string[];
  items?: JsonSchema | JsonSchema[];
  enum?: unknown[];
  const?: unknown;
  default?: unknown;
  example?: unknown;
  examples?: unknown[];
  anyOf?: JsonSchema[];
  oneOf?: JsonSchema[];
  allOf?: JsonSchema[];
  additionalProperties?: boolean | JsonSchema;
  description?: string;
  format?: string;
  nullable?: boolean;
  $ref?: string;
  $defs?: Record<string, JsonSchema>;
  definitions?: Record<string, JsonSchema>;
}

/** Schemas may refer to themselves. */
const DEEPEST = 20;

/** A value that the schema describes: its own example if it has one. */
export function exampleOf(schema: JsonSchema, root: JsonSchema = schema, depth = 0): unknown {
  const { example, examples, default: usual, const: only, enum: allowed } = schema;
  const given = [example, examples?.[0], usual, only, allowed?.[0]].find((value) => value !== undefined);
  if (given !== undefined) return given;
  if (depth > DEEPEST) return null;
  const inner = (one: JsonSchema) => exampleOf(one, root, depth + 1);
  if (schema.$ref !== undefined) return inner(referred(root, schema.$ref));
  const choice = schema.anyOf?.[0] ?? schema.oneOf?.[0];
  if (choice !== undefined) return inner(choice);
  if (schema.allOf !== undefined)
    return Object.assign({}, ...schema.allOf.map((one) => inner(one) as object)) as unknown;
  return exampleOfType(schema, inner);
}

function exampleOfType(schema: JsonSchema, inner: (one: JsonSchema) => unknown): unknown {
  const type = [schema.type ?? (schema.properties === undefined ? 'string' : 'object')].flat()[0];
  if (type === 'object')
    return Object.fromEntries(
      Object.entries(schema.properties ?? {}).map(([name, one]) => [name, inner(one)]),
    );
  if (type === 'array') return schema.items === undefined ? [] : [schema.items].flat().map(inner);
  if (type === 'integer' || type === 'number') return 1;
  if (type === 'boolean') return true;
  if (type === 'null') return null;
  return schema.format === 'date-time' ? '2026-01-31T12:00:00Z' : 'text';
}

/** Only references within the schema: #/$defs/name. */
export function referred(root: JsonSchema, reference: string): JsonSchema {
  const [, place, name = ''] = /^#\/(\$defs|definitions)\/(.+)$/.exec(reference) ?? [];
  if (place === undefined) return {};
  return root[place as '$defs' | 'definitions']?.[name] ?? {};
}
