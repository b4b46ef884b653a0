import type { Document } from './client-operations.ts';
import type { JsonSchema } from './client-types.ts';

/**
 * The client takes more than the interface, where that is plain: a `Date` for a time, and one string for a list of ids.
 * It sends the form of the interface (`client/src/request.ts`, `asLists` of `client/src/resource.ts`). The types of
 * answers stay as they are.
 */
const NAMED = '#/components/schemas/';
const DATE: JsonSchema = { $ref: `${NAMED}Date` };
/** The parameters and fields that take a time and have no format, because they take other forms too. */
const TIMES = new Set(['startDate', 'endDate', 'enabled_at']);
/** The fields of bodies that are lists of ids. */
const ID_LISTS = new Set(['ids', 'endpoints']);

/** The document with wider bodies. A schema that is part of an answer too stays as it is. */
export function withBodyInputs(document: Document): Document {
  const { schemas } = document.components;
  const operations = Object.values(document.paths).flatMap((verbs) => Object.values(verbs));
  const bodies = namesIn(
    operations.map(({ requestBody }) => requestBody),
    schemas,
  );
  const answers = namesIn(
    operations.map(({ responses }) => responses),
    schemas,
  );
  for (const name of bodies) if (!answers.has(name)) schemas[name] = wider(schemas[name]!);
  return document;
}

/** The schemas that some parts of the document name, and those that these name. */
function namesIn(parts: unknown[], schemas: Record<string, JsonSchema>): Set<string> {
  const directly = (part: unknown) =>
    [...JSON.stringify(part ?? null).matchAll(/"#\/components\/schemas\/(\w+)"/g)].map((found) => found[1]!);
  const names = new Set(parts.flatMap(directly));
  for (const name of names) for (const inner of directly(schemas[name])) names.add(inner);
  return names;
}

/** The parameters of an operation. */
export function queryInput(query: JsonSchema): JsonSchema {
  const properties = Object.entries(query.properties ?? {}).map(([name, schema]) => {
    if (TIMES.has(name)) return [name, or(schema, DATE)];
    return [name, name.endsWith('Id') ? listed(schema) : schema];
  });
  return { ...query, properties: Object.fromEntries(properties) as Record<string, JsonSchema> };
}

/** The fields of a body that `asLists` makes lists. */
export function listFields(document: Document, body: JsonSchema): string[] {
  const { properties = {} } = document.components.schemas[body.$ref?.slice(NAMED.length) ?? ''] ?? body;
  return Object.keys(properties).filter((name) => ID_LISTS.has(name));
}

function wider(schema: JsonSchema & { format?: string }): JsonSchema {
  if (schema.format === 'date-time') return or(schema, DATE);
  const { properties, items, anyOf } = schema;
  const field = ([name, inner]: [string, JsonSchema]) => {
    if (TIMES.has(name)) return [name, or(inner, DATE)] as const;
    return [name, ID_LISTS.has(name) ? listed(inner) : wider(inner)] as const;
  };
  return {
    ...schema,
    ...(properties && { properties: Object.fromEntries(Object.entries(properties).map(field)) }),
    ...(items && { items: wider(items) }),
    ...(anyOf && { anyOf: anyOf.map(wider) }),
  };
}

/** A list, or one that may be null. */
function listed(schema: JsonSchema): JsonSchema {
  if (schema.type === 'array') return or(schema.items ?? {}, schema);
  return schema.anyOf === undefined ? schema : { ...schema, anyOf: schema.anyOf.map(listed) };
}

const or = (one: JsonSchema, other: JsonSchema): JsonSchema => {
  const description = one.description ?? other.description;
  return { anyOf: [one, other], ...(description !== undefined && { description }) };
};
