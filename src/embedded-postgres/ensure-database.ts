import { Client, DatabaseError } from 'pg';
import { isConnectionError } from '../store/database/pg-errors.ts';

/** The `pg` connection settings of the embedded server. The host is the directory of its unix socket. */
export interface Connection {
  readonly host: string;
  readonly port: number;
  readonly user: string;
  readonly database: string;
}

const DATABASE_DOES_NOT_EXIST = '3D000';

/** Connects like the pools do, and creates the database on the first start (or after an interrupted one). */
export async function ensureDatabase(connection: Connection): Promise<void> {
  try {
    await query(connection, 'SELECT 1');
  } catch (error) {
    if (!(error instanceof DatabaseError) || error.code !== DATABASE_DOES_NOT_EXIST) throw error;
    await query({ ...connection, database: 'postgres' }, `CREATE DATABASE ${connection.database}`);
  }
}

export async function canConnect(connection: Connection): Promise<boolean> {
  try {
    await query(connection, 'SELECT 1');
    return true;
  } catch (error) {
    // No server listens, or we may not connect to it.
    if (isConnectionError(error)) return false;
    throw error;
  }
}

async function query(connection: Connection, sql: string): Promise<void> {
  const client = new Client({ ...connection, ssl: false });
  // The statement rejects too. Without a listener the lost connection would end the process.
  client.on('error', () => {});
  await client.connect();
  try {
    await client.query(sql);
  } finally {
    await client.end();
  }
}
