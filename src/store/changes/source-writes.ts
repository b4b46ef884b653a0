import { metaValues } from '../../domain/resources/fields.ts';
import { type SourceFields, sourceFields } from '../../domain/resources/source-fields.ts';
import type { SourceRow, SourceStore } from '../config/sources.ts';
import { rowTimes } from '../database/row-times.ts';
import type { ConfigChange } from './config-change.ts';
import { deleteRows, saveRow } from './write-rows.ts';

/** Inserts a source, or replaces every field of it, and records its meta event. */
export async function saveSource(
  change: ConfigChange,
  table: SourceStore,
  source: SourceFields & Pick<SourceRow, 'id' | 'secret'>,
): Promise<SourceRow> {
  const { id, secret } = source;
  const values = { ...source, sealed: table.seal(id, secret) };
  const { row, isNew } = await saveRow(change, table, { id, values });
  change.metaEvent(isNew ? 'source.created' : 'source.updated', () => sourceData(row));
  return row;
}

export async function deleteSource(change: ConfigChange, table: SourceStore, id: string): Promise<void> {
  for (const row of await deleteRows(change, table, { column: 'id', value: id }))
    change.metaEvent('source.deleted', () => sourceData(row));
}

/** The source as meta events show it, without the verifier. */
function sourceData(row: SourceRow): object {
  return {
    uid: row.id,
    project_id: row.project_id,
    ...metaValues(sourceFields, row),
    ...rowTimes(row),
  };
}
