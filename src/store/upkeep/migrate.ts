import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from '../../platform/logger.ts';
import { StartupError } from '../../platform/startup-error.ts';
import type { Database, Queryable } from '../database/database.ts';
import { isLockFailure } from '../database/pg-errors.ts';
import { namingRights, refuseOldServer, refusePooler } from '../database/usable-server.ts';

/**
 * Migrates the schema to the newest version while nodes run. Forward only; each file runs in one transaction
 * with its entry in `schema_migrations`. An advisory lock serialises nodes that start together. It is polled,
 * so that no statement timeout ends the wait. A node waits for another's migration for as long as a migration
 * may take, and logs that every few seconds.
 *
 * A queued `ACCESS EXCLUSIVE` lock blocks every later query on the table, event inserts included. So a
 * migration that does not get its locks within LOCK_WAIT (because of a backup or a long search) rolls back,
 * pauses for as long and tries again.
 *
 * A migration that takes away what older nodes use says so in a line `-- needs: NNNN`: it is refused while a node that
 * does not know migration NNNN is alive, and such a node is refused afterwards. Where NNNN is its own number no node is
 * at work while it runs, so it may read all that is stored.
 *
 * A database may have newer migrations than this program: that is a rolling update. It must not have other ones.
 */
const MIGRATIONS = join(import.meta.dirname, '../../../migrations');
const LOCK = 7_305_501;
const LOCK_WAIT_MS = 1_000;
const TRIES = 60;
const SAY_EVERY_MS = 5_000;
/** For a migration that reads all stored rows. A server that has vanished is not awaited longer. */
const LONGEST_MS = 6 * 3_600_000;
/** A node that is silent for longer has lost its rows to the others. */
const ALIVE = '10 seconds';
const NEEDS = /^-- needs: (\d{4})$/m;

export async function migrate(db: Database, log: Logger, directory: string = MIGRATIONS): Promise<string[]> {
  await refuseOldServer(db);
  await refusePooler(db);
  const files = await listMigrations(directory);
  const done: string[] = [];
  for (;;) {
    const name = await applyNext({ db, log }, directory, files).catch(async (error: unknown) => {
      throw await namingRights(db, error);
    });
    if (name === null) return done;
    done.push(name);
  }
}

export async function listMigrations(directory: string = MIGRATIONS): Promise<string[]> {
  return (await readdir(directory)).filter((name) => name.endsWith('.sql')).sort();
}

/** The number of the newest migration that this program knows. */
export async function newestMigration(): Promise<string> {
  return numberOf((await listMigrations()).at(-1) ?? '');
}

function numberOf(name: string): string {
  return name.slice(0, 4);
}

/** Creates the schema of these migrations, in the caller's transaction. */
export async function applyMigrations(tx: Queryable, names: readonly string[]): Promise<void> {
  await applied(tx);
  for (const name of names) await apply(tx, MIGRATIONS, name);
}

/** The name of the applied migration. Null: none was left. */
async function applyNext(
  { db, log }: { db: Database; log: Logger },
  directory: string,
  files: string[],
): Promise<string | null> {
  const wait = new TurnWait(db, log);
  for (let tries = 1; ; ) {
    try {
      const turn = await db.transaction(async (tx) => {
        if (!(await takeLock(tx))) return 'taken';
        await tx.query(
          `set local lock_timeout = ${LOCK_WAIT_MS}; set local statement_timeout = ${LONGEST_MS}`,
        );
        const done = await applied(tx);
        refuseOtherSchema([...done.keys()], files);
        refuseNewerSchema(done, files);
        const next = files.find((name) => !done.has(name));
        if (next !== undefined) await apply(tx, directory, next);
        return { applied: next ?? null };
      }, LONGEST_MS);
      if (turn !== 'taken') return turn.applied;
      await wait.pause();
    } catch (error) {
      if (!isLockFailure(error)) throw error;
      if (tries === TRIES) throw new StartupError(await describeWait(db), { cause: error });
      tries += 1;
      await sleep(LOCK_WAIT_MS);
    }
  }
}

async function takeLock(tx: Queryable): Promise<boolean> {
  const [row] = await tx.query<{ taken: boolean }>('select pg_try_advisory_xact_lock($1) as taken', [LOCK]);
  return row?.taken === true;
}

/** The wait for another node's migration. It logs the wait, and gives up when no migration can take so long. */
class TurnWait {
  readonly #db: Database;
  readonly #log: Logger;
  readonly #startedAt = performance.now();
  #saidAt = performance.now();
  /** Most waits are short: nodes that start together find that nothing is left to do. */
  #pauseMs = 50;

  constructor(db: Database, log: Logger) {
    this.#db = db;
    this.#log = log;
  }

  async pause(): Promise<void> {
    await this.#say();
    await sleep(this.#pauseMs);
    this.#pauseMs = Math.min(2 * this.#pauseMs, LOCK_WAIT_MS);
  }

  async #say(): Promise<void> {
    const now = performance.now();
    if (now - this.#saidAt < SAY_EVERY_MS) return;
    this.#saidAt = now;
    const pid = await lockHolder(this.#db);
    const waitedSeconds = Math.round((now - this.#startedAt) / 1000);
    if (now - this.#startedAt > LONGEST_MS)
      throw new StartupError(
        `another node has been migrating the schema for ${waitedSeconds} seconds (database session ${pid}): check that session, and start again`,
      );
    this.#log.warn({ pid, waitedSeconds }, 'waiting for another node, which migrates the schema');
  }
}

/** The database session that has the lock. Null: none. */
async function lockHolder(db: Database): Promise<number | null> {
  const [row] = await db.query<{ pid: number }>(
    `select pid from pg_locks where locktype = 'advisory' and granted and classid = 0 and objid = $1 and objsubid = 1
       and database = (select oid from pg_database where datname = current_database())`,
    [LOCK],
  );
  return row?.pid ?? null;
}

async function apply(tx: Queryable, directory: string, name: string): Promise<void> {
  const text = await readFile(join(directory, name), 'utf8');
  const needs = NEEDS.exec(text)?.[1];
  if (needs !== undefined) await refuseOlderNodes(tx, name, needs);
  await tx.query(text);
  await tx.query('insert into schema_migrations (name, needs) values ($1, $2)', [name, needs]);
}

/** By name: what each needs of the nodes. Read as JSON: in a database of an unreleased build the column may be missing. */
async function applied(tx: Queryable): Promise<Map<string, string | null>> {
  await tx.query(
    `create table if not exists schema_migrations
       (name text primary key, applied_at timestamptz not null default now(), needs text)`,
  );
  const rows = await tx.query<{ name: string; needs: string | null }>(
    "select name, to_jsonb(m) ->> 'needs' as needs from schema_migrations m order by name",
  );
  return new Map(rows.map(({ name, needs }) => [name, needs]));
}

/** The first migration that this program lacks although it is no newer than the ones that it has. */
export function otherMigration(names: readonly string[], files: readonly string[]): string | undefined {
  const newest = numberOf(files.at(-1) ?? '');
  return names.find((name) => !files.includes(name) && numberOf(name) <= newest);
}

function refuseOtherSchema(done: string[], files: string[]): void {
  const other = otherMigration(done, files);
  if (other !== undefined)
    throw new StartupError(
      `the database was made by an unreleased build of Posthorn (migration ${other}), and this version cannot use it: if you need its data, make a backup with that build; then start with a new database`,
    );
}

function refuseNewerSchema(done: Map<string, string | null>, files: string[]): void {
  const newest = numberOf(files.at(-1) ?? '');
  for (const [name, needs] of done) {
    if (needs !== null && needs > newest)
      throw new StartupError(
        `the database's schema is too new for this Posthorn: ${name} needs nodes that know migration ${needs}, and this one knows up to ${newest}; update Posthorn`,
      );
  }
}

/** From now on nodes that do not know this migration refuse to start. */
export async function refuseNodesBefore(tx: Queryable, number: string): Promise<void> {
  await tx.query(
    "update schema_migrations set needs = $1 where name like $1 || '\\_%' and needs is distinct from $1",
    [number],
  );
}

async function refuseOlderNodes(tx: Queryable, name: string, needs: string): Promise<void> {
  const older = await tx.query<{ id: string }>(
    `select id from nodes where beat_at > clock_timestamp() - interval '${ALIVE}' and knows < $1`,
    [needs],
  );
  if (older.length > 0)
    throw new StartupError(
      `${name} removes something that older nodes use, and ${older.length} of them still run (${older.map(({ id }) => id).join(', ')}): ${wayOut(name, needs)}`,
    );
}

/** If only nodes that know the migration itself can work with it, older versions must stop. */
function wayOut(name: string, needs: string): string {
  return needs === numberOf(name)
    ? 'stop all of them first'
    : 'update them to the version before this one first';
}

async function describeWait(db: Database): Promise<string> {
  const rows = await db.query<{ pid: number }>(
    `select pid from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()
       and xact_start < clock_timestamp() - ${LOCK_WAIT_MS} * interval '1 millisecond' order by xact_start`,
  );
  const pids = rows.map(({ pid }) => pid).join(', ');
  return `the schema cannot be migrated while other sessions use its tables (such as a backup; pids ${pids}): start again when they have ended`;
}
