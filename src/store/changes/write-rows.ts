import { invalid } from '../../domain/errors.ts';
import type { VersionedRow, VersionedTable } from '../config/config-table.ts';
import type { ConfigChange } from './config-change.ts';

/**
 * Inserts a row, or replaces what `saved` of its table names, under the version of the change. A `key` is unique among
 * the live rows of a project.
 */
export async function saveRow<Row extends VersionedRow>(
  change: ConfigChange,
  table: VersionedTable<Row>,
  { id, values }: { id: string; values: object },
): Promise<{ row: Row; isNew: boolean }> {
  const names = ['id', 'project_id', 'version', ...table.saved];
  const given = values as Record<string, unknown>;
  const insert = change.query<{ is_new: boolean }>(
    `insert into ${table.name} (${names.join(', ')}) values (${names.map((_, i) => `$${i + 1}`).join(', ')})
     on conflict (id) do update set ${names
       .slice(2)
       .map((name) => `${name} = excluded.${name}`)
       .join(', ')}, updated_at = now()
     -- a row that was updated has been locked by this transaction
     returning ${table.columns}, xmax = 0 as is_new`,
    [id, change.projectId, change.version, ...table.saved.map((name) => given[name])],
  );
  const [stored] = await insert.catch((error: unknown) => {
    throw (error as { constraint?: string }).constraint === `${table.name}_by_key`
      ? invalid('key', `another of the ${table.name} has the key "${String(given['key'])}"`)
      : error;
  });
  const { is_new: isNew, ...row } = stored as NonNullable<typeof stored>;
  return { row: table.toRow(row), isNew };
}

/** Makes tombstones of the live rows that have a value in a column, and returns them. */
export async function deleteRows<Row extends VersionedRow>(
  change: ConfigChange,
  table: VersionedTable<Row>,
  { column, value }: { column: 'id' | 'endpoint_id' | 'source_id'; value: string },
): Promise<Row[]> {
  const rows = await change.query<object>(
    `update ${table.name} set deleted_at = now(), version = $3
     where project_id = $1 and ${column} = $2 and deleted_at is null returning ${table.columns}`,
    [change.projectId, value, change.version],
  );
  return rows.map((row) => table.toRow(row));
}
