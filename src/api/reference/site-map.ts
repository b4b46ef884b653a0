import { jsonSchema, type OpenApiDocument, type Operation, refName, type Schema } from './document.ts';

/** Operations that repeat others under the path of portal tokens. */
export const PORTAL = 'Portal';

/** Schemas of every operation. The start page describes them. */
export const COMMON = ['Refusal', 'Pagination', 'Warnings'];

export interface Route {
  method: string;
  path: string;
  operation: Operation;
  /** A few words for menus and headings. */
  title: string;
  href: string;
}

/** A page: the operations of one tag, and the schemas that belong to them. */
export interface Resource {
  name: string;
  /** The last part of the page's address. */
  slug: string;
  routes: Route[];
  schemas: string[];
}

/** The pages, and the place of everything on them. Each operation and each schema has one place. */
export interface SiteMap {
  document: OpenApiDocument;
  resources: Resource[];
  /** The address of each schema: its own section, or the operation whose body it is. */
  schemaLinks: ReadonlyMap<string, string>;
  /** Schemas that requests contain. */
  inputs: ReadonlySet<string>;
}

export function siteMapOf(document: OpenApiDocument): SiteMap {
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ method: method.toUpperCase(), path, operation })),
  );
  const groups = Map.groupBy(operations, ({ operation }) => operation.tags?.[0] ?? 'Other');
  const names = [...groups.keys()].filter((name) => name !== PORTAL);
  const resources = [...names, ...(groups.has(PORTAL) ? [PORTAL] : [])].map((name): Resource => {
    const slug = name.toLowerCase().replaceAll(/\W+/g, '-');
    const routes = (groups.get(name) ?? []).map((one) => ({
      ...one,
      title: titleOf(one.operation.operationId),
      href: `/docs/${slug}#${one.operation.operationId}`,
    }));
    return { name, slug, routes, schemas: [] };
  });
  const inputs = namesIn(
    document,
    operations.map(({ operation }) => operation.requestBody),
  );
  return { document, resources, schemaLinks: placeSchemas(document, resources), inputs };
}

/** `updateProjectByPost` is "Update project by POST". */
export function titleOf(operationId: string): string {
  const words = operationId
    .split(/(?<=[a-z])(?=[A-Z])/)
    .map((word) => (/^[A-Z]{2}/.test(word) ? word : word.toLowerCase()));
  const title = words.join(' ').replace(/ by post\b/, ' by POST');
  return title.charAt(0).toUpperCase() + title.slice(1);
}

/** Bodies are described at their operation. Others are on the page that is named after them, or else of their first use. */
function placeSchemas(document: OpenApiDocument, resources: Resource[]): Map<string, string> {
  const links = new Map(COMMON.map((name) => [name, `/docs#schema-${name}`]));
  for (const { href, operation } of resources.flatMap(({ routes }) => routes)) {
    const body = refName(jsonSchema(operation.requestBody) ?? {});
    if (body !== undefined && !links.has(body)) links.set(body, `${href}-body`);
  }
  const used = resources.map((resource) => ({ resource, names: namesIn(document, resource.routes) }));
  for (const { resource, names } of used)
    for (const name of names) {
      if (links.has(name)) continue;
      const plural = `${name.toLowerCase()}s`;
      const home = resources.find(({ slug }) => slug.replaceAll('-', '') === plural) ?? resource;
      home.schemas.push(name);
      links.set(name, `/docs/${home.slug}#schema-${name}`);
    }
  return links;
}

/** The schemas that a part of the document refers to, also through others. */
function namesIn(document: OpenApiDocument, part: unknown, found = new Set<string>()): Set<string> {
  if (typeof part !== 'object' || part === null) return found;
  const name = refName(part as Schema);
  if (name !== undefined && !found.has(name))
    namesIn(document, document.components?.schemas?.[name], found.add(name));
  for (const child of Object.values(part)) namesIn(document, child, found);
  return found;
}
