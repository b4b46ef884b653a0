import { type ChangeStreamSettings, NAME_BYTES } from '../../domain/config/source.ts';
import type { SourceFields } from '../../domain/resources/source-fields.ts';
import { parseDatabaseUrl } from '../../store/database/database-url.ts';
import type { Problems } from '../http/problems.ts';

/** Settings of a source that takes the changes of a PostgreSQL database, complete. No database is contacted. */
export function readChangeStream(
  given: Partial<ChangeStreamSettings>,
  { mask_id: mask }: Pick<SourceFields, 'mask_id'>,
  problems: Problems,
): ChangeStreamSettings {
  const { slot_name = '', publication_name = '', tables = [], snapshot = false } = given;
  const field = (name: string) => `db_change_stream.${name}`;
  const connection_url = problems.text(field('connection_url'), given.connection_url);
  const address = connection_url === '' ? '' : parseDatabaseUrl(connection_url);
  if (typeof address === 'string' && address !== '') problems.add(field('connection_url'), address);
  if (!/^[a-z0-9_]*$/.test(slot_name))
    problems.add(field('slot_name'), 'may have lower case letters, digits and underscores only');
  if (Buffer.byteLength(publication_name) > NAME_BYTES || publication_name.includes('\0'))
    problems.add(field('publication_name'), `must be a name of ${NAME_BYTES} bytes at most`);
  tables.forEach((table, index) => {
    if (!/^[^.\0]+\.[^\0]+$/.test(table)) problems.add(field(`tables.${index}`), 'must be schema.table');
  });
  if (publication_name === '' && tables.length === 0)
    problems.add(field('tables'), 'must name at least one table, unless publication_name is given');
  // Each update makes up the same names, so that an update that does not name them leaves them as they are.
  const madeUp = `posthorn_${mask.toLowerCase()}`;
  return {
    connection_url,
    slot_name: slot_name || madeUp,
    publication_name: publication_name || madeUp,
    tables: [...new Set(tables)],
    snapshot,
  };
}
