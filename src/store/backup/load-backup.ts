import pg from 'pg';
import { StartupError } from '../../platform/startup-error.ts';
import type { Connection, Queryable } from '../database/database.ts';
import { applyMigrations, listMigrations, otherMigration } from '../upkeep/migrate.ts';
import { createPartitions } from '../upkeep/partitions.ts';
import type { BackupHeader } from './backup-header.ts';
import { type BackupReader, damaged } from './backup-reader.ts';
import { connectForCopy } from './connect-for-copy.ts';
import { copyIn } from './copy.ts';

const ENDED: ReadonlySet<string> = new Set(['sessions', 'sign_in_links']);

/** Asked before anything is made. */
export async function refuseUnknownSchema({ schema, version }: BackupHeader): Promise<void> {
  const known = await listMigrations();
  const other = otherMigration(schema, known);
  if (other !== undefined)
    throw new StartupError(
      `the backup was made by an unreleased build of Posthorn (migration ${other}): only that build can restore it`,
    );
  const unknown = schema.find((name) => !known.includes(name));
  if (unknown !== undefined)
    throw new StartupError(
      `the backup was made by Posthorn ${version} with a newer schema (${unknown}; this one knows up to ${known.at(-1)}): update Posthorn`,
    );
}

/**
 * Fills an empty database from a backup whose header has been read: the schema of that time, by its
 * migrations, and every row. It uses one transaction, which commits only when the whole backup has been
 * verified. The next start applies newer migrations, as for any other old database.
 */
export async function loadBackup(
  connection: Connection,
  header: BackupHeader,
  reader: BackupReader,
): Promise<{ id: string; name: string }[]> {
  const { client, db } = await connectForCopy(connection);
  try {
    await db.query('begin');
    await refuseUsedDatabase(db);
    await applyMigrations(db, header.schema);
    await createPartitions(db, header.partitions);
    for await (const { table, columns, rows } of reader.tables()) {
      const name = pg.escapeIdentifier(table);
      const names = columns.map((column) => pg.escapeIdentifier(column)).join(', ');
      // A migration may have inserted rows. The backup has their latest state.
      await db.query(`truncate ${name}`);
      await copyIn(client, `copy ${name} (${names}) from stdin`, rows).catch(asDamage);
      // A session may have ended since the backup, and a link may have been used.
      if (ENDED.has(table)) await db.query(`truncate ${name}`);
    }
    await db.query('commit');
    await db.query('analyze');
    return await brokerSources(db);
  } finally {
    await client.end();
  }
}

/** Sources that may have acknowledged messages since the backup. This database does not have those messages. */
function brokerSources(db: Queryable): Promise<{ id: string; name: string }[]> {
  return db.query(
    `select id, name from sources where deleted_at is null and type in ('pub_sub', 'db_change_stream') order by id`,
  );
}

async function refuseUsedDatabase(db: Queryable): Promise<void> {
  const used = await db.query(
    `select 1 from pg_class where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') limit 1`,
  );
  if (used.length > 0)
    throw new StartupError('the database is not empty: a backup is restored into a new database only');
}

/** A row that the server cannot read was not written by a server. */
function asDamage(error: unknown): never {
  if (error instanceof pg.DatabaseError && error.code?.startsWith('22') === true)
    throw damaged(error.message);
  throw error;
}
