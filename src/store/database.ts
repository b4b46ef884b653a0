import pg from 'pg';
import { AppError } from '../domain/errors.ts';
import type { Logger } from '../platform/logger.ts';
import { isTimeout } from './pg-errors.ts';

/**
 * The two pools of a node. `hot` serves accept, claim and finish: their statements are prepared once, run with a
 * generic plan, and joins that could flip to scanning a whole table are switched off there. `general` serves
 * everything else, so that a slow list cannot hold up deliveries.
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
pg.types.setTypeParser(pg.types.builtins.TIMESTAMPTZ, (text) => Date.parse(text));
pg.types.setTypeParser(pg.types.builtins.INT8, Number);

const HOT_SETTINGS =
  "set plan_cache_mode = force_generic_plan; set enable_hashjoin = off; set enable_mergejoin = off; set enable_seqscan = off; set enable_bitmapscan = off; set jit = off; set statement_timeout = '30s'";
const GENERAL_SETTINGS = "set statement_timeout = '60s'; set jit = off";

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
  readonly #options: DatabaseOptions;
  #roundTrips = 0;

  constructor(options: DatabaseOptions) {
    this.#options = options;
    const hot = Math.max(2, Math.floor(options.connections / 3));
    this.#hot = this.#pool(hot, HOT_SETTINGS);
    this.#general = this.#pool(options.connections - hot, GENERAL_SETTINGS);
  }

  get roundTrips(): number {
    return this.#roundTrips;
  }

  async query<R extends object>(text: string, values: unknown[] = []): Promise<R[]> {
    this.#roundTrips += 1;
    return (await this.#general.query(text, values)).rows as R[];
  }

  /** A statement of the hot path: prepared under its name on each hot connection. */
  async hot<R extends object>(name: string, text: string, values: unknown[]): Promise<R[]> {
    this.#roundTrips += 1;
    return (await this.#hot.query({ name, text, values })).rows as R[];
  }

  transaction<T>(work: (tx: Queryable) => Promise<T>): Promise<T> {
    return this.#transact(this.#general, work);
  }

  /** A transaction of hot statements, with their plans. */
  hotTransaction<T>(work: (tx: HotQueryable) => Promise<T>): Promise<T> {
    return this.#transact(this.#hot, work);
  }

  async #transact<T>(pool: pg.Pool, work: (tx: HotQueryable) => Promise<T>): Promise<T> {
    const client = await pool.connect();
    let broken: Error | undefined;
    // The statement under way is rejected as well; without a listener the lost connection would end the process.
    const lost = (error: Error) => {
      broken = error;
    };
    client.on('error', lost);
    try {
      await client.query('begin');
      const result = await work({
        query: (text, values) => this.#count(client.query(text, values)),
        hot: (name, text, values) => this.#count(client.query({ name, text, values })),
      });
      await client.query('commit');
      return result;
    } catch (error) {
      await client.query('rollback').catch(lost);
      throw error;
    } finally {
      client.off('error', lost);
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
      await this.query('select 1');
      return null;
    } catch (error) {
      // Where a name has several addresses the failures come together, under no message of their own.
      const causes = error instanceof AggregateError ? (error.errors as Error[]) : [error as Error];
      return causes.map(({ message }) => message).join(', ');
    }
  }

  /** A connection of its own, for LISTEN and for locks that live as long as the session. */
  async dedicated(): Promise<pg.Client> {
    const client = new pg.Client({ ...this.#options.connection, keepAlive: true });
    await client.connect();
    return client;
  }

  async close(): Promise<void> {
    await Promise.all([this.#hot.end(), this.#general.end()]);
  }

  async #count<R extends object>(result: Promise<pg.QueryResult>): Promise<R[]> {
    this.#roundTrips += 1;
    return (await result).rows as R[];
  }

  #pool(max: number, settings: string): pg.Pool {
    const pool = new pg.Pool({
      ...this.#options.connection,
      max,
      connectionTimeoutMillis: 5_000,
      idleTimeoutMillis: 60_000,
      keepAlive: true,
      // The pool waits for the promise before it hands the connection out; its types do not say so.
      onConnect: (client) => client.query(settings) as unknown as void,
    });
    // An idle connection that breaks is replaced on next use; without a listener it would end the process.
    pool.on('error', (error) => this.#options.log.warn({ err: error.message }, 'database connection lost'));
    return pool;
  }
}
