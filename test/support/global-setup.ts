import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import type { TestProject } from 'vitest/node';
import { startEmbeddedPostgres } from '../../src/embedded-postgres/embedded-postgres.ts';
import { Database } from '../../src/store/database/database.ts';
import { migrate } from '../../src/store/upkeep/migrate.ts';
import { ensurePartitions, partitionWidthMs } from '../../src/store/upkeep/partitions.ts';
import { missingOperations } from './operation-coverage.ts';
import { quietLog } from './quiet-log.ts';

/**
 * One real server for the whole run, with a migrated template database that each test file clones. Durability
 * is off here for speed. The tests that kill the database start their own servers, as the program does.
 */
declare module 'vitest' {
  interface ProvidedContext {
    postgres: { host: string; port: number; user: string };
    /** The log of the server. */
    postgresLog: string;
    /** The file with the recorded API calls. */
    callLog: string;
  }
}

export const TEMPLATE = 'posthorn_template';

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const dataDir = await mkdtemp(join(tmpdir(), 'posthorn-test-'));
  const server = await startEmbeddedPostgres({
    dataDir,
    log: quietLog,
    settings: {
      fsync: 'off',
      synchronous_commit: 'off',
      full_page_writes: 'off',
      max_connections: '300',
      shared_preload_libraries: '',
    },
  });
  const admin = new pg.Client(server.connection);
  await admin.connect();
  await admin.query(`create database ${TEMPLATE}`);
  await admin.end();
  const db = new Database({
    connection: { ...server.connection, database: TEMPLATE },
    connections: 4,
    log: quietLog,
  });
  await migrate(db, quietLog);
  await ensurePartitions(db, Date.now(), partitionWidthMs(720));
  await db.close();
  const { host, port, user } = server.connection;
  project.provide('postgres', { host, port, user });
  project.provide('postgresLog', join(dataDir, 'postgres.log'));
  const callLog = join(dataDir, 'calls');
  await writeFile(callLog, '');
  project.provide('callLog', callLog);
  return async () => {
    await server.stop();
    const calls = (await readFile(callLog, 'utf8')).split('\n');
    await rm(dataDir, { recursive: true, force: true });
    // The service tests alone call every operation.
    if (isWholeSuite() && project.name === 'service') await requireEveryOperation(calls);
  };
}

/** `npm test` sets it. Arguments would select single files. */
function isWholeSuite(): boolean {
  return process.env['WHOLE_SUITE'] === '1' && process.argv.slice(2).join(' ') === 'run';
}

/** Each documented operation must have been called with success and with failure. */
async function requireEveryOperation(calls: string[]): Promise<void> {
  const text = await readFile(new URL('../../openapi.json', import.meta.url), 'utf8');
  const document = JSON.parse(text) as Parameters<typeof missingOperations>[0];
  const missing = missingOperations(document, calls);
  if (missing.length > 0) throw new Error(`operations that no test covers:\n${missing.join('\n')}`);
}
