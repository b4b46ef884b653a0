import type { Queryable } from '../database/database.ts';

/** A project's catalogue of event types: their names and descriptions. Schemas may be checked (src/routing/event-schemas.ts). */
export interface EventTypeRow {
  id: string;
  project_id: string;
  name: string;
  category: string;
  description: string;
  json_schema: Record<string, unknown> | null;
  deprecated_at: number | null;
}

export type EventTypeDescription = Pick<EventTypeRow, 'name' | 'category' | 'description' | 'json_schema'>;

export const EVENT_TYPE_COLUMNS = 'id, project_id, name, category, description, json_schema, deprecated_at';

export function listEventTypes(db: Queryable, projectId: string): Promise<EventTypeRow[]> {
  return db.query<EventTypeRow>(
    `select ${EVENT_TYPE_COLUMNS} from event_types where project_id = $1 order by name`,
    [projectId],
  );
}

/** The schemas as they are stored, of types that have one. */
export function listSchemas(db: Queryable, projectId: string): Promise<{ name: string; text: string }[]> {
  return db.query(
    `select name, json_schema::text as text from event_types
     where project_id = $1 and json_schema is not null order by name`,
    [projectId],
  );
}

export async function knownEventTypes(
  db: Queryable,
  projectId: string,
  names: readonly string[],
): Promise<Set<string>> {
  const rows = await db.query<{ name: string }>(
    'select name from event_types where project_id = $1 and name = any($2)',
    [projectId, names],
  );
  return new Set(rows.map((row) => row.name));
}
