import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { freePort } from '../program.ts';
import { cached, mavenJars } from './artifacts.ts';
import { ServerProcess } from './server-process.ts';

/**
 * A real Kafka of one node in KRaft mode, in a directory of its own. Its listeners: `plaintext`, `sasl` (PLAIN,
 * SCRAM-SHA-256, SCRAM-SHA-512), `tls` (without SASL) and `saslTls`, with the certificate of the tests' authority.
 * `elsewhere` is plain text, and tells its clients to go on at ELSEWHERE.
 */
const run = promisify(execFile);
const JARS = 'org.apache.kafka:kafka_2.13:4.3.1';
const CERTIFICATES = join(import.meta.dirname, '../certificates');
/** It speaks in one process with four users; less memory than this and it thrashes. */
const JAVA = ['-Xmx384m', '-XX:+UseSerialGC', '-XX:TieredStopAtLevel=1'];

export const KAFKA_USERS = {
  plain: { username: 'alice', password: 'alice secret' },
  scram256: { username: 'bob', password: 'bob-secret' },
  scram512: { username: 'carol', password: 'carol-secret' },
  /** Has no right to write to any topic, as soon as `KafkaSide.deny` says so. */
  reader: { username: 'dave', password: 'dave-secret' },
} as const;

export const ELSEWHERE = '127.0.0.2';
const LISTENERS = ['plaintext', 'sasl', 'tls', 'saslTls', 'elsewhere'] as const;
export type KafkaPorts = Record<(typeof LISTENERS)[number], number>;
/** Changes with the users, because their passwords are in it. */
const FORMATTED = 'kafka-formatted-4.3.1-1';

interface Advertised {
  advertisedPort?: number;
}

export class KafkaServer {
  readonly ports: KafkaPorts;
  readonly #jars: string;
  readonly #directory: string;
  #process: ServerProcess | undefined;

  private constructor(ports: KafkaPorts, place: { jars: string; directory: string }) {
    this.ports = ports;
    this.#jars = place.jars;
    this.#directory = place.directory;
  }

  /** `advertisedPort`: the port of `plaintext` that the broker tells its clients to use. */
  static async start(options: Advertised = {}): Promise<KafkaServer> {
    const jars = await mavenJars(JARS);
    const directory = await mkdtemp(join(tmpdir(), 'posthorn-kafka-'));
    const ports = Object.fromEntries(
      await Promise.all(LISTENERS.map(async (name) => [name, await freePort()])),
    ) as KafkaPorts;
    const server = new KafkaServer(ports, { jars, directory });
    await server.#configure(options);
    await server.resume();
    return server;
  }

  /** Zero: it does not run. */
  get pid(): number {
    return this.#process?.pid ?? 0;
  }

  /** Kills it; its data stays. */
  async kill(): Promise<void> {
    await this.#process?.end();
    this.#process = undefined;
  }

  /** Starts it on the data that it has. */
  async resume(): Promise<void> {
    this.#process = this.#java('kafka.Kafka');
    await this.#process.listening(...Object.values(this.ports));
  }

  async stop(): Promise<void> {
    await this.kill();
    await rm(this.#directory, { recursive: true, force: true, maxRetries: 10 });
  }

  get #config(): string {
    return join(this.#directory, 'server.properties');
  }

  #java(main: string): ServerProcess {
    return new ServerProcess('java', [...JAVA, '-cp', join(this.#jars, '*'), main, this.#config], {
      cwd: this.#directory,
    });
  }

  async #configure(advertised: Advertised): Promise<void> {
    const pem = async (name: string) => readFile(join(CERTIFICATES, name), 'utf8');
    const keystore = join(this.#directory, 'keystore.pem');
    await writeFile(
      keystore,
      `${await pem('endpoint.key')}${await pem('endpoint.pem')}${await pem('ca.pem')}`,
    );
    const controller = await freePort();
    await writeFile(
      this.#config,
      properties({ ...advertised, controller, keystore, ports: this.ports, directory: this.#directory }),
    );
    await cp(await formatted(this.#jars), join(this.#directory, 'data'), { recursive: true });
  }
}

/** An empty data directory. To make it takes 1.4 s of CPU, so it is kept. */
function formatted(jars: string): Promise<string> {
  return cached(FORMATTED, async (into) => {
    const config = `${into}.properties`;
    const plain = 'listeners=CONTROLLER://127.0.0.1:1\nlistener.security.protocol.map=CONTROLLER:PLAINTEXT';
    const roles = 'process.roles=controller\nnode.id=1\ncontroller.quorum.voters=1@127.0.0.1:1';
    await writeFile(config, `${roles}\ncontroller.listener.names=CONTROLLER\n${plain}\nlog.dirs=${into}\n`);
    const tool = [...JAVA, '-cp', join(jars, '*'), 'kafka.tools.StorageTool', 'format'];
    // 16 bytes whose text does not begin with `-`, which would be read as an option.
    const id = Buffer.from(randomBytes(8).toString('hex')).toString('base64url');
    const { scram256, scram512 } = KAFKA_USERS;
    const user = (hash: string, { username, password }: { username: string; password: string }) => [
      '-S',
      `${hash}=[name=${username},password=${password}]`,
    ];
    const users = [...user('SCRAM-SHA-256', scram256), ...user('SCRAM-SHA-512', scram512)];
    try {
      await run('java', [...tool, '-t', id, '-c', config, ...users]);
    } finally {
      await rm(config);
    }
  });
}

function properties(
  given: Advertised & {
    controller: number;
    keystore: string;
    ports: KafkaPorts;
    directory: string;
  },
): string {
  const { controller, keystore, ports, directory } = given;
  const advertised = { ...ports, plaintext: given.advertisedPort ?? ports.plaintext };
  const at = (of: KafkaPorts, elsewhere = '127.0.0.1') =>
    LISTENERS.map((name) => {
      const address = name === 'elsewhere' ? elsewhere : '127.0.0.1';
      return `${name.toUpperCase()}://${address}:${of[name]}`;
    }).join(',');
  const { plain, reader } = KAFKA_USERS;
  const loginModule = 'org.apache.kafka.common.security';
  const sasl = (name: string) => `
listener.name.${name}.sasl.enabled.mechanisms=PLAIN,SCRAM-SHA-256,SCRAM-SHA-512
listener.name.${name}.plain.sasl.jaas.config=${loginModule}.plain.PlainLoginModule required user_${plain.username}="${plain.password}" user_${reader.username}="${reader.password}";
listener.name.${name}.scram-sha-256.sasl.jaas.config=${loginModule}.scram.ScramLoginModule required;
listener.name.${name}.scram-sha-512.sasl.jaas.config=${loginModule}.scram.ScramLoginModule required;`;
  return `
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:${controller}
controller.listener.names=CONTROLLER
inter.broker.listener.name=PLAINTEXT
listeners=${at(ports)},CONTROLLER://127.0.0.1:${controller}
advertised.listeners=${at(advertised, ELSEWHERE)}
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SASL:SASL_PLAINTEXT,TLS:SSL,SASLTLS:SASL_SSL,ELSEWHERE:PLAINTEXT
ssl.keystore.type=PEM
ssl.keystore.location=${keystore}
${sasl('sasl')}
${sasl('sasltls')}
authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer
super.users=User:ANONYMOUS
allow.everyone.if.no.acl.found=true
log.dirs=${join(directory, 'data')}
num.partitions=1
auto.create.topics.enable=false
offsets.topic.num.partitions=3
offsets.topic.replication.factor=1
transaction.state.log.num.partitions=3
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
group.initial.rebalance.delay.ms=0
group.min.session.timeout.ms=1000
message.max.bytes=20000000
log.cleaner.enable=false
`;
}
