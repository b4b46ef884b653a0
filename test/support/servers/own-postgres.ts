import { readdirSync, readFileSync } from 'node:fs';
import pg from 'pg';
import {
  type EmbeddedPostgres,
  startEmbeddedPostgres,
} from '../../../src/embedded-postgres/embedded-postgres.ts';
import { killServer } from '../program.ts';
import { quietLog } from '../quiet-log.ts';

/** A durable server of a test's own that can be frozen, killed, stopped and started again. */
export class OwnPostgres {
  readonly dataDir: string;
  readonly #settings: Record<string, string>;
  #server: EmbeddedPostgres;
  #pid: number;
  #isFrozen = false;

  static async start(dataDir: string, settings: Record<string, string>): Promise<OwnPostgres> {
    return new OwnPostgres(dataDir, settings, await startServer(dataDir, settings));
  }

  protected constructor(dataDir: string, settings: Record<string, string>, { server, pid }: StartedServer) {
    this.dataDir = dataDir;
    this.#settings = settings;
    this.#server = server;
    this.#pid = pid;
  }

  /** At its old address. */
  async startAgain(): Promise<void> {
    const { server, pid } = await startServer(this.dataDir, this.#settings);
    this.#server = server;
    this.#pid = pid;
  }

  get connection(): EmbeddedPostgres['connection'] {
    return this.#server.connection;
  }

  get url(): string {
    const { host, port, user, database } = this.connection;
    return `postgres://${user}@localhost:${port}/${database}?host=${encodeURIComponent(host)}`;
  }

  async query<R extends object>(text: string, values: unknown[] = []): Promise<R[]> {
    const client = new pg.Client(this.connection);
    await client.connect();
    try {
      return (await client.query(text, values)).rows as R[];
    } finally {
      await client.end();
    }
  }

  /** All of its processes stand still: connections stay open, and no one answers. */
  freeze(): void {
    this.#isFrozen = true;
    this.#signalAll('SIGSTOP');
  }

  thaw(): void {
    if (this.#isFrozen) this.#signalAll('SIGCONT');
    this.#isFrozen = false;
  }

  async kill(): Promise<void> {
    await killServer(this.#pid);
    await this.#server.died;
  }

  stop(): Promise<void> {
    return this.#server.stop();
  }

  #signalAll(signal: NodeJS.Signals): void {
    const children = readdirSync('/proc').filter((entry) => /^\d+$/.test(entry) && isChild(entry, this.#pid));
    for (const pid of [this.#pid, ...children.map(Number)]) process.kill(pid, signal);
  }
}

function isChild(pid: string, parent: number): boolean {
  try {
    return Number(/\) \w (\d+)/.exec(readFileSync(`/proc/${pid}/stat`, 'utf8'))?.[1]) === parent;
  } catch {
    return false; // It has ended.
  }
}

interface StartedServer {
  server: EmbeddedPostgres;
  pid: number;
}

export async function startServer(dataDir: string, settings: Record<string, string>): Promise<StartedServer> {
  let pid = 0;
  const log = {
    info: (fields: { pid?: number }) => {
      pid = fields.pid ?? pid;
    },
    warn: (fields: object, message: string) => quietLog.warn(fields, message),
  };
  return { server: await startEmbeddedPostgres({ dataDir, log, settings }), pid };
}
