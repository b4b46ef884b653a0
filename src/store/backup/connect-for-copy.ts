import type pg from 'pg';
import { StartupError } from '../../platform/startup-error.ts';
import type { Connection, Queryable } from '../database/database.ts';
import { connectPatiently } from '../database/patient-client.ts';

/**
 * A connection for one long operation: without the limits of the pools, and with settings that give values
 * the same text form on every server.
 */
const SETTINGS =
  "set statement_timeout = 0; set idle_in_transaction_session_timeout = 0; set datestyle = 'ISO, YMD'; set timezone = 'UTC'; set extra_float_digits = 1; set bytea_output = hex";

export async function connectForCopy(connection: Connection): Promise<{ client: pg.Client; db: Queryable }> {
  const connecting = connectPatiently({ ...connection, connectionTimeoutMillis: 5_000 });
  const client = await connecting.catch((error: unknown) => {
    const causes = error instanceof AggregateError ? (error.errors as Error[]) : [error as Error];
    throw new StartupError(
      `the database cannot be used: ${causes.map(({ message }) => message).join(', ')}`,
      {
        cause: error,
      },
    );
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
