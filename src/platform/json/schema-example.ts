/** The part of JSON Schema that examples and types are made from. */
export interface JsonSchema {
  type?: string | string[];
  properties?: Record<string, JsonSchema>;
  required?: string[];
  items?: JsonSchema | JsonSchema[];
  prefixItems?: JsonSchema[];
  minItems?: number;
  minLength?: number;
  minimum?: number;
  exclusiveMinimum?: number;
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

/** Schemas may refer to themselves, in many places. */
const DEEPEST = 20;
const MOST_VALUES = 2_000;
const LONGEST = 100;

interface Making {
  root: JsonSchema;
  depth: number;
  /** Values made so far, in all. */
  made: { count: number };
}

/** A value that the schema describes: its own example if it has one. */
export function exampleOf(schema: JsonSchema, root: JsonSchema = schema): unknown {
  return make(schema, { root, depth: 0, made: { count: 0 } });
}

function make(schema: JsonSchema, making: Making): unknown {
  // `true` and `false` are schemas too.
  if (typeof schema !== 'object' || schema === null) return null;
  const { example, examples, default: usual, const: only, enum: allowed } = schema;
  const given = [example, examples?.[0], usual, only, allowed?.[0]].find((value) => value !== undefined);
  if (given !== undefined) return given;
  making.made.count += 1;
  if (making.depth > DEEPEST || making.made.count > MOST_VALUES) return null;
  const inner = (one: JsonSchema) => make(one, { ...making, depth: making.depth + 1 });
  if (schema.$ref !== undefined) return inner(referred(making.root, schema.$ref));
  const choice = schema.anyOf?.[0] ?? schema.oneOf?.[0];
  if (choice !== undefined) return inner(choice);
  if (schema.allOf !== undefined) {
    const own = schema.properties === undefined ? {} : exampleOfType(schema, inner);
    return Object.assign({}, ...schema.allOf.map((one) => inner(one) as object), own) as unknown;
  }
  return exampleOfType(schema, inner);
}

function exampleOfType(schema: JsonSchema, inner: (one: JsonSchema) => unknown): unknown {
  const type = [schema.type ?? (schema.properties === undefined ? 'string' : 'object')].flat()[0];
  if (type === 'object')
    return Object.fromEntries(
      Object.entries(schema.properties ?? {}).map(([name, one]) => [name, inner(one)]),
    );
  if (type === 'array') return exampleList(schema, inner);
  if (type === 'integer' || type === 'number')
    return Math.max(1, schema.minimum ?? 1, (schema.exclusiveMinimum ?? 0) + 1);
  if (type === 'boolean') return true;
  if (type === 'null') return null;
  return exampleText(schema);
}

function exampleList({ items, prefixItems, minItems = 1 }: JsonSchema, inner: (one: JsonSchema) => unknown) {
  const first = [prefixItems ?? (Array.isArray(items) ? items : [])].flat();
  const rest =
    items === undefined || Array.isArray(items) ? [] : Array(least(minItems - first.length)).fill(items);
  return [...first, ...(rest as JsonSchema[])].map(inner);
}

const least = (count: number): number => Math.min(LONGEST, Math.max(1, count));

const TEXTS: Readonly<Record<string, string>> = {
  'date-time': '2026-01-31T12:00:00Z',
  date: '2026-01-31',
  time: '12:00:00Z',
  email: 'ann@example.com',
  uri: 'https://example.com/',
  uuid: '3f2f4c1e-8f4b-4f7d-9b0a-2f6f6a1c5d3e',
};

function exampleText({ format = '', minLength = 0 }: JsonSchema): string {
  return TEXTS[format] ?? 'text'.padEnd(Math.min(minLength, LONGEST), '.');
}

/** Only references within the schema: #/$defs/name, or another place by its pointer. */
export function referred(root: JsonSchema, reference: string): JsonSchema {
  if (!reference.startsWith('#')) return {};
  let place: unknown = root;
  for (const part of reference.slice(1).split('/').slice(1)) {
    const name = part.replaceAll('~1', '/').replaceAll('~0', '~');
    const isKnown = typeof place === 'object' && place !== null && Object.hasOwn(place, name);
    place = isKnown ? (place as Record<string, unknown>)[name] : undefined;
  }
  return (place ?? {}) as JsonSchema;
}
