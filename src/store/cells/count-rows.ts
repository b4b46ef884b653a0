import type { Queryable } from '../database/database.ts';
import { historyTables, switchTables } from './registry.ts';

/** How many rows of each table go with a project, those without any left out. */
export async function countRows(
  db: Queryable,
  projectId: string,
): Promise<{ table: string; rows: number }[]> {
  const counted: { table: string; rows: number }[] = [];
  const tables = [...historyTables.map(({ table }) => ({ table, rows: 'project_id = $1' })), ...switchTables];
  for (const { table, rows } of tables) {
    const [found] = await db.query<{ count: number }>(
      `select count(*)::int as count from ${table} where ${rows.replaceAll(':project', '$1')}`,
      [projectId],
    );
    if ((found?.count ?? 0) > 0) counted.push({ table, rows: found?.count ?? 0 });
  }
  return counted;
}
