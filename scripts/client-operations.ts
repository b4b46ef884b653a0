import { queryInput } from './client-inputs.ts';
import { isAlwaysNull, type JsonSchema } from './client-types.ts';

/** The operations of the API as methods of the client: their names, parameters and results. */
interface Parameter {
  name: string;
  in: 'path' | 'query' | 'header';
  required?: boolean;
  description?: string;
  schema: JsonSchema;
}

interface DocumentOperation {
  operationId: string;
  'x-access': string;
  summary: string;
  tags: [string];
  parameters?: Parameter[];
  requestBody?: { content: Record<string, { schema: JsonSchema }> };
  responses: Record<string, { content: Record<string, { schema: JsonSchema }> }>;
}

export interface Document {
  paths: Record<string, Record<string, DocumentOperation>>;
  components: { schemas: Record<string, JsonSchema> };
}

/** The result of a method: `data`, all pages, the job that it started, or `data` with further fields. */
type Result =
  | { kind: 'data' | 'list' | 'job' | 'event'; schema: JsonSchema }
  | { kind: 'answer'; schema: JsonSchema };

export interface Method {
  id: string;
  /** The right that it needs of a key or a person: a role, or another kind of access. */
  access: string;
  /** The name of its class. */
  resource: string;
  name: string;
  summary: string;
  verb: string;
  path: string;
  pathParameters: string[];
  query: JsonSchema | undefined;
  body: JsonSchema | undefined;
  result: Result;
  /** A second execution changes nothing. */
  isRepeatable: boolean;
  /** It takes an Idempotency-Key, and so creates once however often it is sent. */
  creates: boolean;
  /** Portal links may call it, under /portal-api. */
  isInPortal: boolean;
}

const PROJECT = '/api/v1/projects/{projectID}';
const PORTAL = '/portal-api';

/** Method names that the rule of `methodName` does not give. */
const NAMES: Record<string, string> = {
  createFilters: 'createMany',
  updateFilters: 'updateMany',
  testOAuth2: 'testOAuth2',
  getOwnPortalLink: 'getLink',
};

/** Calls besides GET, DELETE and updates that can be sent twice: each leaves things as they are. */
const REPEATABLE = new Set([
  'testFilter',
  'tryFilters',
  'previewSubscription',
  'testSubscriptionFunction',
  'testSourceFunction',
  'testSourceConnection',
]);

const EVENTS = new Set(['createEvent', 'fanoutEvent', 'broadcastEvent', 'dynamicEvent']);

export function methodsOf(document: Document): Method[] {
  const routes = Object.entries(document.paths).flatMap(([path, verbs]) =>
    Object.entries(verbs).map(([verb, operation]) => ({ path, verb: verb.toUpperCase(), operation })),
  );
  const inPortal = new Set(
    routes.map(({ operation }) => operation.operationId).filter((id) => id.endsWith('InPortal')),
  );
  // A second verb of the same operation, for clients of Convoy, needs no second method.
  return (
    routes
      .filter(({ operation: { operationId } }) => !/(InPortal|ByPost)$/.test(operationId))
      // The stream has a method of its own (client/src/stream.ts).
      .filter(({ operation: { responses } }) => isJson(responses))
      .map(({ path, verb, operation }) => ({
        id: operation.operationId,
        access: operation['x-access'],
        resource: className(operation.tags[0]),
        name: methodName(operation.operationId, operation.tags[0]),
        summary: operation.summary,
        verb,
        path,
        pathParameters: [...path.replace(`${PROJECT}/`, '').matchAll(/\{(\w+)\}/g)].map((found) => found[1]!),
        // Their parameters are for CloudEvents, which have clients of their own.
        query: EVENTS.has(operation.operationId) ? undefined : querySchema(operation),
        body: operation.requestBody?.content['application/json']?.schema,
        result: resultOf(operation),
        isRepeatable:
          operation.operationId.startsWith('update') ||
          EVENTS.has(operation.operationId) ||
          REPEATABLE.has(operation.operationId),
        creates: operation.parameters?.some(({ name }) => name === 'Idempotency-Key') ?? false,
        isInPortal: inPortal.has(`${operation.operationId}InPortal`) || path.startsWith(`${PORTAL}/`),
      }))
  );
}

function isJson(responses: DocumentOperation['responses']): boolean {
  return Object.values(responses).every(({ content }) => content?.['text/event-stream'] === undefined);
}

/** `Event types` is the class `EventTypes`. */
export const className = (tag: string): string =>
  tag.replaceAll(/ (\w)/g, (_space, letter: string) => letter.toUpperCase());

/** `updateEndpoint` is `update` of `Endpoints`: the noun of the resource is left out. */
function methodName(id: string, tag: string): string {
  if (Object.hasOwn(NAMES, id)) return NAMES[id]!;
  const plural = className(tag);
  const singular = plural.replace(/ies$/, 'y').replace(/s$/, '');
  const rest = id.replace(new RegExp(`(?<=[a-z])(${plural}|${singular})(?![a-z])`), '');
  return rest;
}

/** The client reads the envelope, and there are no organisations. */
const NOT_OURS = new Set(['bare', 'orgID']);

function querySchema({ parameters = [] }: DocumentOperation): JsonSchema | undefined {
  const query = parameters.filter((parameter) => parameter.in === 'query' && !NOT_OURS.has(parameter.name));
  if (query.length === 0) return undefined;
  return queryInput({
    type: 'object',
    required: query.filter(({ required }) => required === true).map(({ name }) => name),
    properties: Object.fromEntries(
      query.map(({ name, description, schema }) => [
        name,
        description === undefined ? schema : { ...schema, description },
      ]),
    ),
  });
}

function resultOf({ operationId, responses }: DocumentOperation): Result {
  const successes = Object.entries(responses).filter(([status]) => status.startsWith('2'));
  const envelopes = successes.map(([, { content }]) => content['application/json']!.schema.properties!);
  const { status: _status, message: _message, warnings: _warnings, data: first, ...beside } = envelopes[0]!;
  const data = envelopes.length === 1 ? first : { anyOf: envelopes.map((envelope) => envelope['data']!) };
  if (data === undefined) throw new Error(`${operationId} has no data`);
  if (EVENTS.has(operationId)) return { kind: 'event', schema: eventOf(responses) };
  if (data.properties?.['pagination'] !== undefined)
    return { kind: 'list', schema: data.properties['content']!.items! };
  if (beside['job'] !== undefined && isAlwaysNull(data)) return { kind: 'job', schema: beside['job'] };
  if (Object.keys(beside).length === 0) return { kind: 'data', schema: data };
  const properties = { data, ...beside };
  return { kind: 'answer', schema: { type: 'object', properties, required: ['data'] } };
}

/** An event alone. The other answers are those of batches of CloudEvents. */
const eventOf = (responses: DocumentOperation['responses']): JsonSchema =>
  responses['201']!.content['application/json']!.schema.properties!['data']!;
