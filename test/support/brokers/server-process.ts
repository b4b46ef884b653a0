import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';

/** A broker as a child process; what it says last is kept for the error if it does not start, or ends by itself. */
const MAX_OUTPUT = 20_000;
const SHOWN_OUTPUT = 4_000;
const PORT_POLL_MS = 50;
/** A JVM alone needs a minute on a machine that is busy with other tests. */
const START_MS = 300_000;

export class ServerProcess {
  readonly #process: ChildProcess;
  readonly #ended: Promise<unknown>;
  #output = '';
  #isListening = false;
  #isEnded = false;

  constructor(
    command: string,
    args: string[],
    options: { cwd?: string; env?: NodeJS.ProcessEnv; uid?: number; gid?: number } = {},
  ) {
    this.#process = spawn(command, args, {
      ...options,
      // A group of its own: some servers are started by a script.
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.#ended = once(this.#process, 'close').then(() => {
      if (this.#isListening && !this.#isEnded)
        console.error(
          `${command} ended by itself. The last of its output: ${this.#output.slice(-SHOWN_OUTPUT)}`,
        );
    });
    for (const stream of [this.#process.stdout, this.#process.stderr])
      stream?.on('data', (text: Buffer) => {
        this.#output = (this.#output + text.toString()).slice(-MAX_OUTPUT);
      });
  }

  /** The id of the process and of its group. */
  get pid(): number {
    return this.#process.pid ?? 0;
  }

  /** Waits until it listens. One that does not is ended. */
  async listening(...ports: number[]): Promise<void> {
    const deadline = performance.now() + START_MS;
    for (const port of ports) {
      while (!(await isOpen(port))) {
        const hasEnded = this.#process.exitCode !== null || this.#process.signalCode !== null;
        if (hasEnded || performance.now() > deadline) {
          await this.end();
          throw new Error(`the server does not listen on port ${port}: ${this.#output}`);
        }
        await delay(PORT_POLL_MS);
      }
    }
    this.#isListening = true;
  }

  async end(signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
    this.#isEnded = true;
    if (this.#process.exitCode === null && this.#process.signalCode === null) process.kill(-this.pid, signal);
    await this.#ended;
  }
}

function isOpen(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
}
