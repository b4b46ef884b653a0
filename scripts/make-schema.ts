import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startEmbeddedPostgres } from '../src/embedded-postgres/embedded-postgres.ts';
import { createLogger } from '../src/platform/logger.ts';
import { Database } from '../src/store/database/database.ts';
import { migrate } from '../src/store/upkeep/migrate.ts';
import { dumpSchema } from './dump-schema.ts';

/** The schema after every migration, read back from a real server that exists only for this call. */
export async function makeSchema(): Promise<string> {
  const log = createLogger('silent');
  const dataDir = await mkdtemp(join(tmpdir(), 'posthorn-schema-'));
  const server = await startEmbeddedPostgres({ dataDir, log, settings: { fsync: 'off' } });
  const db = new Database({ connection: { ...server.connection, ssl: false }, connections: 4, log });
  try {
    await migrate(db, log);
    return await dumpSchema((text) => db.query(text));
  } finally {
    await db.close();
    await server.stop();
    await rm(dataDir, { recursive: true, force: true });
  }
}
