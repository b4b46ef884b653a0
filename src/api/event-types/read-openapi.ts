import { parse as parseYaml } from 'yaml';
import { invalid } from '../../domain/errors.ts';
import { isObject } from '../../platform/json/is-object.ts';
import type { EventTypeDescription } from '../../store/config/event-types.ts';

/**
 * The event types of an OpenAPI document: its `webhooks` (or `x-webhooks`), or, if it has neither, the POST
 * operations marked as a webhook. A schema keeps its references. The components it reaches are copied to the
 * same place, so that the references stay valid. Only references within the document are allowed: nothing is
 * fetched.
 */
type Json = Record<string, unknown>;

const MAX_TYPES = 1_000;
const MAX_NAME_CHARS = 256;
/** A component, or a part of one. */
const COMPONENT = /^#\/components\/schemas\/([^/]+)(?:\/.*)?$/;

export function readOpenApi(spec: string): EventTypeDescription[] {
  const document = parse(spec);
  const operations = webhookOperations(document);
  const named = operations.length > 0 ? operations : postOperations(document);
  if (named.length === 0) throw invalid('spec', 'has no webhooks');
  if (named.length > MAX_TYPES) throw invalid('spec', `has more than ${MAX_TYPES} webhooks`);
  const types = new Map(named.map(([name, operation]) => [name, describe(name, operation, document)]));
  return [...types.values()];
}

function parse(spec: string): Json {
  let document: unknown;
  try {
    const parsed: unknown = spec.trimStart().startsWith('{') ? JSON.parse(spec) : parseYaml(spec);
    // YAML may contain dates and recursive values. From here on it is JSON, or an error.
    document = JSON.parse(JSON.stringify(parsed) ?? 'null');
  } catch (error) {
    const [line = ''] = (error as Error).message.split('\n');
    throw invalid('spec', `is neither valid JSON nor valid YAML: ${line}`);
  }
  if (!isObject(document) || !('openapi' in document || 'swagger' in document))
    throw invalid('spec', 'is not an OpenAPI document');
  return document;
}

function webhookOperations(document: Json): [string, Json][] {
  const webhooks = isObject(document['webhooks']) ? document['webhooks'] : document['x-webhooks'];
  return entries(webhooks).flatMap(([name, item]) =>
    isObject(item['post']) ? [[name, item['post']] as [string, Json]] : [],
  );
}

function postOperations(document: Json): [string, Json][] {
  return entries(document['paths']).flatMap(([path, item]) => {
    const operation = item['post'];
    if (!isObject(operation)) return [];
    const { operationId, summary, tags } = operation;
    const words = [path, operationId, summary, ...(Array.isArray(tags) ? (tags as unknown[]) : [])];
    if (!words.some((word) => typeof word === 'string' && /webhook/i.test(word))) return [];
    return [[text(operationId) || path.replace(/^\/+/, ''), operation] as [string, Json]];
  });
}

function describe(name: string, operation: Json, document: Json): EventTypeDescription {
  if (name === '' || name.length > MAX_NAME_CHARS)
    throw invalid('spec', `the webhook name "${name.slice(0, 50)}" is empty or too long`);
  const [tag] = Array.isArray(operation['tags']) ? (operation['tags'] as unknown[]) : [];
  return {
    name,
    category: text(tag).slice(0, 256),
    description: (text(operation['description']) || text(operation['summary'])).slice(0, 10_000),
    json_schema: schemaOf(name, operation, document),
  };
}

function schemaOf(name: string, operation: Json, document: Json): Json | null {
  const schema = at(operation, 'requestBody', 'content', 'application/json', 'schema');
  if (!isObject(schema)) return null;
  const components: Json = {};
  const known = at(document, 'components', 'schemas');
  const pending: unknown[] = [schema];
  while (pending.length > 0) {
    for (const reference of references(pending.pop())) {
      const component = COMPONENT.exec(reference)?.[1]?.replaceAll('~1', '/').replaceAll('~0', '~');
      const target = component === undefined ? undefined : at(known, component);
      if (component === undefined || !isObject(target))
        throw invalid(
          'spec',
          `webhook ${name}: the reference ${reference.slice(0, 200)} does not exist in this document`,
        );
      if (Object.hasOwn(components, component)) continue;
      Object.defineProperty(components, component, { value: target, enumerable: true });
      pending.push(target);
    }
  }
  return Object.keys(components).length === 0 ? schema : { ...schema, components: { schemas: components } };
}

/** Every `$ref` below a value. It uses a list instead of recursion, because a document may nest deeply. */
function references(root: unknown): string[] {
  const found: string[] = [];
  const pending: unknown[] = [root];
  while (pending.length > 0) {
    const value = pending.pop();
    if (typeof value !== 'object' || value === null) continue;
    for (const [key, child] of Object.entries(value)) {
      if (key === '$ref' && typeof child === 'string') found.push(child);
      else pending.push(child);
    }
  }
  return found;
}

function at(root: unknown, ...path: string[]): unknown {
  let value = root;
  for (const key of path) value = isObject(value) && Object.hasOwn(value, key) ? value[key] : undefined;
  return value;
}

function entries(value: unknown): [string, Json][] {
  return isObject(value)
    ? Object.entries(value).filter((entry): entry is [string, Json] => isObject(entry[1]))
    : [];
}

const text = (value: unknown): string => (typeof value === 'string' ? value : '');
