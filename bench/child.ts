import { type ChildProcess, fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { NODE_FLAGS } from './node-flags.ts';

/** A process of the bench that answers calls: `answer` on its side, `Child.call` on ours. */
type Handlers = Record<string, (argument: never) => unknown>;

interface Call {
  id: number;
  name: string;
  argument: unknown;
}

interface Answer {
  id: number;
  result?: unknown;
  error?: string;
}

export function answer(handlers: Handlers): void {
  const send = process.send?.bind(process);
  if (send === undefined) throw new Error('this program is started by bench/run.ts');
  process.on('message', ({ id, name, argument }: Call) => {
    Promise.resolve()
      .then(() => handlers[name]?.(argument as never))
      .then(
        (result) => send({ id, result } satisfies Answer),
        (error: Error) => send({ id, error: error.stack ?? String(error) } satisfies Answer),
      );
  });
  process.on('disconnect', () => process.exit(0));
  // A Ctrl-C reaches the whole group. The parent decides when we end.
  process.on('SIGINT', () => {});
}

export class Child {
  readonly #process: ChildProcess;
  readonly #open = new Map<number, { resolve(value: unknown): void; reject(error: Error): void }>();
  #lastId = 0;

  constructor(file: string) {
    this.#process = fork(fileURLToPath(new URL(file, import.meta.url)), {
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
      execArgv: NODE_FLAGS,
    });
    this.#process.on('message', ({ id, result, error }: Answer) => {
      const call = this.#open.get(id);
      this.#open.delete(id);
      if (error === undefined) call?.resolve(result);
      else call?.reject(new Error(`${file}: ${error}`));
    });
    this.#process.on('exit', (code) => {
      for (const call of this.#open.values()) call.reject(new Error(`${file} ended with ${code}`));
    });
  }

  get pid(): number {
    return this.#process.pid as number;
  }

  call<T>(name: string, argument?: unknown): Promise<T> {
    const id = ++this.#lastId;
    return new Promise<T>((resolve, reject) => {
      this.#open.set(id, { resolve: resolve as (value: unknown) => void, reject });
      this.#process.send({ id, name, argument } satisfies Call);
    });
  }

  async stop(): Promise<void> {
    if (this.#process.exitCode !== null) return;
    const ended = new Promise((resolve) => this.#process.once('exit', resolve));
    this.#process.disconnect();
    await ended;
  }
}
