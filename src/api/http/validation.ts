import { isUtf8 } from 'node:buffer';
import type { FastifySchemaValidationError } from 'fastify';
import { AppError, type FieldProblem } from '../../domain/errors.ts';
import { TIME_HINT } from '../../domain/time.ts';
import { UNDECLARED } from '../../platform/type.ts';
import type { Schema } from './schema-view.ts';

/** Errors of the schema validator in words that say what to fix: one per field, in the schema's order. */
export function problemsOfSchema(errors: readonly FastifySchemaValidationError[]): FieldProblem[] {
  const fields = new Map<string, string>();
  for (const error of errors) {
    const [field, problem] = describe(error);
    if (!fields.has(field)) fields.set(field, problem);
  }
  return [...fields].map(([field, problem]) => ({ field, problem }));
}

function describe({
  keyword,
  instancePath,
  params,
  message,
}: FastifySchemaValidationError): [string, string] {
  const at = instancePath.slice(1).replaceAll('/', '.').replaceAll('~1', '/').replaceAll('~0', '~');
  const inside = (name: unknown) => (at === '' ? String(name) : `${at}.${String(name)}`);
  switch (keyword) {
    case 'required':
      return [inside(params['missingProperty']), 'is required'];
    case 'type':
      return [at || 'body', `must be ${article(String(params['type']))}`];
    case 'enum':
      return [at, `must be ${choices(params['allowedValues'] as unknown[])}`];
    case 'format':
      return [at, params['format'] === 'date-time' ? TIME_HINT : (message ?? 'is not valid')];
    case 'minLength':
      return [
        at,
        params['limit'] === 1
          ? 'must not be empty'
          : `must have at least ${String(params['limit'])} characters`,
      ];
    // Forms of brokers say the same (domain/brokers/broker-field.ts).
    case 'maxLength':
      return [at, `must not have more than ${String(params['limit'])} characters`];
    default:
      return [at || 'body', message ?? 'is not valid'];
  }
}

/** The empty text stands for "not given" and is no choice to offer. */
function choices(allowed: readonly unknown[]): string {
  const named = allowed.filter((value) => value !== '');
  return named.length === 1 ? String(named[0]) : `one of ${named.join(', ')}`;
}

function article(type: string): string {
  return /^[aeiou]/.test(type) ? `an ${type}` : `a ${type}`;
}

/** The text of a body that must be there. */
export function bodyText(bytes: Buffer): string {
  if (!isUtf8(bytes)) throw new AppError('bad_json', { detail: 'it is not UTF-8' });
  const text = bytes.toString('utf8');
  if (text.trim() === '') throw new AppError('body_required');
  return text;
}

export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw badJson(error);
  }
}

export const badJson = (error: unknown): AppError =>
  new AppError('bad_json', { detail: (error as Error).message }, { cause: error });

/**
 * Clients in other languages send null for "not given". This removes such keys, following the schema. Null
 * stays only where it is a value: in free-form JSON, and in fields whose schema allows it.
 */
export function dropNulls(schema: Schema, value: unknown): void {
  if (Array.isArray(value)) {
    if (schema.items !== undefined) for (const item of value) dropNulls(schema.items, item);
    return;
  }
  if (typeof value !== 'object' || value === null || schema.properties === undefined) return;
  const object = value as Record<string, unknown>;
  for (const [name, property] of Object.entries(schema.properties)) {
    if (!Object.hasOwn(object, name)) continue;
    if (object[name] === null && !allowsNull(property)) delete object[name];
    else dropNulls(property, object[name]);
  }
}

/** A schema as callers may use it: with null wherever `dropNulls` removes it. For the OpenAPI document. */
export function withNulls(given: object): Schema {
  const schema = declared(given);
  if (schema.items !== undefined) return { ...schema, items: withNulls(schema.items) };
  if (schema.properties === undefined) return schema;
  const fields = Object.entries(schema.properties).map(([name, property]) => {
    const inner = withNulls(property);
    const isRequired = schema.required?.includes(name) === true;
    return [name, isRequired || allowsNull(inner) ? inner : orNull(inner)];
  });
  return { ...schema, properties: Object.fromEntries(fields) as Record<string, Schema> };
}

function declared({ anyOf, ...schema }: Schema): Schema {
  if (anyOf === undefined) return schema;
  const branches = anyOf.filter(({ $comment }) => $comment !== UNDECLARED);
  return branches.length === 1 ? { ...schema, ...branches[0] } : { ...schema, anyOf: branches };
}

/** The description stays with the field. That of an object belongs to its name in the document, if it has one. */
function orNull({ description, ...schema }: Schema): Schema {
  const outer = description === undefined ? {} : { description };
  const branches = schema.anyOf ?? [schema.type === 'object' ? { ...schema, ...outer } : schema];
  return { ...outer, anyOf: [...branches, { type: 'null' }] };
}

function allowsNull(schema: Schema): boolean {
  if (schema.type === undefined && schema.anyOf === undefined) return true;
  return schema.type === 'null' || (schema.anyOf ?? []).some(allowsNull);
}

/** At most so many fields with a zero character are named. */
const MAX_ZEROS = 20;

/**
 * The fields with a zero character, which no text of the database can contain. Payloads are bytes and may
 * contain it.
 */
export function fieldsWithZero(value: unknown): string[] {
  const found: string[] = [];
  collectZeros(value, [], found);
  return found;
}

function collectZeros(value: unknown, path: (string | number)[], found: string[]): void {
  if (typeof value === 'string' && value.includes('\u0000')) found.push(path.join('.') || 'body');
  if (typeof value !== 'object' || value === null) return;
  const enter = (name: string | number, child: unknown) => {
    if (path.length === 0 && name === 'data') return;
    path.push(name);
    collectZeros(child, path, found);
    path.pop();
  };
  if (Array.isArray(value)) {
    for (let at = 0; at < value.length && found.length < MAX_ZEROS; at++)
      if (typeof value[at] !== 'number') enter(at, value[at]);
  } else
    for (const name in value)
      if (found.length < MAX_ZEROS) enter(name, (value as Record<string, unknown>)[name]);
}
