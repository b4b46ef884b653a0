import { channel } from 'node:diagnostics_channel';
import pg from 'pg';
import { AppError, type DatabaseFault } from '../../domain/errors.ts';
import { Turns } from '../../platform/turns.ts';
import {
  connectPatiently,
  PatientClient,
  type PatientClientConfig,
  type PatientQuery,
  patiently,
  survives,
} from './patient-client.ts';
import { faultOf, isConnectionError, isTimeout, markFault, markUndone, reasonOf } from './pg-errors.ts';
import { LOOK } from './servers/server-look.ts';
import { type OldPrimaryAccepted, Servers, type ServersOptions } from './servers/servers.ts';
import { type LogPosition, StandbyReads } from './servers/standby-reads.ts';
import { parseTimestamp } from './timestamp.ts';
import { type WriteFault, WriteWatch } from './write-watch.ts';

/**
 * The pools of a node. `hot` serves accept, claim and finish. Its statements are prepared once and run with a
 * generic plan, and join types that could flip to a full scan are disabled. `general` serves everything else,
 * so that a slow list cannot delay deliveries. `lease` is one connection for heartbeats alone, because a
 * heartbeat that waits behind other statements could cost this node its lease.
 *
 * Every statement has two limits: the server's, after which it is rolled back, and a later one here, after
 * which the connection is closed. The second is for a server that has vanished without closing. The kernel
 * alone would wait for it a quarter of an hour.
 */
export interface Queryable {
  query<R extends object>(text: string, values?: unknown[]): Promise<R[]>;
}

/** Statements of the hot path, prepared under their names. */
export interface HotQueryable extends Queryable {
  hot<R extends object>(name: string, text: string, values: unknown[]): Promise<R[]>;
}

export interface Connection {
  connectionString?: string;
  host?: string;
  port?: number;
  user?: string;
  database?: string;
  ssl?: boolean;
}

// Timestamps as milliseconds since 1970, bigint as number (versions and counts stay far below 2^53).
pg.types.setTypeParser(pg.types.builtins.TIMESTAMPTZ, parseTimestamp);
pg.types.setTypeParser(pg.types.builtins.INT8, Number);

const HOT_SETTINGS =
  "set plan_cache_mode = force_generic_plan; set enable_hashjoin = off; set enable_mergejoin = off; set enable_seqscan = off; set enable_bitmapscan = off; set jit = off; set statement_timeout = '8s'";
const GENERAL_SETTINGS = "set statement_timeout = '60s'; set jit = off";
const LEASE_SETTINGS = "set statement_timeout = '2s'";

/** Time limits of an answer and of a new connection, a little longer than the server's own limit. */
const HOT = { settings: HOT_SETTINGS, answerMs: 10_000, connectMs: 5_000 };
const GENERAL = { settings: GENERAL_SETTINGS, answerMs: 65_000, connectMs: 5_000 };
const LEASE = { settings: LEASE_SETTINGS, answerMs: 2_500, connectMs: 2_500 };

/** Readiness checks need a quick result. */
const READY_MS = 2_000;

const READING_MS = 5_000;
/** So many lists of a project may wait for a connection. */
const MOST_WAITING = 100;
/** So many config changes of a project may wait for their turn. */
const MOST_CHANGES_WAITING = 200;

/** The text of each statement, once its effect is committed. Tests count them, and wait for a write. */
export const statements = channel('posthorn:statements');

export interface DatabaseOptions extends ServersOptions {
  connection: Connection;
  connections: number;
  /** The time limit of one statement of a list or search. */
  readingMs?: number;
  /** For reads that may be old. */
  standby?: Database | undefined;
}

export class Database implements HotQueryable {
  readonly readingMs: number;
  readonly #general: pg.Pool;
  readonly #hot: pg.Pool;
  readonly #lease: pg.Pool;
  readonly #readings: Turns;
  readonly #changes: Turns;
  readonly #options: DatabaseOptions;
  /** Null: one server, as the driver finds it. */
  readonly #servers: Servers | null;
  readonly #standby: StandbyReads<Database> | null;
  readonly #writing = new WriteWatch((work) => this.transaction(work));
  #closing: Promise<void> | undefined;

  constructor(options: DatabaseOptions) {
    this.#options = options;
    this.#servers = Servers.of(options.connection.connectionString, options);
    this.#standby = options.standby === undefined ? null : new StandbyReads(options.standby, options.log);
    this.readingMs = options.readingMs ?? READING_MS;
    const hot = Math.max(2, Math.floor(options.connections / 3));
    this.#hot = this.#pool(hot, HOT);
    const general = Math.max(2, options.connections - hot - 1);
    this.#general = this.#pool(general, GENERAL);
    this.#readings = new Turns(Math.ceil(general / 2));
    this.#changes = new Turns(Math.floor(general / 2), 1);
    this.#lease = this.#pool(1, LEASE);
  }

  /** Connections and waiting statements of each pool. */
  pools(): Record<'hot' | 'general' | 'lease', { busy: number; idle: number; waiting: number }> {
    const state = ({ totalCount, idleCount, waitingCount }: pg.Pool) => ({
      busy: totalCount - idleCount,
      idle: idleCount,
      waiting: waitingCount,
    });
    return { hot: state(this.#hot), general: state(this.#general), lease: state(this.#lease) };
  }

  query<R extends object>(text: string, values: unknown[] = []): Promise<R[]> {
    return this.#statement(this.#general, { text, values });
  }

  /** A statement of the hot path: prepared under its name on each hot connection. */
  hot<R extends object>(name: string, text: string, values: unknown[]): Promise<R[]> {
    return this.#statement(this.#hot, { name, text, values });
  }

  /** A heartbeat, on the connection reserved for it. */
  beat<R extends object>(name: string, text: string, values: unknown[]): Promise<R[]> {
    return this.#statement(this.#lease, { name, text, values });
  }

  /** `answerMs`: the time limit of an answer, if it is not the pool's own. */
  transaction<T>(work: (tx: Queryable) => Promise<T>, answerMs?: number): Promise<T> {
    return this.#transact(this.#general, work, answerMs);
  }

  /**
   * A transaction of hot statements, with their plans. Statements that do not wait for each other share a round trip: each
   * is sent at once, and the server runs them in their order. The begin shares that of the first.
   */
  hotTransaction<T>(work: (tx: HotQueryable) => Promise<T>): Promise<T> {
    return this.#transact(this.#hot, work);
  }

  /** Like the pool's own query, but a statement that was never sent is marked as such. */
  async #statement<R extends object>(pool: pg.Pool, statement: pg.QueryConfig): Promise<R[]> {
    const client = await this.#connected(pool);
    let failure: Error | undefined;
    try {
      const { rows } = await client.query(statement);
      statements.publish(statement.text);
      return rows as R[];
    } catch (error) {
      failure = error as Error;
      this.#writing.failed(error);
      throw error;
    } finally {
      client.release(failure);
    }
  }

  async #transact<T>(pool: pg.Pool, work: (tx: HotQueryable) => Promise<T>, answerMs?: number): Promise<T> {
    const client = await this.#connected(pool);
    const limit = answerMs === undefined ? {} : { answerMs };
    let broken: Error | undefined;
    let isCommitting = false;
    const texts: string[] = [];
    const ask = async <R extends object>(statement: PatientQuery): Promise<R[]> => {
      texts.push(statement.text);
      return (await client.query(statement)).rows as R[];
    };
    try {
      const begun = client.query('begin');
      if (!client.pipeline) await begun;
      const working = work({
        query: (text, values) => ask({ text, values, ...limit } as PatientQuery),
        hot: (name, text, values) => ask({ name, text, values }),
      });
      const [result] = await Promise.all([working, begun]);
      // This process may have stood still since the begin.
      if (this.#servers !== null) await this.#servers.ready();
      isCommitting = true;
      await client.query('commit');
      for (const text of texts) statements.publish(text);
      return result;
    } catch (error) {
      if (!isCommitting) markUndone(error);
      this.#writing.failed(error);
      // On a connection that does not answer, a rollback would wait too. Closing it has the same effect.
      if (isConnectionError(error)) broken = error as Error;
      else
        await client.query('rollback').catch((rollbackError: Error) => {
          broken = rollbackError;
        });
      throw error;
    } finally {
      client.release(broken);
    }
  }

  /**
   * Reads of a list or search: at most five seconds each, and by index only. A list ends after a page, so
   * reading an index in order is right even where statistics suggest that sorting the whole table is cheaper.
   *
   * Readings use half of the general connections, and projects share those: slow searches of one project leave
   * connections to the lists of others, and to everything that is not a list.
   */
  async reading<T>(projectId: string, work: (tx: Queryable) => Promise<T>): Promise<T> {
    if (this.#readings.waiting(projectId) >= MOST_WAITING) throw new AppError('overloaded', { retry: 1 });
    return this.#readings.run(projectId, () => this.#read(work));
  }

  async #read<T>(work: (tx: Queryable) => Promise<T>): Promise<T> {
    const reading = this.transaction(async (tx) => {
      await tx.query(
        `set transaction read only; set local statement_timeout = ${this.readingMs}; set local enable_seqscan = off; set local enable_bitmapscan = off; set local enable_hashjoin = off; set local enable_mergejoin = off; set local enable_sort = off`,
      );
      return work(tx);
    });
    return reading.catch((error: unknown) => {
      if (!isTimeout(error)) throw error;
      throw new AppError('search_timeout', { seconds: this.readingMs / 1000 }, { cause: error });
    });
  }

  /** Like `reading`, of the standby if there is one: what was committed in the last seconds may be missing. */
  staleReading<T>(projectId: string, work: (tx: Queryable) => Promise<T>): Promise<T> {
    const onPrimary = () => this.reading(projectId, work);
    if (this.#standby === null) return onPrimary();
    return this.#standby.read((standby) => standby.reading(projectId, work), onPrimary);
  }

  /** A long read of all that is committed now, of the standby if there is one. It is done again here if it fails there. */
  async settledReading<T>(work: (db: Queryable) => Promise<T>): Promise<T> {
    const standby = this.#standby;
    if (standby === null) return work(this);
    const [position] = await this.query<LogPosition>(
      `select timeline, pg_current_wal_insert_lsn()::text as lsn from (${LOOK}) looked`,
    );
    const caughtUp = async () => (position === undefined ? null : standby.caughtUp(position));
    return standby.read(
      async () => work((await caughtUp()) ?? this),
      () => work(this),
    );
  }

  /** Null: there is no standby for reads. */
  isStandbyUp(): boolean | null {
    return this.#standby === null ? null : this.#standby.isUp;
  }

  /** Resolves when an old primary was accepted: nothing that was read of this database before is known to be true. */
  oldPrimaryAccepted(): Promise<OldPrimaryAccepted> {
    return this.#servers === null ? new Promise(() => {}) : this.#servers.over;
  }

  /** When an old primary was accepted last; 0: never. NaN: it is not known. */
  oldPrimaryAcceptedAtMs(): number {
    return this.#servers === null ? Number.NaN : this.#servers.acceptedAtMs;
  }

  /**
   * Config changes that callers ask for: one of a project at a time, because the second would only hold a connection while
   * it waits for the lock of the first. All of them use half of the general connections, and projects take turns.
   */
  async inTurn<T>(projectId: string, change: () => Promise<T>): Promise<T> {
    if (this.#changes.waiting(projectId) >= MOST_CHANGES_WAITING)
      throw new AppError('too_many', {
        who: 'A project',
        limit: MOST_CHANGES_WAITING,
        what: 'waiting config changes',
        retry: 1,
      });
    return this.#changes.run(projectId, change);
  }

  /** Null if the database answers, else the problem in words. */
  async problem(): Promise<string | null> {
    return (await this.trouble())?.words ?? null;
  }

  /** Null if the database answers. */
  async trouble(): Promise<{ fault: DatabaseFault; words: string } | null> {
    try {
      const query: PatientQuery = { text: 'select 1', answerMs: READY_MS };
      await this.#servers?.ready();
      await patiently(() => this.#general.query(query));
      return null;
    } catch (failure) {
      const error = this.#servers === null ? failure : this.#servers.explained(failure);
      return { fault: faultOf(error) ?? 'refused', words: reasonOf(error) };
    }
  }

  /** Why it takes no writes although it answers. Null: as far as is known it does. */
  writeFault(): Promise<WriteFault | null> {
    return this.#writing.fault();
  }

  /** A connection of its own, for LISTEN and for locks that live as long as the session. */
  dedicated(): Promise<pg.Client> {
    const config = {
      ...this.#options.connection,
      connectionTimeoutMillis: GENERAL.connectMs,
      answerMs: GENERAL.answerMs,
    };
    return this.#servers === null ? connectPatiently(config) : this.#servers.connect(config);
  }

  /** One more, without time limits: for COPY. */
  copying(): Promise<pg.Client> {
    return connectPatiently({
      ...this.#options.connection,
      connectionTimeoutMillis: GENERAL.connectMs,
    });
  }

  /** Safe to call twice. */
  close(): Promise<void> {
    this.#closing ??= Promise.all([
      this.#hot.end(),
      this.#general.end(),
      this.#lease.end(),
      this.#servers?.stop(),
      this.#standby?.close(),
    ]).then(() => {});
    return this.#closing;
  }

  #pool(max: number, limits: typeof HOT): pg.Pool {
    const servers = this.#servers;
    const config: pg.PoolConfig & PatientClientConfig = {
      ...this.#options.connection,
      Client: servers === null ? PatientClient : servers.clientClass(),
      max,
      connectionTimeoutMillis: limits.connectMs,
      answerMs: limits.answerMs,
      pipeline: limits === HOT,
      idleTimeoutMillis: 60_000,
      keepAlive: true,
      // The pool waits for the promise before it hands out the connection. Its types do not say so.
      onConnect: (client) =>
        (servers === null
          ? client.query(limits.settings)
          : servers.admit(client as PatientClient, limits.settings)) as unknown as void,
    };
    const pool = new pg.Pool(config);
    pool.on('connect', survives);
    // A broken idle connection is replaced on next use. Without a listener it would end the process.
    pool.on('error', (error) => {
      if (this.#closing === undefined)
        this.#options.log.warn({ err: error.message }, 'database connection lost');
    });
    return pool;
  }

  async #connected(pool: pg.Pool): Promise<pg.PoolClient> {
    try {
      if (this.#servers !== null) await this.#servers.ready();
      return await patiently(() => pool.connect());
    } catch (failure) {
      const error = this.#servers === null ? failure : this.#servers.explained(failure);
      markUndone(error);
      if (faultOf(error) === null) markFault(error, 'refused');
      throw error;
    }
  }
}
