import type { Queryable } from '../database/database.ts';

/** Tables whose ids are given with time. Those of config are older than the audit entry of their change. */
const TABLES = ['events', 'event_deliveries', 'meta_events', 'audit_entries', 'jobs'];

/** The newest id that a project has. Null: none. */
export async function newestId(db: Queryable, projectId: string): Promise<string | null> {
  const [row] = await db.query<{ id: string | null }>(
    `select max(id collate "C") as id from (${TABLES.map(
      (table) => `select max(id) as id from ${table} where project_id = $1`,
    ).join(' union all ')}) newest`,
    [projectId],
  );
  return row?.id ?? null;
}
