import type { Queryable } from '../database/database.ts';
import { type CellIdentity, readIdentity } from './cells.ts';

/** The content of a database before it becomes a cell. */
export interface DatabaseUse {
  /** No table at all. */
  isEmpty: boolean;
  hasSchema: boolean;
  /** Deleted ones too. */
  hasProjects: boolean;
  hasSecrets: boolean;
  identity: CellIdentity | undefined;
}

export async function databaseUse(db: Queryable): Promise<DatabaseUse> {
  const [found] = await db.query<{ tables: number; has_schema: boolean; has_identity: boolean }>(
    `select (select count(*)::int from pg_class
         where relnamespace = 'public'::regnamespace and relkind in ('r', 'p', 'v')) as tables,
       to_regclass('public.schema_migrations') is not null as has_schema,
       to_regclass('public.cell_identity') is not null as has_identity`,
  );
  const hasSchema = found?.has_schema === true;
  return {
    isEmpty: found?.tables === 0,
    hasSchema,
    hasProjects: hasSchema && (await hasRows(db, 'projects')),
    hasSecrets: hasSchema && (await hasRows(db, 'instance_secrets')),
    identity: found?.has_identity === true ? await readIdentity(db) : undefined,
  };
}

async function hasRows(db: Queryable, table: string): Promise<boolean> {
  return (await db.query(`select 1 from ${table} limit 1`)).length > 0;
}

/** The hashes of keys and tokens are the same in every cell. */
export async function copySecrets(home: Queryable, tx: Queryable): Promise<void> {
  const secrets = await home.query<{ name: string; sealed: Buffer }>(
    'select name, sealed from instance_secrets',
  );
  for (const { name, sealed } of secrets)
    await tx.query('insert into instance_secrets (name, sealed) values ($1, $2) on conflict do nothing', [
      name,
      sealed,
    ]);
  const keys = await home.query<{ id: string }>('select id from secret_keys');
  for (const { id } of keys)
    await tx.query('insert into secret_keys (id) values ($1) on conflict do nothing', [id]);
}

export interface CellFacts {
  identity: CellIdentity | undefined;
  migrations: string[];
  projects: number;
  /** Sealed. */
  lookupKey: Buffer | null;
  sealKeys: string[];
  nowMs: number;
}

/** Reads a database that has the schema of cells. */
export async function cellFacts(db: Queryable): Promise<CellFacts> {
  const [row] = await db.query<Omit<CellFacts, 'identity'>>(
    `select array(select name from schema_migrations order by name) as migrations,
       (select count(*)::int from projects where deleted_at is null) as projects,
       (select sealed from instance_secrets where name = 'lookup key') as "lookupKey",
       array(select id from secret_keys order by id) as "sealKeys",
       extract(epoch from clock_timestamp())::float8 * 1000 as "nowMs"`,
  );
  return { ...(row as Omit<CellFacts, 'identity'>), identity: await readIdentity(db) };
}

/** The name of a project that another one has in the target. Null: none has. */
export async function takenName(
  { source, target }: { source: Queryable; target: Queryable },
  projectId: string,
): Promise<string | null> {
  const [project] = await source.query<{ name: string }>('select name from projects where id = $1', [
    projectId,
  ]);
  const taken = await target.query(
    'select 1 from projects where name = $1 and deleted_at is null and id <> $2',
    [project?.name ?? '', projectId],
  );
  return taken.length > 0 ? (project?.name ?? '') : null;
}
