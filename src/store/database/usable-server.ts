import { randomInt } from 'node:crypto';
import { StartupError } from '../../platform/startup-error.ts';
import type { Database } from './database.ts';
import { isMissingRight, isProtocolViolation, reasonOf } from './pg-errors.ts';

/** Checks of a database before anything is changed in it. */
const OLDEST_SERVER = 150_000;
const MOST_KEY = 2 ** 47;

export async function refuseOldServer(db: Database): Promise<void> {
  const [row] = await db.query<{ version: number; text: string }>(
    "select current_setting('server_version_num')::int as version, current_setting('server_version') as text",
  );
  if (row !== undefined && row.version < OLDEST_SERVER)
    throw new StartupError(`the database is PostgreSQL ${row.text}; Posthorn needs 15 or newer`);
}

/** A node needs sessions of its own: for prepared statements, settings, locks and LISTEN. */
export async function refusePooler(db: Database): Promise<void> {
  if (await keepsSession(db)) return;
  throw new StartupError(
    'the database is behind a pooler that gives each transaction another session: set the pooler to session mode (pgbouncer: pool_mode = session), or connect to the server itself',
  );
}

/**
 * Whether a connection keeps its session. A pooler may hand out sessions in turn: then the second statement already has
 * another one. Or it hands out the one that came free last: then a transaction of another connection gets this one's.
 */
async function keepsSession(db: Database): Promise<boolean> {
  const client = await db.dedicated();
  try {
    const ask = async (what: string, ...values: unknown[]) =>
      (await client.query(`select pg_backend_pid() as pid, ${what} as "isHeld"`, values)).rows[0] as {
        pid: number;
        isHeld: boolean;
      };
    const key = randomInt(MOST_KEY);
    const { pid } = await ask('pg_advisory_lock($1) is null', key);
    if ((await ask('true')).pid !== pid) return false;
    return await db.transaction(async (tx) => {
      const [other] = await tx.query<{ pid: number }>('select pg_backend_pid() as pid');
      if (other?.pid === pid) return false;
      const now = await ask('pg_advisory_unlock($1)', key);
      return now.pid === pid && now.isHeld;
    });
  } catch (error) {
    // A pooler in statement mode takes no transactions.
    if (isProtocolViolation(error)) return false;
    throw error;
  } finally {
    await client.end();
  }
}

interface Rights {
  role: string;
  schema: string;
  usage: boolean;
  create: boolean;
}

/** The error that says which rights the role lacks, if that is why a migration failed. */
export async function namingRights(db: Database, error: unknown): Promise<unknown> {
  if (!isMissingRight(error)) return error;
  const [found] = await db.query<Rights>(
    `select quote_ident(current_user) as role, quote_ident(nspname) as schema,
       has_schema_privilege(oid, 'usage') as usage, has_schema_privilege(oid, 'create') as create
     from pg_namespace where nspname = coalesce(current_schema(), 'public')`,
  );
  if (found === undefined) return error;
  const missing = (['usage', 'create'] as const).filter((right) => !found[right]);
  const advice =
    missing.length > 0
      ? `run in it, as its owner: grant ${missing.join(', ')} on schema ${found.schema} to ${found.role}`
      : 'use the role that owns the tables';
  return new StartupError(
    `the role ${found.role} lacks rights in the database (${reasonOf(error)}): ${advice}`,
    { cause: error },
  );
}
