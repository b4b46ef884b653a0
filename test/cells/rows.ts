import { historyTables, switchTables } from '../../src/store/cells/registry.ts';
import type { TestDatabase } from '../support/database.ts';

/** The tables whose rows go with a project, and which rows. */
export const travelling: readonly { table: string; rows: string }[] = [
  ...historyTables.map(({ table }) => ({ table, rows: 'project_id = $1' })),
  ...switchTables.map(({ table, rows }) => ({ table, rows: rows.replaceAll(':project', '$1') })),
];

export type Rows = Record<string, Record<string, unknown>[]>;

/** All rows of a project, by table, in a fixed order. */
export async function rowsOf(database: TestDatabase, projectId: string): Promise<Rows> {
  const all: Rows = {};
  for (const { table, rows } of travelling) {
    const found = await database.query(
      `select to_json(t) as row from ${table} t where ${rows} order by to_json(t)::text`,
      [projectId],
    );
    all[table] = found.map(({ row }) => row as Record<string, unknown>);
  }
  return all;
}

interface Column {
  name: string;
  type: string;
}

/** Adds a row to each table that has none of the project's, so that no table is tested by luck. */
export async function fillEmpty(
  database: TestDatabase,
  projectId: string,
  known: { endpoint_id: string; subscription_id: string; source_id: string; portal_link_id: string },
): Promise<string[]> {
  const filled: string[] = [];
  for (const [table, rows] of Object.entries(await rowsOf(database, projectId))) {
    if (rows.length > 0) continue;
    const columns = (await database.query(
      `select column_name as name, data_type as type from information_schema.columns
       where table_schema = 'public' and table_name = $1 order by ordinal_position`,
      [table],
    )) as unknown as Column[];
    const values: Record<string, unknown> = { ...known, project_id: projectId, key: known.source_id };
    const row = columns.map(({ name, type }, n) => values[name] ?? sample(type, `${table} ${name}`, n));
    await database.query(
      `insert into ${table} (${columns.map(({ name }) => name).join(', ')})
       values (${columns.map((_, n) => `$${n + 1}`).join(', ')})`,
      row,
    );
    filled.push(table);
  }
  return filled;
}

function sample(type: string, text: string, n: number): unknown {
  if (type === 'ARRAY' && text.includes('_at')) return '{2030-01-02T03:04:05.678Z}';
  if (type === 'ARRAY') return text.includes('times') ? '{1700000000.25,1700000001.5}' : '{1,2}';
  if (type === 'boolean') return true;
  if (type.startsWith('timestamp')) return new Date(Date.UTC(2030, 0, n + 1, 1, 2, 3, 456));
  if (type === 'bytea') return Buffer.from(`\0\\${text}`);
  if (type.startsWith('json')) return JSON.stringify({ text, n });
  return type === 'text' ? `${text} "ü"\t\\` : n + 1;
}
