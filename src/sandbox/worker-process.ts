/**
 * The node's side of one sandbox process. States: starting, then idle and busy in turn, then gone.
 *
 * The process gets none of the node's environment (no database address, no secret). It may not write files,
 * open sockets or start programs, and it reads only its own code and packages. This is a second barrier in
 * case code escapes its isolate. Time zone and language are fixed, so a function gives the same result on
 * every node.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { existsSync, realpathSync } from 'node:fs';
import { createRequire } from 'node:module';
import { extname, join } from 'node:path';
import type { CallBatch, Role } from './call-queue.ts';
import type { FunctionResult } from './contract.ts';
import { type FromWorker, lastWords, type ToWorker } from './protocol.ts';

/** Why a process is gone: its watchdog's verdict, V8 out of memory, a crash, or an outside cause. */
export type WorkerEnd = 'cpu' | 'memory' | 'crash' | 'outside';

export interface WorkerEvents {
  ready(worker: WorkerProcess): void;
  answered(worker: WorkerProcess, batch: CallBatch, results: FunctionResult[]): void;
  gone(worker: WorkerProcess, batch: CallBatch | undefined, end: WorkerEnd): void;
}

const keptStderrChars = 8_192;
const crashSignals = new Set(['SIGABRT', 'SIGSEGV', 'SIGBUS', 'SIGILL', 'SIGTRAP', 'SIGFPE']);

/** The loader of native packages reads this file to choose between builds for two C libraries. */
const libcMark = '/etc/alpine-release';

/** Its own code and the packages, by the names used to look them up and by their real paths. */
function readablePaths(): string[] {
  const lookedUp = createRequire(import.meta.url).resolve.paths('isolated-vm') ?? [];
  const packages = lookedUp.filter((directory) => existsSync(join(directory, 'isolated-vm')));
  const real = packages.map((path) => realpathSync(path));
  return [...new Set([import.meta.dirname, ...packages, ...real, libcMark])];
}

function startProcess(role: Role): ChildProcess {
  // TypeScript here, JavaScript in an installed package.
  return fork(join(import.meta.dirname, `worker-main${extname(import.meta.filename)}`), [role], {
    // Isolates made by isolated-vm cannot share a heap with Node's start-up snapshot.
    execArgv: [
      '--no-node-snapshot',
      '--permission',
      '--allow-addons',
      '--allow-worker',
      // Else the collector of a function that allocates in a loop uses threads with normal priority.
      ...(role === 'suspect' ? ['--single-threaded-gc'] : []),
      ...readablePaths().map((path) => `--allow-fs-read=${path}`),
    ],
    env: { TZ: 'UTC', LC_ALL: 'en_US.UTF-8', NODE_NO_WARNINGS: '1' },
    // V8 aborts when out of memory. If the system writes a core file then, it must not go to the data
    // directory.
    cwd: '/',
    serialization: 'advanced',
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
  });
}

export class WorkerProcess {
  readonly role: Role;
  readonly #process: ChildProcess;
  readonly #ended = Promise.withResolvers<void>();
  #batch: CallBatch | undefined;
  #ready = false;
  #stderr = '';

  constructor(role: Role, events: WorkerEvents) {
    this.role = role;
    this.#process = startProcess(role);
    this.#process.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.#stderr = (this.#stderr + text).slice(-keptStderrChars);
    });
    this.#process.on('message', (message: FromWorker) => this.#receive(message, events));
    // The process could not start, or was dead when a message was sent. `close` follows.
    this.#process.on('error', (error) => {
      this.#stderr += String(error);
      this.#process.kill('SIGKILL');
    });
    this.#process.on('close', (_code, signal) => {
      this.#ended.resolve();
      const batch = this.#batch;
      this.#batch = undefined;
      events.gone(this, batch, this.#end(signal));
    });
  }

  get idle(): boolean {
    return this.#ready && this.#batch === undefined;
  }

  get ready(): boolean {
    return this.#ready;
  }

  /** The end of its standard error. */
  get stderr(): string {
    return this.#stderr;
  }

  send(batch: CallBatch): void {
    this.#batch = batch;
    const calls: ToWorker = batch.calls.map((queued) => queued.call);
    this.#process.send(calls);
  }

  async kill(): Promise<void> {
    this.#process.kill('SIGKILL');
    await this.#ended.promise;
  }

  #receive(message: FromWorker, events: WorkerEvents): void {
    if (message === 'ready') {
      this.#ready = true;
      events.ready(this);
      return;
    }
    const batch = this.#batch;
    if (batch === undefined) return;
    this.#batch = undefined;
    events.answered(this, batch, message);
  }

  #end(signal: string | null): WorkerEnd {
    if (this.#stderr.includes(lastWords.cpu)) return 'cpu';
    if (this.#stderr.includes(lastWords.memory)) return 'memory';
    if (/is_heap_oom|out of memory/i.test(this.#stderr)) return 'memory';
    return signal !== null && crashSignals.has(signal) ? 'crash' : 'outside';
  }
}
