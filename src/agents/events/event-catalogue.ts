import { isObject } from '../../platform/json/is-object.ts';
import { invalidParams } from '../protocol/json-rpc.ts';
import type { Json, ProjectApi } from '../tools/project-api.ts';
import { unknownEvent } from './refusals.ts';

/** The event types of a project as events that an agent can subscribe to. */
const PAGE = 100;
const MAX_ARGUMENTS = 50;
const SCALARS = ['string', 'number', 'integer', 'boolean'];

type Schema = Record<string, unknown>;

/** Deprecated types are not offered. A portal link sees its own types. */
async function typesOf(api: ProjectApi): Promise<Json[]> {
  const rows: Json[] = await api.get('/event-types');
  return rows.filter(({ deprecated_at, name }) => deprecated_at === null && !name.endsWith('*'));
}

/** The cursor is the last name of the page before. */
export async function listEvents(api: ProjectApi, params: Record<string, unknown>): Promise<object> {
  const { cursor } = params;
  if (cursor !== undefined && cursor !== null && typeof cursor !== 'string')
    throw invalidParams('cursor must be text.');
  const rows = (await typesOf(api)).filter(({ name }) => typeof cursor !== 'string' || name > cursor);
  const page = rows.slice(0, PAGE);
  return {
    events: page.map(toEvent),
    ...(rows.length > PAGE && { nextCursor: page.at(-1).name }),
  };
}

function toEvent({ name, description, json_schema: schema }: Json): object {
  return {
    name,
    description: description || `Events of the type ${name}.`,
    delivery: ['webhook'],
    inputSchema: inputSchema(schema),
    payloadSchema: isObject(schema) && Object.keys(schema).length > 0 ? schema : { type: 'object' },
  };
}

/** Arguments are conditions on the payload: its plain fields by name, or anything that docs/filters.md has. */
function inputSchema(schema: unknown): object {
  const plain = Object.entries(propertiesOf(schema) ?? {}).flatMap(([name, one]) =>
    isPlain(one) ? [[name, one] as const] : [],
  );
  const properties = Object.fromEntries(
    plain.slice(0, MAX_ARGUMENTS).map(([name, one]) => [name, described(name, one)]),
  );
  return {
    type: 'object',
    description:
      'Only events whose payload has these values. Dotted names reach nested fields, as in customer.id.',
    properties,
  };
}

function propertiesOf(schema: unknown): Record<string, unknown> | undefined {
  const properties = isObject(schema) ? schema['properties'] : undefined;
  return isObject(properties) && Object.keys(properties).length > 0 ? properties : undefined;
}

const isPlain = (schema: unknown): schema is Schema =>
  isObject(schema) && typeof schema['type'] === 'string' && SCALARS.includes(schema['type']);

/** An operator such as {"$gte": 10} may stand in place of the value. */
function described(name: string, { type, enum: values, description }: Schema): object {
  const value = { type, ...(Array.isArray(values) && { enum: values }) };
  const text = typeof description === 'string' ? description : `Only events with this ${name}.`;
  return { description: text, anyOf: [value, { type: 'object', description: 'Such as {"$in": [...]}.' }] };
}

/** Refuses an event that is not offered, and arguments that its payload cannot have: they would never match. */
export async function checkEvent(
  api: ProjectApi,
  { name, args }: { name: string; args: Record<string, unknown> },
): Promise<void> {
  const row = (await typesOf(api)).find((one) => one.name === name);
  if (row === undefined) throw unknownEvent(name);
  const known = propertiesOf(row.json_schema);
  if (known === undefined) return;
  const first = (path: string) => path.split('.')[0] ?? '';
  const unknown = Object.keys(args).find(
    (path) => !path.startsWith('$') && !Object.hasOwn(known, first(path)),
  );
  if (unknown !== undefined)
    throw invalidParams(
      `arguments.${unknown} is no field of ${name}. There are: ${Object.keys(known).join(', ')}.`,
    );
}
