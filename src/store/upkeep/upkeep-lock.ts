import type { Database, Queryable } from '../database/database.ts';
import { isLockTimeout } from '../database/pg-errors.ts';

/**
 * Upkeep is done by one node at a time, on a session that holds a lock: what must not be done twice, such as dropping
 * a table, is done on that session, so a node that has lost it cannot do it any more.
 *
 * No statement on the session waits for a lock, or for others' transactions, longer than LOCK_MS. A wait is given up
 * as soon as `signal` says so.
 */
const LOCK = 7_305_505;
const LOCK_MS = 2_000;
/** Under the limit of the client, which would give up the session. */
const STATEMENT_MS = 50_000;

/** Null: another node is at it. */
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
    if (!(await inTime(session, `select pg_advisory_lock(${LOCK})`))) return null;
    const cancel = () => {
      // The session ends without it as well, after at most LOCK_MS.
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

/** On the session. False: others' transactions were in the way for too long. */
export async function inTime(session: Queryable, statement: string): Promise<boolean> {
  try {
    await session.query(statement);
    return true;
  } catch (error) {
    if (isLockTimeout(error)) return false;
    throw error;
  }
}
