import type pg from 'pg';
import { createLogger } from '../../platform/logger.ts';
import { StartupError } from '../../platform/startup-error.ts';
import type { Connection, Queryable } from '../database/database.ts';
import { connectPatiently } from '../database/patient-client.ts';
import { reasonOf } from '../database/pg-errors.ts';
import { Servers } from '../database/servers/servers.ts';

/**
 * A connection for one long operation: without the limits of the pools, and with settings that give values
 * the same text form on every server.
 */
const SETTINGS =
  "set statement_timeout = 0; set idle_in_transaction_session_timeout = 0; set datestyle = 'ISO, YMD'; set timezone = 'UTC'; set extra_float_digits = 1; set bytea_output = hex";

export async function connectForCopy(connection: Connection): Promise<{ client: pg.Client; db: Queryable }> {
  const client = await connect(connection).catch((error: unknown) => {
    throw new StartupError(`the database cannot be used: ${reasonOf(error)}`, { cause: error });
  });
  await client.query(SETTINGS);
  return {
    client,
    db: {
      query: async <R extends object>(text: string, values?: unknown[]) =>
        (await client.query(text, values)).rows as R[],
    },
  };
}

async function connect(connection: Connection): Promise<pg.Client> {
  const config = { ...connection, connectionTimeoutMillis: 5_000 };
  const servers = Servers.of(connection.connectionString, { log: createLogger('warn') });
  if (servers === null) return connectPatiently(config);
  try {
    return await servers.connect(config);
  } finally {
    await servers.stop();
  }
}
