import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { SUPERUSER } from './cluster.ts';
import { DATABASE } from './embedded-postgres.ts';
import { type Connection, canConnect } from './ensure-database.ts';
import { SOCKET_PORT } from './socket-directory.ts';

/** The server that a node currently runs on this data directory, if there is one and it accepts our connection. */
export async function findRunningServer(dataDir: string): Promise<Connection | undefined> {
  const recorded = await readFile(path.join(dataDir, 'socket-directory'), 'utf8').catch(() => '');
  const host = recorded.trim() || path.resolve(dataDir, 'postgres');
  const connection = { host, port: SOCKET_PORT, user: SUPERUSER, database: DATABASE };
  return (await canConnect(connection)) ? connection : undefined;
}
