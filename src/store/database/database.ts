import pg from 'pg';
import { AppError } from '../../domain/errors.ts';
import type { Logger } from '../../platform/logger.ts';
import {
  connectPatiently,
  PatientClient,
  type PatientClientConfig,
  type PatientQuery,
  patiently,
  survives,
} from './patient-client.ts';
import { isConnectionError, isTimeout, markUndone } from './pg-errors.ts';
import { parseTimestamp } from './timestamp.ts';

/**
 * The pools of a node. `hot` serves accept, claim and finish: their statements are prepared once, run with a
 * generic plan, and joins that could flip to scanning a whole table are switched off there. `general` serves
 * everything else, so that a slow list cannot hold up deliveries. `lease` is one connection for heartbeats alone: a
 * beat that had to queue behind others' statements could cost this node its lease.
 *
 * Every statement has two limits: the server's, after which it is rolled back, and a later one here, after which the
 * connection is given up. The second is for a server that is no longer there to keep the first: a peer that vanished
 * without closing would otherwise be waited for until the kernel gives up, a quarter of an hour.
 *
 * `roundTrips` counts statements sent; a test holds the hot path to its budget with it.
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

/** What an answer may take at most, and a new connection: a little longer than the server's own limit. */
const HOT = { settings: HOT_SETTINGS, answerMs: 10_000, connectMs: 5_000 };
const GENERAL = { settings: GENERAL_SETTINGS, answerMs: 65_000, connectMs: 5_000 };
const LEASE = { settings: LEASE_SETTINGS, answerMs: 2_500, connectMs: 2_500 };

/** Whoever asks whether the database is there wants to know soon. */
const READY_MS = 2_000;

/** The most that one statement of a list or search may take. */
export const READING_MS = 5_000;

export interface DatabaseOptions {
  connection: Connection;
  connections: number;
  log: Logger;
}

export class Database implements HotQueryable {
  readonly #general: pg.Pool;
  readonly #hot: pg.Pool;
  readonly #lease: pg.Pool;
  readonly #options: DatabaseOptions;
  #roundTrips = 0;
  #closing: Promise<void> | undefined;

  constructor(options: DatabaseOptions) {
    this.#options = options;
    const hot = Math.max(2, Math.floor(options.connections / 3));
    this.#hot = this.#pool(hot, HOT);
    this.#general = this.#pool(Math.max(2, options.connections - hot - 1), GENERAL);
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

  get roundTrips(): number {
    return this.#roundTrips;
  }

  async query<R extends object>(text: string, values: unknown[] = []): Promise<R[]> {
    this.#roundTrips += 1;
    return (await this.#statement(this.#general, { text, values })).rows as R[];
  }

  /** A statement of the hot path: prepared under its name on each hot connection. */
  async hot<R extends object>(name: string, text: string, values: unknown[]): Promise<R[]> {
    this.#roundTrips += 1;
    return (await this.#statement(this.#hot, { name, text, values })).rows as R[];
  }

  /** A heartbeat, on the connection that serves nothing else. */
  async beat<R extends object>(name: string, text: string, values: unknown[]): Promise<R[]> {
    this.#roundTrips += 1;
    return (await this.#statement(this.#lease, { name, text, values })).rows as R[];
  }

  /** `answerMs`: what an answer may take, where that is not the pool's own limit. */
  transaction<T>(work: (tx: Queryable) => Promise<T>, answerMs?: number): Promise<T> {
    return this.#transact(this.#general, work, answerMs);
  }

  /** A transaction of hot statements, with their plans. */
  hotTransaction<T>(work: (tx: HotQueryable) => Promise<T>): Promise<T> {
    return this.#transact(this.#hot, work);
  }

  /** As the pool itself would do it, except that a statement that was never sent is known as such. */
  async #statement(pool: pg.Pool, statement: pg.QueryConfig): Promise<pg.QueryResult> {
    const client = await connected(pool);
    let failure: Error | undefined;
    try {
      return await client.query(statement);
    } catch (error) {
      failure = error as Error;
      throw error;
    } finally {
      client.release(failure);
    }
  }

  async #transact<T>(pool: pg.Pool, work: (tx: HotQueryable) => Promise<T>, answerMs?: number): Promise<T> {
    const client = await connected(pool);
    const limit = answerMs === undefined ? {} : { answerMs };
    let broken: Error | undefined;
    let isCommitting = false;
    try {
      await client.query('begin');
      const result = await work({
        query: (text, values) => this.#count(client.query({ text, values, ...limit } as PatientQuery)),
        hot: (name, text, values) => this.#count(client.query({ name, text, values })),
      });
      isCommitting = true;
      await client.query('commit');
      return result;
    } catch (error) {
      if (!isCommitting) markUndone(error);
      // On a connection that does not answer a rollback would only wait as well; closing it has the same effect.
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
   * Reads of a list or search: no longer than five seconds each, and by index only. A list ends after a page, so walking
   * an index in order is right even where statistics say that sorting the whole table would be cheaper.
   */
  async reading<T>(work: (tx: Queryable) => Promise<T>): Promise<T> {
    const reading = this.transaction(async (tx) => {
      await tx.query(
        `set transaction read only; set local statement_timeout = ${READING_MS}; set local enable_seqscan = off; set local enable_bitmapscan = off; set local enable_hashjoin = off; set local enable_mergejoin = off`,
      );
      return work(tx);
    });
    return reading.catch((error: unknown) => {
      if (!isTimeout(error)) throw error;
      throw new AppError('search_timeout', { seconds: READING_MS / 1000 }, { cause: error });
    });
  }

  /** null if the database answers, else what is wrong with it. */
  async problem(): Promise<string | null> {
    try {
      this.#roundTrips += 1;
      const query: PatientQuery = { text: 'select 1', answerMs: READY_MS };
      await patiently(() => this.#general.query(query));
      return null;
    } catch (error) {
      // Where a name has several addresses the failures come together, under no message of their own.
      const causes = error instanceof AggregateError ? (error.errors as Error[]) : [error as Error];
      return causes.map(({ message }) => message).join(', ');
    }
  }

  /** A connection of its own, for LISTEN and for locks that live as long as the session. */
  dedicated(): Promise<pg.Client> {
    return connectPatiently({
      ...this.#options.connection,
      connectionTimeoutMillis: GENERAL.connectMs,
      answerMs: GENERAL.answerMs,
    });
  }

  /** Can be called twice. */
  close(): Promise<void> {
    this.#closing ??= Promise.all([this.#hot.end(), this.#general.end(), this.#lease.end()]).then(() => {});
    return this.#closing;
  }

  async #count<R extends object>(result: Promise<pg.QueryResult>): Promise<R[]> {
    this.#roundTrips += 1;
    return (await result).rows as R[];
  }

  #pool(max: number, limits: typeof HOT): pg.Pool {
    const config: pg.PoolConfig & PatientClientConfig = {
      ...this.#options.connection,
      Client: PatientClient,
      max,
      connectionTimeoutMillis: limits.connectMs,
      answerMs: limits.answerMs,
      idleTimeoutMillis: 60_000,
      keepAlive: true,
      // The pool waits for the promise before it hands the connection out; its types do not say so.
      onConnect: (client) => client.query(limits.settings) as unknown as void,
    };
    const pool = new pg.Pool(config);
    pool.on('connect', survives);
    // An idle connection that breaks is replaced on next use; without a listener it would end the process.
    pool.on('error', (error) => {
      if (this.#closing === undefined)
        this.#options.log.warn({ err: error.message }, 'database connection lost');
    });
    return pool;
  }
}

async function connected(pool: pg.Pool): Promise<pg.PoolClient> {
  try {
    return await patiently(() => pool.connect());
  } catch (error) {
    markUndone(error);
    throw error;
  }
}
