import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '../program.ts';
import { mavenJars } from './artifacts.ts';
import { ServerProcess } from './server-process.ts';

/**
 * A server that speaks the protocol of Amazon SQS. It does not check signatures (`SqsGate` does). It keeps queues and
 * messages in memory, or, if they are to outlive a kill, in a file.
 */
const JARS = 'org.elasticmq:elasticmq-server_2.13:1.7.1';

export class ElasticMqServer {
  readonly port: number;
  readonly #jars: string;
  readonly #directory: string;
  #process: ServerProcess | undefined;

  private constructor(port: number, place: { jars: string; directory: string }) {
    this.port = port;
    this.#jars = place.jars;
    this.#directory = place.directory;
  }

  static async start(keeps: 'memory' | 'file' = 'memory'): Promise<ElasticMqServer> {
    const jars = await mavenJars(JARS);
    const directory = await mkdtemp(join(tmpdir(), 'posthorn-elasticmq-'));
    const server = new ElasticMqServer(await freePort(), { jars, directory });
    const storage = keeps === 'file' ? fileStorage(directory) : '';
    await writeFile(join(directory, 'server.conf'), settings(server.port) + storage);
    await server.resume();
    return server;
  }

  async kill(): Promise<void> {
    await this.#process?.end();
    this.#process = undefined;
  }

  async resume(): Promise<void> {
    const config = `-Dconfig.file=${join(this.#directory, 'server.conf')}`;
    const java = ['-Xmx256m', '-XX:+UseSerialGC', '-XX:TieredStopAtLevel=1', config];
    const main = ['-cp', join(this.#jars, '*'), 'org.elasticmq.server.Main'];
    this.#process = new ServerProcess('java', [...java, ...main], { cwd: this.#directory });
    await this.#process.listening(this.port);
  }

  async stop(): Promise<void> {
    await this.kill();
    await rm(this.#directory, { recursive: true, force: true, maxRetries: 10 });
  }
}

const settings = (port: number): string => `
include classpath("application.conf")
node-address { protocol = http, host = "127.0.0.1", port = ${port}, context-path = "" }
rest-sqs { enabled = true, bind-port = ${port}, bind-hostname = "127.0.0.1", sqs-limits = strict }
rest-stats { enabled = false }
`;

/** Without the setting a commit is written up to half a second later, and a kill loses it. */
const fileStorage = (directory: string): string => `
messages-storage { enabled = true, driver-class = "org.h2.Driver", uri = "jdbc:h2:${directory}/messages;WRITE_DELAY=0", username = "", password = "" }
`;
