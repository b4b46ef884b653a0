import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import type { TObject } from 'typebox';
import { deliveryFilterQuery } from '../src/api/deliveries/delivery-filter.ts';
import { eventFilterQuery } from '../src/api/events/event-filter.ts';
import { dateQuery, pageQuery, Time } from '../src/api/http/fields.ts';
import { jobQuery } from '../src/api/jobs/dry-run.ts';
import { nameSchemas } from '../src/api/reference/name-schemas.ts';
import { DATABASE_FAULTS, errorTable } from '../src/domain/errors.ts';
import { roles } from '../src/domain/role.ts';
import { Type } from '../src/platform/type.ts';
import { listFields, queryInput, withBodyInputs } from './client-inputs.ts';
import { type Document, type Method, methodsOf } from './client-operations.ts';
import { comment, declaration, type JsonSchema, typeText } from './client-types.ts';
import { makeOpenApi } from './make-openapi.ts';

/**
 * The generated part of the client: the types of the interface, one class per resource with one method per
 * operation, and the error codes. It is made from the OpenAPI document of the real routes.
 */
const ROOT = join(import.meta.dirname, '..');
const HEAD = '// Made from the routes of the server by `npm run generate`. Changes here are lost.\n';

const query = (parameters: TObject['properties']): JsonSchema =>
  queryInput(Type.Object(parameters) as JsonSchema);

/** The parameters that several operations have. */
const sharedQueries: Record<string, JsonSchema> = {
  DeliveryFilterQuery: query(deliveryFilterQuery),
  EventFilterQuery: query(eventFilterQuery),
  JobQuery: query(jobQuery),
  PageQuery: query(pageQuery),
  DateQuery: query(dateQuery),
};

/** The types that others extend, those with more fields first. */
const BASES = [
  'Person',
  'ApiKey',
  'DeliveryAttempt',
  'EventDelivery',
  'Event',
  'Job',
  'Project',
  'TimeSeriesTotals',
  'BroadcastEvent',
  'UpdateEndpoint',
  'UpdateEventType',
  'UpdateFilter',
  'UpdatePortalLink',
  'UpdateSource',
  'UpdateSubscription',
  'ListAuditQuery',
  ...Object.keys(sharedQueries),
];

export async function makeClientTypes(): Promise<string> {
  const document = await readDocument();
  const { Refusal: _refusal, ...named } = document.components.schemas;
  const types = [named, sharedQueries, ...methodsOf(document).map(ownTypes)].flatMap((some) =>
    Object.entries<JsonSchema>(some as Record<string, JsonSchema>),
  );
  const byName = new Map(types);
  const bases = Object.fromEntries(BASES.map((name) => [name, byName.get(name)!]));
  return formatted(
    'client/src/generated/types.ts',
    types.map(([name, schema]) => declaration(name, schema, bases)),
  );
}

export async function makeClientErrorCodes(): Promise<string> {
  const names = (table: object) =>
    Object.keys(table)
      .map((name) => JSON.stringify(name))
      .join(' | ');
  return formatted('client/src/generated/error-codes.ts', [
    `/** The errors of the server; docs/errors.md describes them. */\nexport type ErrorCode = ${names(errorTable)};\n`,
    `/** Faults of the server's database; docs/errors.md describes them. */\nexport type DatabaseFault = ${names(DATABASE_FAULTS)};\n`,
  ]);
}

/** The role of each operation that viewers may not use. The dashboard shows people only what they may do. */
export async function makeNeededRoles(): Promise<string> {
  const lines = methodsOf(await readDocument())
    .filter(({ access }) => (roles as readonly string[]).includes(access) && access !== 'viewer')
    .map(({ id, access }) => `${id}: '${access}',\n`);
  return formatted('web/src/data/needed-roles.ts', [
    `/** The role that an operation of a project needs. Viewers may use the others. */\nexport const neededRoles = {\n${lines.join('')}} as const;\n`,
  ]);
}

export async function makeClientResources(): Promise<string> {
  const whole = await readDocument();
  const methods = methodsOf(whole);
  const listsOf = ({ body }: Method) => (body === undefined ? [] : listFields(whole, body));
  const resources = Map.groupBy(methods, ({ resource }) => resource);
  const classes = [...resources].map(
    ([name, own]) =>
      `export class ${name} extends Resource {\n${own.map((one) => methodText(one, listsOf(one))).join('\n')}}\n`,
  );
  return formatted('client/src/generated/resources.ts', [
    imports(methods, classes.join('')),
    ...classes,
    clientClass(
      'ProjectResources',
      [...resources.keys()].filter((name) => name !== 'Portal').map((name) => [name, name] as const),
    ),
    clientClass('PortalResources', portalProperties(resources)),
  ]);
}

let document: Promise<Document> | undefined;

function readDocument(): Promise<Document> {
  document ??= makeOpenApi().then((text) =>
    nameSchemas(withBodyInputs(JSON.parse(text) as Document), { Timestamp: Time }),
  );
  return document;
}

/** The types that belong to one method and have no name in the document. */
function ownTypes(method: Method): Record<string, JsonSchema> {
  const { body, query, result } = method;
  const types: Record<string, JsonSchema> = {};
  if (query !== undefined) types[typeName(method, 'Query')] = query;
  if (body !== undefined && !isShort(body)) types[typeName(method, 'Body')] = body;
  if (!isShort(result.schema)) types[typeName(method, 'Result')] = result.schema;
  return types;
}

const typeName = ({ id }: Method, suffix: string): string => `${id[0]!.toUpperCase()}${id.slice(1)}${suffix}`;
const isShort = (schema: JsonSchema): boolean => /^[\w[\]]+$/.test(typeText(schema));
const named = (method: Method, schema: JsonSchema, suffix: string): string =>
  isShort(schema) ? typeText(schema) : typeName(method, suffix);

/** `lists`: the fields of its body that may be one string. */
function methodText(method: Method, lists: string[]): string {
  const { name, summary, body, query, result, pathParameters } = method;
  const parameters = pathParameters.map((parameter) => `${argument(parameter)}: string`);
  if (body !== undefined) parameters.push(`body: ${named(method, body, 'Body')}`);
  if (query !== undefined) {
    const isOptional = (query.required ?? []).length === 0;
    parameters.push(`query: ${typeName(method, 'Query')}${isOptional ? ' = {}' : ''}`);
  }
  parameters.push('options?: CallOptions');
  const type = named(method, result.schema, 'Result');
  const returned = result.kind === 'list' ? `List<${type}>` : `Promise<${type}>`;
  return `${comment(summary)}${name}(${parameters.join(', ')}): ${returned} {\nreturn ${callText(method, lists)};\n}\n`;
}

const argument = (parameter: string): string => parameter.replace(/ID$/, 'Id');

function callText(
  { verb, path, body, query, result, isRepeatable, creates }: Method,
  lists: string[],
): string {
  const inner = path.replace('/api/v1/projects/{projectID}/', '/');
  const start = inner === path ? 'path' : 'this.scope.at';
  const at = `${start}\`${inner.replaceAll(/\{(\w+)\}/g, (_all, name: string) => `\${${argument(name)}}`)}\``;
  if (result.kind === 'list') return `this.scope.list(${at}, query, options)`;
  if (result.kind === 'event') return `this.scope.event(${at}, body, options)`;
  const extra = [
    ...(body === undefined ? [] : [bodyText(lists)]),
    ...(query === undefined ? [] : ['query']),
    ...(isRepeatable ? ['repeatable: true'] : []),
    ...(creates ? ['creates: true'] : []),
    'options',
  ];
  return `this.scope.${result.kind}('${verb}', ${at}, { ${extra.join(', ')} })`;
}

const bodyText = (lists: string[]): string =>
  lists.length === 0 ? 'body' : `body: asLists(body, ${lists.map((name) => `'${name}'`).join(', ')})`;

function imports(methods: Method[], text: string): string {
  const used = new Set(text.match(/\b[A-Z]\w+/g));
  const types = methods.flatMap((method) => [
    ...Object.keys(ownTypes(method)),
    ...[method.body, method.result.schema]
      .filter((schema) => schema !== undefined && isShort(schema))
      .map((schema) => typeText(schema!).replace('[]', '')),
  ]);
  const names = [...new Set(types)].filter((name) => /^[A-Z]/.test(name) && used.has(name)).sort();
  return `import type { List } from '../list.ts';
import type { CallOptions } from '../request.ts';
import { asLists, path, Resource, type Scope } from '../resource.ts';
import type { ${names.join(', ')} } from './types.ts';
`;
}

/** A portal link may call a part of the methods of each resource. */
function portalProperties(resources: Map<string, Method[]>): (readonly [string, string])[] {
  return [...resources].flatMap(([name, methods]) => {
    const own = methods.filter(({ isInPortal }) => isInPortal).map((method) => `'${method.name}'`);
    if (own.length === 0) return [];
    return [[name, own.length === methods.length ? name : `Pick<${name}, ${own.join(' | ')}>`] as const];
  });
}

function clientClass(name: string, properties: (readonly [string, string])[]): string {
  const property = (resource: string): string => `${resource[0]!.toLowerCase()}${resource.slice(1)}`;
  const fields = properties.map(([resource, type]) => `readonly ${property(resource)}: ${type};\n`);
  const made = properties.map(([resource]) => `this.${property(resource)} = new ${resource}(scope);\n`);
  return `export class ${name} {\n${fields.join('')}\nconstructor(scope: Scope) {\n${made.join('')}}\n}\n`;
}

function formatted(file: string, parts: string[]): string {
  const { status, stdout, stderr } = spawnSync(
    join(ROOT, 'node_modules/.bin/biome'),
    ['check', '--write', `--stdin-file-path=${file}`],
    { cwd: ROOT, input: HEAD + ['', ...parts].join('\n'), encoding: 'utf8', maxBuffer: 64 * 2 ** 20 },
  );
  if (status !== 0) throw new Error(`biome cannot format ${file}: ${stderr}`);
  return stdout;
}
