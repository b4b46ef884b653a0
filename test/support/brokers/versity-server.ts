import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { freePort } from '../program.ts';
import { cached, requireProgram } from './artifacts.ts';
import { ServerProcess } from './server-process.ts';

/**
 * A server with the protocol of S3 that checks signatures, rights, hashes and regions: the Versity gateway, built from its
 * Go package. A bucket is a directory, and an object a file in it, so what it stored outlives a kill.
 */
const run = promisify(execFile);
const VERSION = 'v1.8.0';
const PACKAGE = 'github.com/versity/versitygw/cmd/versitygw';

export const S3_KEY = { id: 'AKIDTESTS', secret: 'secret of tests' };
/** It has no rights. */
export const S3_STRANGER = { id: 'AKIDSTRANGER', secret: 'secret of a stranger' };
export const S3_REGION = 'eu-west-1';

export interface S3Facts {
  port: number;
  /** It has a directory for each bucket. */
  directory: string;
}

export class VersityServer {
  readonly facts: S3Facts;
  readonly #home: string;
  readonly #program: string;
  #process: ServerProcess | undefined;

  private constructor(home: string, program: string, port: number) {
    this.#home = home;
    this.#program = program;
    this.facts = { port, directory: join(home, 'buckets') };
  }

  static async start(): Promise<VersityServer> {
    const program = join(await built(), 'versitygw');
    const home = await mkdtemp(join(tmpdir(), 'posthorn-versity-'));
    for (const name of ['buckets', 'about', 'users']) await mkdir(join(home, name));
    const { id: access, secret } = S3_STRANGER;
    const accessAccounts = { [access]: { access, secret, role: 'user' } };
    await writeFile(join(home, 'users/users.json'), JSON.stringify({ accessAccounts }));
    const server = new VersityServer(home, program, await freePort());
    await server.resume();
    return server;
  }

  async kill(): Promise<void> {
    await this.#process?.end();
    this.#process = undefined;
  }

  async resume(): Promise<void> {
    const { port, directory } = this.facts;
    const service = ['--port', `127.0.0.1:${port}`, '--region', S3_REGION, '--keep-alive', '--quiet'];
    const store = ['posix', '--sidecar', join(this.#home, 'about'), directory];
    this.#process = new ServerProcess(
      this.#program,
      [...service, '--iam-dir', join(this.#home, 'users'), ...store],
      { env: { ...process.env, ROOT_ACCESS_KEY: S3_KEY.id, ROOT_SECRET_KEY: S3_KEY.secret } },
    );
    await this.#process.listening(port);
  }

  async stop(): Promise<void> {
    await this.kill();
    await rm(this.#home, { recursive: true, force: true, maxRetries: 10 });
  }
}

function built(): Promise<string> {
  return cached(`versitygw-${VERSION}`, async (into) => {
    await requireProgram('go', 'version');
    await run('go', ['install', `${PACKAGE}@${VERSION}`], { env: { ...process.env, GOBIN: into } });
  });
}
