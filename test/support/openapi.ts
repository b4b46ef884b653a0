import type { Json } from './client.ts';

const NAMED = '#/components/schemas/';

/** The OpenAPI document of a running service, with every reference to a named schema replaced by the schema. */
export async function fetchOpenApi(url: string): Promise<Json> {
  const document = (await (await fetch(`${url}/openapi.json`)).json()) as Json;
  return inlined(document, document.components.schemas);
}

function inlined(value: Json, schemas: Json): Json {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map((item) => inlined(item, schemas));
  if (typeof value.$ref === 'string' && value.$ref.startsWith(NAMED))
    return inlined(schemas[value.$ref.slice(NAMED.length)], schemas);
  return Object.fromEntries(
    Object.entries<Json>(value).map(([key, inner]) => [key, inlined(inner, schemas)]),
  );
}
