import { Client, DatabaseError } from 'pg';
import { isConnectionError } from '../store/database/pg-errors.ts';

/** How `pg` connects to the embedded server: host is the directory of its unix socket. */
export interface Connection {
  readonly host: string;
  readonly port: number;
  readonly user: string;
  readonly database: string;
}

const DATABASE_DOES_NOT_EXIST = '3D000';

/** Connects as everybody will, and makes the database if this is the first start (or the first was cut short). */
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
    // Nobody listens, or nobody we may talk to.
    if (isConnectionError(error)) return false;
    throw error;
  }
}

async function query(connection: Connection, sql: string): Promise<void> {
  const client = new Client({ ...connection, ssl: false });
  // The statement is rejected as well; without a listener the lost connection would end the process.
  client.on('error', () => {});
  await client.connect();
  try {
    await client.query(sql);
  } finally {
    await client.end();
  }
}
