import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { inject } from 'vitest';
import { Database } from '../../src/store/database/database.ts';
import { quietLog } from './quiet-log.ts';

/** A separate database for a test, cloned from the migrated template. */
export interface TestDatabase {
  name: string;
  url: string;
  query(text: string, values?: unknown[]): Promise<Record<string, unknown>[]>;
  /** A pool of connections such as a node has. It is closed with the database. */
  open(): Database;
  /** Drops it. */
  stop(): Promise<void>;
}

export async function createTestDatabase(
  options: { empty?: boolean; tablespace?: string | undefined } = {},
): Promise<TestDatabase> {
  const server = inject('postgres');
  const name = `test_${randomBytes(6).toString('hex')}`;
  const place = options.tablespace === undefined ? '' : ` tablespace ${options.tablespace}`;
  await asAdmin(
    `create database ${name} template ${options.empty === true ? 'template0' : 'posthorn_template'}${place}`,
  );
  const url = `postgres://${server.user}@localhost:${server.port}/${name}?host=${encodeURIComponent(server.host)}`;
  const client = new pg.Client({ ...server, database: name });
  await client.connect();
  const pools: Database[] = [];
  return {
    name,
    url,
    query: async (text, values) => (await client.query(text, values)).rows as Record<string, unknown>[],
    open: () => {
      const pool = new Database({ connection: { connectionString: url }, connections: 6, log: quietLog });
      pools.push(pool);
      return pool;
    },
    stop: async () => {
      await Promise.all(pools.map((pool) => pool.close()));
      await client.end();
      await asAdmin(`drop database ${name} with (force)`);
    },
  };
}

export async function asAdmin(statement: string): Promise<void> {
  const client = new pg.Client({ ...inject('postgres'), database: 'posthorn' });
  await client.connect();
  try {
    await client.query(statement);
  } finally {
    await client.end();
  }
}

/** Updates and deletes of a table fail, those of one project or of all, until the returned function is called. */
export async function refuseWrites(
  database: TestDatabase,
  table: string,
  projectId?: string,
): Promise<() => Promise<unknown>> {
  const of = projectId === undefined ? '' : `when (old.project_id = '${projectId}')`;
  await database.query(
    `create or replace function refuse() returns trigger language plpgsql as $$ begin raise exception 'refused'; end $$`,
  );
  await database.query(
    `create trigger refuse before update or delete on ${table} for each row ${of} execute function refuse()`,
  );
  return () => database.query(`drop trigger refuse on ${table}`);
}
