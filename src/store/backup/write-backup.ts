import { createHash } from 'node:crypto';
import pg from 'pg';
import { StartupError } from '../../platform/startup-error.ts';
import { VERSION } from '../../platform/version.ts';
import type { Connection, Queryable } from '../database/database.ts';
import { partitionBounds } from '../upkeep/partitions.ts';
import { type BackupHeader, END_OF_TABLE, FORMAT, type TableLine } from './backup-header.ts';
import { connectForCopy } from './connect-for-copy.ts';
import { copyOut } from './copy.ts';

/**
 * The lines of a backup, read in one snapshot: all that was committed when it began, consistently. It takes
 * no lock that affects a running node. Rows that die meanwhile are vacuumed only when it ends.
 */
export async function* writeBackup(
  connection: Connection,
  keys: Pick<BackupHeader, 'key_fingerprint' | 'files'>,
): AsyncGenerator<Buffer> {
  const hash = createHash('sha256');
  const hashed = (bytes: Buffer): Buffer => {
    hash.update(bytes);
    return bytes;
  };
  const { client, db } = await connectForCopy(connection);
  try {
    await db.query('begin isolation level repeatable read, read only');
    yield hashed(line(await makeHeader(db, keys)));
    const rows: Record<string, number> = {};
    for (const table of await listTables(db)) {
      yield hashed(line(table));
      rows[table.table] = 0;
      for await (const { count, bytes } of copyOut(client, copyStatement(table))) {
        rows[table.table] = (rows[table.table] ?? 0) + count;
        yield hashed(bytes);
      }
      yield hashed(Buffer.from(END_OF_TABLE));
    }
    yield line({ rows, sha256: hash.digest('hex') });
  } finally {
    await client.end();
  }
}

async function makeHeader(
  db: Queryable,
  keys: Pick<BackupHeader, 'key_fingerprint' | 'files'>,
): Promise<BackupHeader> {
  const [schema] = await db.query("select 1 where to_regclass('public.schema_migrations') is not null");
  if (schema === undefined)
    throw new StartupError('the database has no schema of Posthorn: there is nothing to back up');
  const migrations = await db.query<{ name: string }>('select name from schema_migrations order by name');
  const [server] = await db.query<{ version: string; now: string }>(
    `select current_setting('server_version') as version,
       to_char(now() at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') as now`,
  );
  return {
    posthorn_backup: FORMAT,
    version: VERSION,
    created_at: server?.now ?? '',
    postgres: server?.version ?? '',
    schema: migrations.map(({ name }) => name),
    partitions: await partitionBounds(db),
    ...keys,
  };
}

/**
 * Every table except the one that the migrations write, and except detached partitions that are not dropped
 * yet. The time in their names identifies those.
 */
function listTables(db: Queryable): Promise<TableLine[]> {
  return db.query<TableLine>(
    `select c.relname::text as table, array_agg(a.attname::text order by a.attnum) as columns
     from pg_class c join pg_attribute a on a.attrelid = c.oid
     where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
       and c.relname <> 'schema_migrations' and c.relname !~ '_[0-9]{10}$'
       and a.attnum > 0 and not a.attisdropped and a.attgenerated = ''
     group by c.relname order by c.relname collate "C"`,
  );
}

/** A query, because PostgreSQL before 18 refuses COPY of a partitioned table by its name. */
function copyStatement({ table, columns }: TableLine): string {
  const names = columns.map((column) => pg.escapeIdentifier(column)).join(', ');
  return `copy (select ${names} from ${pg.escapeIdentifier(table)}) to stdout`;
}

function line(value: object): Buffer {
  return Buffer.from(`${JSON.stringify(value)}\n`);
}
