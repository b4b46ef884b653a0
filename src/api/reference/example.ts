import { RECEIVER_URL } from '../../domain/delivery.ts';
import { type OpenApiDocument, refName, resolved, type Schema } from './document.ts';

const ID = '01JCQ2Z8H4T6V9X1B3D5F7K9M0';
const TIME = '2026-01-31T15:04:05.000Z';

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

/** An example of a JSON value. Recursive references end after one round. */
export function exampleOf(
  document: OpenApiDocument,
  schema: Schema,
  name = '',
  seen: string[] = [],
): unknown {
  const ref = refName(schema);
  if (ref !== undefined && seen.includes(ref)) return {};
  const inner = ref === undefined ? seen : [...seen, ref];
  const known = resolved(document, schema);
  if (known.examples !== undefined) return known.examples[0];
  if (known.const !== undefined) return known.const;
  if (known.enum !== undefined) return known.enum[0];
  if (name === 'deleted_at') return null;
  if (known.anyOf !== undefined) return exampleOf(document, known.anyOf[0] ?? {}, name, inner);
  const kind = [known.type].flat()[0];
  if (kind === 'object' && known.properties !== undefined) return objectExample(document, known, inner);
  if (Object.hasOwn(byName, name) && fits(byName[name], kind)) return byName[name];
  if (kind === 'array') return [exampleOf(document, known.items ?? {}, name.replace(/s$/, ''), inner)];
  return plainExample(known, kind, name);
}

function objectExample(document: OpenApiDocument, schema: Schema, seen: string[]): unknown {
  const fields = Object.entries(schema.properties ?? {});
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
