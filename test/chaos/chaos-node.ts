import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { freePort, Program } from '../support/program.ts';

/** Allowed reasons for a process to end by itself. */
export const LOST_DATABASE = /database|ECONN|ENOENT|terminat|connection error|57P0|starting up/i;
const SECRET_KEY = 'the same thirty-two or more characters';

/** A place for a node: one address, and one process after the other at it. */
export class ChaosNode {
  readonly name: string;
  readonly dataDir: string;
  readonly #env: Record<string, string>;
  readonly url: string;
  readonly programs: Program[] = [];

  private constructor(name: string, place: { dataDir: string; url: string; env: Record<string, string> }) {
    this.name = name;
    this.dataDir = place.dataDir;
    this.url = place.url;
    this.#env = place.env;
  }

  static async place(
    name: string,
    databaseUrl: string,
    env: Record<string, string> = {},
  ): Promise<ChaosNode> {
    const dataDir = await mkdtemp(join(tmpdir(), `posthorn-${name}-`));
    const port = await freePort();
    return new ChaosNode(name, {
      dataDir,
      url: `http://127.0.0.1:${port}`,
      env: {
        DATABASE_URL: databaseUrl,
        POSTHORN_SECRET_KEY: SECRET_KEY,
        POSTHORN_PORT: String(port),
        POSTHORN_EGRESS: 'any',
        POSTHORN_DATA_DIR: dataDir,
        POSTHORN_LOG_LEVEL: 'warn',
        ...env,
      },
    });
  }

  get program(): Program {
    return this.programs.at(-1) as Program;
  }

  /** Starts a process here, repeatedly while the database is away, as a supervisor would. */
  async start(started: (pid: number) => void = () => {}): Promise<void> {
    for (;;) {
      const program = new Program({ args: ['serve'], env: this.#env });
      this.programs.push(program);
      started(program.pid);
      try {
        await program.ready();
        return;
      } catch (error) {
        if (!LOST_DATABASE.test(program.stderr)) throw error;
        await delay(200);
      }
    }
  }

  /** Runs a command of the program with the settings of this node. */
  async command(...args: string[]): Promise<void> {
    const program = new Program({ args, env: this.#env });
    const { code } = await program.ended;
    if (code !== 0) throw new Error(`posthorn ${args.join(' ')} ended with code ${code}: ${program.stderr}`);
  }

  async end(): Promise<void> {
    for (const program of this.programs) await program.end();
    await rm(this.dataDir, { recursive: true, force: true });
  }
}
