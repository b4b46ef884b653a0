import type { EventType } from '../../../client/src/posthorn.ts';
import { type JsonSchema, referred } from '../../platform/json/schema-example.ts';
import { escapeControls } from '../../platform/printable.ts';
import type { Given } from '../terminal/command.ts';
import { terminal } from '../terminal/terminal.ts';
import { withService } from './connect.ts';

/** Prints TypeScript types of the payloads of all event types with a schema. */
export async function types(given: Given): Promise<void> {
  const known = await withService(given, (posthorn) => posthorn.eventTypes.list());
  terminal().stdout.write(escapeControls(payloadTypes(known)));
}

/**
 * One type for each event type, and a map from names to them. Texts of schemas come from others, so none of them gets
 * into the code unquoted.
 */
export function payloadTypes(
  eventTypes: readonly Pick<EventType, 'name' | 'description' | 'json_schema'>[],
): string {
  const described = eventTypes
    .filter(({ json_schema }) => json_schema !== null)
    .sort((a, b) => (a.name < b.name ? -1 : 1));
  const taken = new Set<string>();
  const named = described.map(({ name, description, json_schema }) => {
    const type = freeName(name, taken);
    const schema = json_schema as JsonSchema;
    return { name, type, text: `${comment(description)}export type ${type} = ${typeOf(schema, schema)};\n` };
  });
  const rows = named.map(({ name, type }) => `  ${JSON.stringify(name)}: ${type};`);
  return [
    '// Made by posthorn types. Changes here are lost.\n',
    ...named.map(({ text }) => text),
    `/** The payload of each event type. */\nexport interface Payloads {\n${rows.join('\n')}\n}\n`,
    'export type EventName = keyof Payloads;\n',
  ].join('\n');
}

/** invoice.paid becomes InvoicePaid. */
function freeName(name: string, taken: Set<string>): string {
  const words = name.split(/[^A-Za-z0-9]+/).filter((word) => word !== '');
  const joined = words.map((word) => word[0]?.toUpperCase() + word.slice(1)).join('') || 'Payload';
  const base = /^\d/.test(joined) ? `Type${joined}` : joined;
  let free = base;
  for (let count = 2; taken.has(free) || free === 'Payloads' || free === 'EventName'; count++)
    free = `${base}${count}`;
  taken.add(free);
  return free;
}

function comment(text: string | undefined): string {
  if (!text) return '';
  return `/** ${text.replaceAll('*/', '* /').replaceAll(/\s+/g, ' ').trim()} */\n`;
}

const DEEPEST = 20;
const PLAIN: Record<string, string> = {
  string: 'string',
  integer: 'number',
  number: 'number',
  boolean: 'boolean',
  null: 'null',
};

function typeOf(schema: JsonSchema | boolean, root: JsonSchema, depth = 0): string {
  if (typeof schema === 'boolean' || depth > DEEPEST) return 'unknown';
  const inner = (one: JsonSchema) => typeOf(one, root, depth + 1);
  const either = (parts: string[]) => [...new Set(parts)].join(' | ');
  if (schema.$ref !== undefined) return inner(referred(root, schema.$ref));
  if (schema.const !== undefined) return literal(schema.const);
  if (schema.enum !== undefined) return either(schema.enum.map(literal)) || 'never';
  const choices = schema.anyOf ?? schema.oneOf;
  if (choices !== undefined) return either(choices.map(inner));
  if (schema.allOf !== undefined)
    return schema.allOf.map((one) => `(${inner(one)})`).join(' & ') || 'unknown';
  const names = [schema.type ?? (schema.properties === undefined ? [] : 'object')].flat();
  const parts = names.map((name) => typeNamed(name, schema, inner));
  return either([...parts, ...(schema.nullable === true ? ['null'] : [])]) || 'unknown';
}

function typeNamed(name: string, schema: JsonSchema, inner: (one: JsonSchema) => string): string {
  if (name === 'array') return arrayOf(schema, inner);
  return name === 'object' ? objectOf(schema, inner) : (PLAIN[name] ?? 'unknown');
}

function arrayOf({ items }: JsonSchema, inner: (one: JsonSchema) => string): string {
  if (Array.isArray(items)) return `[${items.map(inner).join(', ')}]`;
  return items === undefined ? 'unknown[]' : `Array<${inner(items)}>`;
}

function objectOf(
  { properties, required = [], additionalProperties }: JsonSchema,
  inner: (one: JsonSchema) => string,
): string {
  if (properties === undefined)
    return `Record<string, ${typeof additionalProperties === 'object' ? inner(additionalProperties) : 'unknown'}>`;
  const fields = Object.entries(properties).map(([name, one]) => {
    const optional = required.includes(name) ? '' : '?';
    return `${comment(one.description).trim()} ${JSON.stringify(name)}${optional}: ${inner(one)};`.trim();
  });
  return `{ ${fields.join(' ')} }`;
}

function literal(value: unknown): string {
  return typeof value === 'object' && value !== null ? 'unknown' : JSON.stringify(value);
}
