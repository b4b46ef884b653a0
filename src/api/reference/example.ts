import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { RECEIVER_URL } from '../../domain/delivery.ts';
import { isObject } from '../../platform/json/is-object.ts';
import { isNothing, type OpenApiDocument, refName, resolved, type Schema } from './document.ts';

const ID = '01JCQ2Z8H4T6V9X1B3D5F7K9M0';
const TIME = '2026-01-31T15:04:05.000Z';

/**
 * Values as real responses had them, by the name of their schema. By operation: the part that has no named schema.
 * test/docs/reference.test.ts records them.
 */
const samples = JSON.parse(readFileSync(join(import.meta.dirname, 'schema-samples.json'), 'utf8')) as Record<
  string,
  unknown
>;

/** Better example values than the schema's type gives, by the name of the field. */
const byName: Record<string, unknown> = {
  name: 'billing',
  url: RECEIVER_URL,
  event_type: 'invoice.paid',
  event_types: ['invoice.*'],
  owner_id: 'customer-42',
  secret: 'correct horse battery staple',
  idempotency_key: 'invoice-7-paid',
  data: { invoice: 7, amount: '12.50' },
  body: { amount: { $gt: 100 } },
  custom_headers: { 'X-Region': 'eu' },
  headers: { 'X-Region': 'eu' },
  description: 'Invoices of the shop',
  duration: '10s',
  support_email: 'ops@example.com',
  message: 'Done',
  status_code: 200,
};

const isId = (name: string) => name === 'uid' || /(_id|ID)$/.test(name);

/** The response of an operation. */
export function responseExample(document: OpenApiDocument, operationId: string, schema: Schema): unknown {
  return { ...(exampleOf(document, schema) as object), ...(samples[operationId] as object | undefined) };
}

/** A JSON value of a schema, the usual one for a field of this name. */
export function exampleOf(
  document: OpenApiDocument,
  schema: Schema,
  name = '',
  seen: string[] = [],
): unknown {
  const ref = refName(schema);
  // Recursive references end after one round.
  if (ref !== undefined && seen.includes(ref)) return {};
  if (ref !== undefined && ref in samples) return fitted(document, schema, samples[ref]);
  return madeUp(document, resolved(document, schema), name, ref === undefined ? seen : [...seen, ref]);
}

function madeUp(document: OpenApiDocument, schema: Schema, name: string, seen: string[]): unknown {
  if (isNothing(schema) || name === 'deleted_at') return null;
  const declared = schema.examples?.[0] ?? schema.const ?? schema.enum?.[0];
  if (declared !== undefined) return declared;
  if (schema.anyOf !== undefined) return exampleOf(document, schema.anyOf[0] ?? {}, name, seen);
  const kind = [schema.type].flat()[0];
  if (kind === 'object' && schema.properties !== undefined) return objectExample(document, schema, seen);
  if (Object.hasOwn(byName, name) && fits(byName[name], kind)) return byName[name];
  if (kind === 'array') return [exampleOf(document, schema.items ?? {}, name.replace(/s$/, ''), seen)];
  return plainExample(schema, kind, name);
}

/** A recorded value in the shape that the schema has by now: fields that came later are made, and others go. */
function fitted(document: OpenApiDocument, schema: Schema, value: unknown): unknown {
  const { properties, required = [], items, anyOf } = resolved(document, schema);
  if (Array.isArray(value))
    return items === undefined ? value : value.map((item) => fitted(document, items, item));
  if (!isObject(value)) return value;
  if (anyOf !== undefined) return fitted(document, objectOf(document, anyOf, value), value);
  if (properties === undefined) return value;
  const fields = Object.entries(properties).filter(([name]) => name in value || required.includes(name));
  return Object.fromEntries(
    fields.map(([name, field]) => [
      name,
      name in value ? fitted(document, field, value[name]) : exampleOf(document, field, name),
    ]),
  );
}

/** The one of several schemas that has the fields of a value. */
function objectOf(document: OpenApiDocument, schemas: Schema[], value: object): Schema {
  const isOf = (schema: Schema) => {
    const { properties, required = [] } = resolved(document, schema);
    return properties !== undefined && required.every((name) => name in value);
  };
  return schemas.find(isOf) ?? {};
}

function objectExample(document: OpenApiDocument, schema: Schema, seen: string[]): unknown {
  // An envelope has warnings only if there is something to warn of.
  const fields = Object.entries(schema.properties ?? {}).filter(([name]) => name !== 'warnings');
  return Object.fromEntries(fields.map(([name, field]) => [name, exampleOf(document, field, name, seen)]));
}

function fits(value: unknown, kind: string | undefined): boolean {
  if (kind === undefined) return true;
  if (kind === 'array') return Array.isArray(value);
  if (kind === 'integer') return Number.isInteger(value);
  return typeof value === kind && !Array.isArray(value);
}

function plainExample(schema: Schema, kind: string | undefined, name: string): unknown {
  switch (kind) {
    case 'string':
      if (schema.format === 'date-time') return TIME;
      return isId(name) ? ID : 'text';
    case 'integer':
    case 'number':
      return Math.max(schema.minimum ?? 0, 1);
    case 'boolean':
      return true;
    case 'null':
      return null;
    case undefined:
    default:
      return {};
  }
}
