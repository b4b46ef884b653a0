import { EventEmitter } from 'node:events';
import { Readable, Writable } from 'node:stream';
import { runCommand } from '../../src/cli/commands.ts';
import { failureOf } from '../../src/platform/startup-error.ts';

export interface CommandResult {
  code: number;
  stdout: string;
  stderr: string;
}

interface CommandOptions {
  env?: Record<string, string>;
  input?: string;
  /** Its output is shown to a person, without colours. */
  isTTY?: boolean;
}

/**
 * A command of the program on a terminal of its own, in the process of the test. Only the given environment is set, so
 * no profile of the user is read, and no data directory in the folder of the test.
 */
export class RunningCommand {
  readonly ended: Promise<CommandResult>;
  readonly #signals = new EventEmitter();
  stdout = '';
  stderr = '';

  constructor(args: readonly string[], { env = {}, input = '', isTTY = false }: CommandOptions = {}) {
    const terminal = {
      env: { HOME: '/nonexistent', POSTHORN_DATA_DIR: '/nonexistent', ...env },
      stdin: Readable.from([Buffer.from(input)]),
      stdout: Object.assign(this.#output('stdout'), { isTTY, getColorDepth: () => 1 }),
      stderr: Object.assign(this.#output('stderr'), { isTTY }),
      once: this.#signals.once.bind(this.#signals),
    };
    this.ended = runCommand([...args], terminal)
      .catch((error: unknown) => {
        const { text, exitCode } = failureOf(error);
        this.stderr += text;
        return exitCode;
      })
      .then((code) => ({ code, stdout: this.stdout, stderr: this.stderr }));
  }

  #output(to: 'stdout' | 'stderr'): Writable {
    return new Writable({
      decodeStrings: false,
      write: (text: string, _encoding, done) => {
        this[to] += text;
        done();
      },
    });
  }

  /** Ctrl-C. */
  interrupt(): void {
    this.#signals.emit('SIGINT');
  }
}

/** Runs a command to its end. */
export const runPosthorn = (args: readonly string[], options: CommandOptions = {}): Promise<CommandResult> =>
  new RunningCommand(args, options).ended;
