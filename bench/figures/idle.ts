import { setTimeout as pause } from 'node:timers/promises';
import type pg from 'pg';
import { memoryOf } from '../cost/process-memory.ts';
import { type Figure, type Sample, Skipped } from '../figure.ts';
import { WholeProgram } from '../whole-program.ts';
import { usedDirectory } from './start.ts';

/** The program with its database, some time after a start and without any load. */
export const idle: Figure = {
  name: 'idle',
  rounds: () => 1,
  run: async (stage) => {
    const program = await WholeProgram.start(await usedDirectory(stage));
    try {
      await pause(stage.plan.settleSeconds * 1000);
      const memory = memoryOf(program.pid);
      if (memory === null) throw new Skipped('memory is read from /proc/PID/smaps, which only Linux has');
      return {
        memoryMb: memory.memoryBytes / 2 ** 20,
        pssMb: memory.pssBytes / 2 ** 20,
        ...(await workAtRest(program, stage.plan.idleSeconds)),
      };
    } finally {
      await program.stop();
    }
  },
};

/**
 * CPU time, transactions and statements per second. The server writes each statement to its log in this time, which
 * costs microseconds. A statement is one round trip.
 */
async function workAtRest(program: WholeProgram, seconds: number): Promise<Sample> {
  const db = await program.connect();
  try {
    const { pid } = await one<{ pid: number }>(db, 'select pg_backend_pid() as pid');
    await logStatements(db, "set log_statement = 'all'");
    const from = { log: (await program.databaseLog()).length, count: await transactions(db) };
    const [cpuFrom, startedMs] = [await program.cpu(), performance.now()];
    await pause(seconds * 1000);
    const [cpu, elapsed] = [await program.cpu(), (performance.now() - startedMs) / 1000];
    const log = (await program.databaseLog()).slice(from.log);
    const count = await transactions(db);
    await logStatements(db, 'reset log_statement');
    if (cpuFrom === null || cpu === null)
      throw new Skipped('CPU time is read from /proc, which only Linux has');
    return {
      seconds: elapsed,
      statementsPerSecond: statementsOf(log, pid) / elapsed,
      transactionsPerSecond: (count - from.count) / elapsed,
      coresService: (cpu.service - cpuFrom.service) / elapsed,
      coresDatabase: (cpu.database - cpuFrom.database) / elapsed,
    };
  } finally {
    await db.end();
  }
}

async function logStatements(db: pg.Client, setting: string): Promise<void> {
  await db.query(`alter system ${setting}`);
  await db.query('select pg_reload_conf()');
}

/** A connection reports its counts up to ten seconds late, at the start of the window as at its end. */
async function transactions(db: pg.Client): Promise<number> {
  const { count } = await one<{ count: number }>(
    db,
    'select xact_commit::int as count from pg_stat_database where datname = current_database()',
  );
  return count;
}

const one = async <R>(db: pg.Client, text: string): Promise<R> => (await db.query(text)).rows[0] as R;

/** Without those of the bench's own connection. */
function statementsOf(log: string, ownPid: number): number {
  const statements = [...log.matchAll(/\[(?<pid>\d+)\] LOG: {2}(?:statement|execute)/g)];
  return statements.filter(({ groups }) => Number(groups?.['pid']) !== ownPid).length;
}
