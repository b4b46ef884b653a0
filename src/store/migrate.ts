import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { StartupError } from '../domain/startup-error.ts';
import type { Database, Queryable } from './database.ts';

/**
 * Brings the schema to the newest version. Forward only; each file runs in one transaction with its entry in
 * `schema_migrations`. An advisory lock lets nodes that start together wait for the one that migrates.
 */
const MIGRATIONS = join(import.meta.dirname, '../../migrations');
const LOCK = 7_305_501;
const OLDEST_SERVER = 150_000;

export async function migrate(db: Database): Promise<string[]> {
  await refuseOldServer(db);
  const files = (await readdir(MIGRATIONS)).filter((name) => name.endsWith('.sql')).sort();
  return db.transaction(async (tx) => {
    await tx.query('select pg_advisory_xact_lock($1)', [LOCK]);
    const done = await applied(tx);
    const pending = files.filter((name) => !done.has(name));
    for (const name of pending) {
      await tx.query(await readFile(join(MIGRATIONS, name), 'utf8'));
      await tx.query('insert into schema_migrations (name) values ($1)', [name]);
    }
    return pending;
  });
}

async function applied(tx: Queryable): Promise<Set<string>> {
  await tx.query(
    'create table if not exists schema_migrations (name text primary key, applied_at timestamptz not null default now())',
  );
  const rows = await tx.query<{ name: string }>('select name from schema_migrations');
  return new Set(rows.map((row) => row.name));
}

async function refuseOldServer(db: Database): Promise<void> {
  const [row] = await db.query<{ version: number; text: string }>(
    "select current_setting('server_version_num')::int as version, current_setting('server_version') as text",
  );
  if (row !== undefined && row.version < OLDEST_SERVER)
    throw new StartupError(`the database is PostgreSQL ${row.text}; Posthorn needs 15 or newer`);
}
