import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import pg from 'pg';
import type { TestProject } from 'vitest/node';
import { startEmbeddedPostgres } from '../../../src/embedded-postgres/embedded-postgres.ts';
import { Database } from '../../../src/store/database/database.ts';
import { migrate } from '../../../src/store/upkeep/migrate.ts';
import { ensurePartitions, partitionWidthMs } from '../../../src/store/upkeep/partitions.ts';
import { quietLog } from '../quiet-log.ts';
import { missingOperations } from './operation-coverage.ts';

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

const SOURCES = join(import.meta.dirname, '../../../src');
/** The sets of `npm test`: together they call every operation. */
const EVERY_OPERATION = 'unit service';
export const TEMPLATE = 'posthorn_template';

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const compiling = compileProgram();
  const dataDir = await mkdtemp(join(tmpdir(), 'posthorn-test-'));
  const server = await startEmbeddedPostgres({
    dataDir,
    log: quietLog,
    settings: {
      fsync: 'off',
      synchronous_commit: 'off',
      full_page_writes: 'off',
      max_connections: '800',
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
  await compiling;
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
    if (process.env['TEST_SETS'] === EVERY_OPERATION) await requireEveryOperation(calls);
  };
}

/** Fills the compile cache, once per checkout: a program that a test kills leaves nothing in it. */
async function compileProgram(): Promise<void> {
  const cache = process.env['NODE_COMPILE_CACHE'] ?? '';
  await mkdir(dirname(cache), { recursive: true });
  try {
    await mkdir(cache);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return;
    throw error;
  }
  const modules = [
    'cli/commands.ts',
    'cli/server/serve.ts',
    'start/app.ts',
    'processes/start-processes.ts',
  ].map((file) => join(SOURCES, file));
  const script = modules.map((file) => `await import(${JSON.stringify(file)});`).join('');
  await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', script]);
}

/** Each documented operation must have been called with success and with failure. */
async function requireEveryOperation(calls: string[]): Promise<void> {
  const text = await readFile(new URL('../../../openapi.json', import.meta.url), 'utf8');
  const document = JSON.parse(text) as Parameters<typeof missingOperations>[0];
  const missing = missingOperations(document, calls);
  if (missing.length > 0) throw new Error(`operations that no test covers:\n${missing.join('\n')}`);
}
