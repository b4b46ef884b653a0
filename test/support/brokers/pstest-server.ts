import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { freePort } from '../program.ts';
import { cached, requireProgram } from './artifacts.ts';
import { ServerProcess } from './server-process.ts';

/** Google's own server for tests of Pub/Sub clients, built from its Go package. */
const run = promisify(execFile);
const VERSION = 'v2.8.0';
const PACKAGE = 'cloud.google.com/go/pubsub/v2';

/** It also says, over HTTP, what became of the messages of a topic. */
const MAIN = `package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strconv"

	"${PACKAGE}/pstest"
)

func main() {
	port, err := strconv.Atoi(os.Args[1])
	if err != nil {
		panic(err)
	}
	server := pstest.NewServerWithAddress(fmt.Sprintf("127.0.0.1:%d", port))
	http.HandleFunc("/messages", func(w http.ResponseWriter, r *http.Request) {
		messages := []map[string]int{}
		for _, message := range server.Messages() {
			if message.Topic == r.URL.Query().Get("topic") {
				givenBack := 0
				for _, change := range message.Modacks {
					if change.AckDeadline == 0 {
						givenBack++
					}
				}
				messages = append(messages, map[string]int{
					"deliveries": message.Deliveries, "acks": message.Acks, "givenBack": givenBack,
				})
			}
		}
		json.NewEncoder(w).Encode(messages)
	})
	panic(http.ListenAndServe("127.0.0.1:"+os.Args[2], nil))
}
`;

export interface PubSubPorts {
  grpc: number;
  http: number;
}

export class PubSubServer {
  readonly ports: PubSubPorts;
  readonly #program: string;
  #process: ServerProcess | undefined;

  private constructor(ports: PubSubPorts, program: string) {
    this.ports = ports;
    this.#program = program;
  }

  static async start(): Promise<PubSubServer> {
    const ports = { grpc: await freePort(), http: await freePort() };
    const server = new PubSubServer(ports, join(await built(), 'pstest'));
    await server.resume();
    return server;
  }

  async kill(): Promise<void> {
    await this.#process?.end();
    this.#process = undefined;
  }

  async resume(): Promise<void> {
    const { grpc, http } = this.ports;
    this.#process = new ServerProcess(this.#program, [String(grpc), String(http)]);
    await this.#process.listening(grpc, http);
  }

  stop(): Promise<void> {
    return this.kill();
  }
}

function built(): Promise<string> {
  return cached(`pstest-${VERSION}-3`, async (into) => {
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
