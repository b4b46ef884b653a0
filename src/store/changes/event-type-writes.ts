import { isEventTypePattern } from '../../domain/config/subscription.ts';
import { EVENT_TYPE_COLUMNS, type EventTypeDescription, type EventTypeRow } from '../config/event-types.ts';
import type { Queryable } from '../database/database.ts';

/** Adds missing names. In name order, so that two writers lock in the same order. */
export async function addEventTypes(
  tx: Queryable,
  projectId: string,
  types: { names: readonly string[]; uid(): string },
): Promise<void> {
  const names = [...new Set(types.names)].filter((name) => name === '*' || !isEventTypePattern(name)).sort();
  if (names.length === 0) return;
  await tx.query(
    `insert into event_types (id, project_id, name)
     select id, $1, name from unnest($2::text[], $3::text[]) as t(id, name)
     on conflict do nothing`,
    [projectId, names.map(() => types.uid()), names],
  );
}

export async function insertEventType(
  db: Queryable,
  projectId: string,
  type: { id: string } & EventTypeDescription,
): Promise<EventTypeRow> {
  const [row] = await db.query<EventTypeRow>(
    `insert into event_types (id, project_id, name, category, description, json_schema)
     values ($1, $2, $3, $4, $5, $6) returning ${EVENT_TYPE_COLUMNS}`,
    [type.id, projectId, type.name, type.category, type.description, toJson(type.json_schema)],
  );
  return row as EventTypeRow;
}

/** Current types, locked for a change, in the order that every change uses. */
export function eventTypesForUpdate(
  tx: Queryable,
  projectId: string,
  which: { ids: readonly string[] } | { names: readonly string[] },
): Promise<EventTypeRow[]> {
  const [column, values] = 'ids' in which ? ['id', which.ids] : ['name', which.names];
  return tx.query<EventTypeRow>(
    `select ${EVENT_TYPE_COLUMNS} from event_types where project_id = $1 and ${column} = any($2) order by name for update`,
    [projectId, values],
  );
}

export async function updateEventType(
  db: Queryable,
  type: Omit<EventTypeRow, 'name' | 'deprecated_at'>,
): Promise<EventTypeRow | undefined> {
  const [row] = await db.query<EventTypeRow>(
    `update event_types set category = $3, description = $4, json_schema = $5, updated_at = now()
     where project_id = $1 and id = $2 returning ${EVENT_TYPE_COLUMNS}`,
    [type.project_id, type.id, type.category, type.description, toJson(type.json_schema)],
  );
  return row;
}

/** A type deprecated before keeps its first time. */
export async function deprecateEventType(
  db: Queryable,
  projectId: string,
  id: string,
): Promise<EventTypeRow | undefined> {
  const [row] = await db.query<EventTypeRow>(
    `update event_types set deprecated_at = coalesce(deprecated_at, now()), updated_at = now()
     where project_id = $1 and id = $2 returning ${EVENT_TYPE_COLUMNS}`,
    [projectId, id],
  );
  return row;
}

/** Inserts types, or replaces their descriptions, by name. */
export async function importEventTypes(
  db: Queryable,
  projectId: string,
  types: readonly ({ id: string } & EventTypeDescription)[],
): Promise<EventTypeRow[]> {
  const sorted = types.toSorted((a, b) => (a.name < b.name ? -1 : 1));
  return db.query<EventTypeRow>(
    `insert into event_types as known (id, project_id, name, category, description, json_schema)
     select id, $1, name, category, description, json_schema
     from unnest($2::text[], $3::text[], $4::text[], $5::text[], $6::json[]) as t(id, name, category, description, json_schema)
     on conflict (project_id, name) do update set category = coalesce(nullif(excluded.category, ''), known.category),
       description = coalesce(nullif(excluded.description, ''), known.description),
       json_schema = coalesce(excluded.json_schema, known.json_schema), updated_at = now()
     returning ${EVENT_TYPE_COLUMNS}`,
    [
      projectId,
      sorted.map((type) => type.id),
      sorted.map((type) => type.name),
      sorted.map((type) => type.category),
      sorted.map((type) => type.description),
      sorted.map((type) => toJson(type.json_schema)),
    ],
  );
}

const toJson = (schema: Record<string, unknown> | null) => (schema === null ? null : JSON.stringify(schema));
