import type { ProjectConfig } from '../../domain/config/project-config.ts';
import { isObject } from '../../platform/json/is-object.ts';
import { exampleOf, type JsonSchema } from '../../platform/json/schema-example.ts';
import type { EventTypeRow } from '../../store/config/event-types.ts';

/** An event type as a document describes it. */
export interface Described {
  name: string;
  /** Its name as a part of the document: letters, digits, `.`, `_` and `-`. */
  id: string;
  category: string;
  description: string;
  isDeprecated: boolean;
  /** Its references lead to its place in the document. Null: any JSON. */
  schema: Json | null;
  /** Null: there is nothing to make one from. */
  example: unknown;
}

type Json = Record<string, unknown>;

/** The types of a project. Patterns, which subscriptions add to the catalogue, describe no event. */
export function describedTypes(
  rows: readonly EventTypeRow[],
  { envelope }: Pick<ProjectConfig, 'envelope'>,
): Described[] {
  const taken = new Set<string>();
  return rows
    .filter(({ name }) => !name.includes('*'))
    .map((row) => {
      const id = freeId(row.name, taken);
      taken.add(id);
      const { name, category, description } = row;
      return {
        name,
        id,
        category,
        description,
        isDeprecated: row.deprecated_at !== null,
        ...(envelope === 'standard' ? wrapped(row, id) : bare(row, `#/components/schemas/${id}`)),
      };
    });
}

const bare = (
  { json_schema }: Pick<EventTypeRow, 'json_schema'>,
  place: string,
): Pick<Described, 'schema' | 'example'> => ({
  schema: json_schema && moved(json_schema, place),
  example: json_schema && exampleOf(json_schema as JsonSchema),
});

/** The schema in the envelope of deliveries. Data without a schema may be any JSON. */
function wrapped(
  row: Pick<EventTypeRow, 'name' | 'json_schema'>,
  id: string,
): Pick<Described, 'schema' | 'example'> {
  const { schema, example } = bare(row, `#/components/schemas/${id}/properties/data`);
  return {
    schema: {
      type: 'object',
      required: ['type', 'timestamp', 'data'],
      properties: {
        type: { const: row.name },
        timestamp: { type: 'string', format: 'date-time' },
        data: schema ?? {},
      },
    },
    example: { type: row.name, timestamp: '2026-01-31T15:04:05.000Z', data: example ?? {} },
  };
}

export const schemasOf = (types: readonly Described[]): Json =>
  Object.fromEntries(types.flatMap(({ id, schema }) => (schema === null ? [] : [[id, schema]])));

/** Two names may differ only in letters that an id cannot have. */
function freeId(name: string, taken: ReadonlySet<string>): string {
  const plain = name.replace(/[^A-Za-z0-9._-]/g, '_');
  for (let n = 1; ; n += 1) {
    const id = n === 1 ? plain : `${plain}-${n}`;
    if (!taken.has(id)) return id;
  }
}

/** A schema in another place: references to its own parts lead there. With an `$id` they are relative to that. */
function moved(schema: Json, place: string): Json {
  return typeof schema['$id'] === 'string' ? schema : (withReferences(schema, place) as Json);
}

function withReferences(value: unknown, place: string): unknown {
  if (Array.isArray(value)) return value.map((item) => withReferences(item, place));
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => {
      const isOwn = key === '$ref' && typeof item === 'string' && /^#(\/|$)/.test(item);
      return [key, isOwn ? `${place}${item.slice(1)}` : withReferences(item, place)];
    }),
  );
}
