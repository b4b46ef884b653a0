import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { freePort } from '../program.ts';
import { cached, requireProgram } from './artifacts.ts';
import { ServerProcess } from './server-process.ts';

/** Google's own server for tests of Pub/Sub clients, built from its Go package. It gives some 90 messages a second. */
const run = promisify(execFile);
const VERSION = 'v2.8.0';
const PACKAGE = 'cloud.google.com/go/pubsub/v2';

const MAIN = `package main

import (
	"os"
	"strconv"

	"${PACKAGE}/pstest"
)

func main() {
	port, err := strconv.Atoi(os.Args[1])
	if err != nil {
		panic(err)
	}
	pstest.NewServerWithPort(port)
	select {}
}
`;

export class PubSubServer {
  readonly port: number;
  readonly #program: string;
  #process: ServerProcess | undefined;

  private constructor(port: number, program: string) {
    this.port = port;
    this.#program = program;
  }

  static async start(): Promise<PubSubServer> {
    const server = new PubSubServer(await freePort(), join(await built(), 'pstest'));
    await server.resume();
    return server;
  }

  async kill(): Promise<void> {
    await this.#process?.end();
    this.#process = undefined;
  }

  async resume(): Promise<void> {
    this.#process = new ServerProcess(this.#program, [String(this.port)]);
    await this.#process.listening(this.port);
  }

  stop(): Promise<void> {
    return this.kill();
  }
}

function built(): Promise<string> {
  return cached(`pstest-${VERSION}`, async (into) => {
    await requireProgram('go', 'version');
    const work = await mkdtemp(join(tmpdir(), 'posthorn-pstest-'));
    try {
      await writeFile(join(work, 'main.go'), MAIN);
      const go = (...args: string[]) => run('go', args, { cwd: work });
      await go('mod', 'init', 'pstest');
      await go('get', `${PACKAGE}/pstest@${VERSION}`);
      await go('build', '-o', join(into, 'pstest'), '.');
    } finally {
      await rm(work, { recursive: true, force: true });
    }
  });
}
