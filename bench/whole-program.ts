import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Program } from '../test/support/program.ts';
import { usageOf } from './cost/process-usage.ts';
import { showErrors } from './service.ts';

/** Posthorn with its embedded database, started by its command as a user would. */
const COMMAND = fileURLToPath(new URL('../bin/posthorn', import.meta.url));

export class WholeProgram {
  readonly #program: Program;
  readonly #dataDir: string;
  /** From the start of the process until it said that it is ready. */
  readonly startSeconds: number;

  private constructor(program: Program, dataDir: string, startSeconds: number) {
    this.#program = program;
    this.#dataDir = dataDir;
    this.startSeconds = startSeconds;
  }

  static async start(dataDir: string): Promise<WholeProgram> {
    const startedMs = performance.now();
    const env = { POSTHORN_DATA_DIR: dataDir, POSTHORN_PORT: '0', POSTHORN_LOG_LEVEL: 'error' };
    const program = new Program({ command: [COMMAND], args: ['serve'], env });
    showErrors(program);
    await program.ready();
    return new WholeProgram(program, dataDir, (performance.now() - startedMs) / 1000);
  }

  get pid(): number {
    return this.#program.pid;
  }

  /** CPU seconds since the start, of the service without its database and of the database. Null without /proc. */
  async cpu(): Promise<{ service: number; database: number } | null> {
    const file = await readFile(join(this.#dataDir, 'postgres/postmaster.pid'), 'latin1');
    const database = usageOf(Number(file.split('\n')[0]))?.cpuSeconds;
    const all = usageOf(this.pid)?.cpuSeconds;
    return all === undefined || database === undefined ? null : { service: all - database, database };
  }

  async stop(): Promise<void> {
    await this.#program.stop();
  }
}
