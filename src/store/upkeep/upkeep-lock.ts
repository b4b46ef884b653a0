import type { Database, Queryable } from '../database/database.ts';
import { isLockTimeout } from '../database/pg-errors.ts';

/**
 * One node at a time does upkeep, on a session that has a lock. A step that must not happen twice, such as
 * dropping a table, runs on that session. A node that has lost the session therefore cannot run it.
 *
 * No statement on the session waits for a lock, or for other transactions, longer than LOCK_MS. `signal` ends
 * a wait at once.
 */
const UPKEEP_LOCK = 7_305_505;
const LOCK_MS = 2_000;
/** Below the limit of the client, which would close the session. */
const STATEMENT_MS = 50_000;

/** Null: another node does it. */
export async function withUpkeepLock<T>(
  db: Database,
  signal: AbortSignal,
  work: (session: Queryable) => Promise<T>,
): Promise<T | null> {
  const client = await db.dedicated();
  const session: Queryable = {
    query: async <R extends object>(text: string, values?: unknown[]) =>
      (await client.query(text, values)).rows as R[],
  };
  try {
    const [backend] = await session.query<{ pid: number }>('select pg_backend_pid() as pid');
    await session.query(`set lock_timeout = ${LOCK_MS}; set statement_timeout = ${STATEMENT_MS}`);
    if (!(await inTime(session, `select pg_advisory_lock(${UPKEEP_LOCK})`))) return null;
    const cancel = () => {
      // Without it the session ends too, after at most LOCK_MS.
      db.query('select pg_cancel_backend($1)', [backend?.pid]).catch(() => undefined);
    };
    signal.addEventListener('abort', cancel);
    try {
      return await work(session);
    } finally {
      signal.removeEventListener('abort', cancel);
    }
  } finally {
    await client.end();
  }
}

/** On the session. False: other transactions blocked it for too long. */
export async function inTime(session: Queryable, statement: string): Promise<boolean> {
  try {
    await session.query(statement);
    return true;
  } catch (error) {
    if (isLockTimeout(error)) return false;
    throw error;
  }
}
