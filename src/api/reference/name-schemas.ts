import { isObject } from '../../platform/json/is-object.ts';

interface Operation {
  operationId?: string;
  requestBody?: Content;
  responses?: Record<string, Content>;
}
interface Content {
  content?: Record<string, { schema?: Inline }>;
}
interface Inline {
  type?: unknown;
  properties?: Record<string, Inline>;
}

/**
 * Moves every named schema into `components.schemas` and replaces it with a reference. The routes contain
 * whole schemas, so an unnamed document repeats `Endpoint` 34 times: 2.2 MB, and generated clients have no
 * types. The body and the result of an operation are named after it if they have no other name.
 */
export function nameSchemas<Document extends { components?: { schemas?: object }; paths?: object }>(
  document: Document,
  named: Record<string, object>,
): Document {
  const schemasByName = Object.entries(named).map(([name, schema]) => [name, asInDocument(schema)] as const);
  const names = new Map(schemasByName.map(([name, schema]) => [canonical(schema), name]));
  for (const [name, schema] of operationSchemas(document.paths ?? {})) {
    if (names.has(canonical(schema))) continue;
    names.set(canonical(schema), name);
    schemasByName.push([name, schema]);
  }
  const schemas = Object.fromEntries(
    schemasByName.map(([name, schema]) => [name, withReferences(schema, names)]),
  );
  const { components, ...rest } = document;
  return {
    ...(withReferences(rest, names) as Document),
    components: { ...components, schemas: { ...components?.schemas, ...schemas } },
  };
}

/** The objects that operations take and return. Pages have the names of their items. */
function operationSchemas(paths: object): [string, Inline][] {
  const operations = Object.values(paths).flatMap((item: object) => Object.values(item) as Operation[]);
  return operations.flatMap(({ operationId = '', requestBody, responses = {} }) => {
    const id = `${operationId.charAt(0).toUpperCase()}${operationId.slice(1)}`;
    const body = jsonOf(requestBody);
    const results = Object.values(responses).map((response) => jsonOf(response)?.properties?.['data']);
    const found: [string, Inline | undefined][] = [
      [`${id}Body`, body],
      ...results.map((result): [string, Inline | undefined] => [`${id}Result`, result]),
    ];
    return found.filter((entry): entry is [string, Inline] => isWhole(entry[1]));
  });
}

const jsonOf = (content: Content | undefined): Inline | undefined =>
  content?.content?.['application/json']?.schema;

const isWhole = (schema: Inline | undefined): boolean =>
  schema?.properties !== undefined && schema.properties['pagination'] === undefined;

/** Replaces every named schema inside a node, but not the node itself. */
function withReferences(node: unknown, names: ReadonlyMap<string, string>): unknown {
  if (Array.isArray(node)) return node.map((item) => referenceOr(item, names));
  if (typeof node !== 'object' || node === null) return node;
  return Object.fromEntries(Object.entries(node).map(([key, value]) => [key, referenceOr(value, names)]));
}

function referenceOr(node: unknown, names: ReadonlyMap<string, string>): unknown {
  const name = isObject(node) && 'type' in node ? names.get(canonical(node)) : undefined;
  return name === undefined ? withReferences(node, names) : { $ref: `#/components/schemas/${name}` };
}

/** A schema in the form of the document: a record's `patternProperties` become `additionalProperties`. */
function asInDocument(schema: object): unknown {
  return JSON.parse(JSON.stringify(schema), (_key, value: unknown) => {
    if (typeof value !== 'object' || value === null || !('patternProperties' in value)) return value;
    const { patternProperties, ...rest } = value;
    return { ...rest, additionalProperties: Object.values(patternProperties as object)[0] };
  });
}

/** The text of a JSON value with sorted keys, so that equal schemas have equal texts. */
function canonical(value: unknown): string {
  return JSON.stringify(value, (_key, inner: unknown) =>
    isObject(inner) ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1))) : inner,
  );
}
