import { hostname } from 'node:os';
import { ADDRESS } from '../../src/api/reference/address.ts';
import { type OpenApiDocument, refName, resolved, type Schema } from '../../src/api/reference/document.ts';

/** A response of the service, and the schema that the document gives for it. */
export interface Sample {
  operation: string;
  schema: Schema;
  value: unknown;
}

const ID = /\b[0-9A-HJKMNP-TV-Z]{26}\b/g;
const TIME = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z/g;
/** Keys, tokens and signatures. */
const LONG = /(?=[\w+/=-]*\d)(?=[\w+/=-]*[A-Z])[\w+/=-]{20,}|[\da-f]{32,}/g;

/**
 * A value of each named schema, as real responses have them, and of each response the part that has no named schema. Values
 * of operations that create come first.
 */
export function schemaSamples(document: OpenApiDocument, samples: Sample[], url: string): string {
  const found: Record<string, unknown> = {};
  const take = (schema: Schema, value: unknown): void => {
    if (typeof value !== 'object' || value === null) return;
    const name = refName(schema);
    if (name !== undefined && !(name in found)) found[name] = shortened(value);
    const { properties = {}, items, anyOf = [] } = resolved(document, schema);
    for (const [field, inner] of Object.entries(properties))
      take(inner, (value as Record<string, unknown>)[field]);
    if (items !== undefined && Array.isArray(value)) for (const item of value) take(items, item);
    for (const option of anyOf) if (fits(resolved(document, option), value)) take(option, value);
  };
  const creates = ({ operation }: Sample) => operation.startsWith('create');
  for (const sample of [...samples.filter(creates), ...samples.filter((one) => !creates(one))]) {
    take(sample.schema, sample.value);
    found[sample.operation] = shortened(ownPart(sample));
  }
  const sorted = Object.fromEntries(Object.entries(found).sort(([a], [b]) => (a < b ? -1 : 1)));
  return `${made(JSON.stringify(sorted, null, 2), url)}\n`;
}

function ownPart({ schema, value }: Sample): object {
  const { message, data } = value as { message?: string; data?: unknown };
  const isNamed = JSON.stringify(schema.properties?.['data'] ?? {}).includes('$ref');
  return isNamed ? { message } : { message, data };
}

const fits = ({ required = [], properties }: Schema, value: object): boolean =>
  properties !== undefined && required.every((field) => field in value);

/** One item shows what a list has. */
function shortened(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value), (_name, inner: unknown) =>
    Array.isArray(inner) ? inner.slice(0, 1) : inner,
  );
}

/** Nothing of this machine or of this run is in it. */
function made(text: string, url: string): string {
  const ids = [...new Set(text.match(ID))];
  return text
    .replaceAll(url, ADDRESS)
    .replaceAll(/127\.0\.0\.1:\d+/g, '127.0.0.1:5005')
    .replaceAll(hostname(), 'node-1')
    .replaceAll(TIME, '2026-01-31T15:04:05.000Z')
    .replaceAll(LONG, (long) => (ids.includes(long) ? long : `${long.slice(0, 10)}…`))
    .replaceAll(ID, (id) => `01JCQ2Z8H4T6V9X1B3D5F7K${String(ids.indexOf(id) + 100).padStart(3, '0')}`);
}
