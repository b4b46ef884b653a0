import { execFile } from 'node:child_process';
import { globSync } from 'node:fs';
import { copyFile, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { freePort } from '../program.ts';
import { cached, MissingProgram, requireProgram } from './artifacts.ts';
import { ServerProcess } from './server-process.ts';

/**
 * A real RabbitMQ from the packages of Debian, unpacked without being installed. Its listeners: `plain` and `tls`, with
 * the certificate of the tests' authority. It starts a helper, epmd, on a port of its own, which is ended with it.
 */
const run = promisify(execFile);
const CERTIFICATES = join(import.meta.dirname, '../certificates');
const ERLANG =
  'asn1 base crypto eldap ftp inets mnesia os-mon parsetools public-key runtime-tools snmp ssl syntax-tools tftp tools xmerl'.split(
    ' ',
  );

export const RABBITMQ_USER = { user: 'alice', password: 'alice secret/+%' };
/** It lets `evaluate` in. */
const COOKIE = 'tests';
/** A larger message ends its channel. */
export const RABBITMQ_MAX_BYTES = 1_500_000;
export const RABBITMQ_VHOST = 'orders/eu';

export interface RabbitMqFacts {
  ports: { plain: number; tls: number };
  /** For `evaluate`. */
  control: { program: string; port: number; cookie: string };
}

/**
 * Evaluates an Erlang expression in the server, as `rabbitmqctl eval` does. That is an Erlang system of its own and takes
 * 0.8 s of CPU. `erl_call` takes 3 ms.
 */
export async function evaluate(
  { program, port, cookie }: RabbitMqFacts['control'],
  expression: string,
): Promise<string> {
  const asked = run(program, ['-address', `localhost:${port}`, '-c', cookie, '-e']);
  asked.child.stdin?.end(`${expression}.\n`);
  const answer = (await asked).stdout.trim();
  const value = /^\{ok, (.*)\}$/s.exec(answer)?.[1];
  if (value === undefined) throw new Error(`RabbitMQ answers ${answer} to ${expression}`);
  return value;
}

export class RabbitMqServer {
  readonly ports: RabbitMqFacts['ports'];
  readonly #root: string;
  readonly #directory: string;
  readonly #env: Record<string, string>;
  #process: ServerProcess | undefined;

  private constructor(given: {
    ports: { plain: number; tls: number };
    root: string;
    directory: string;
    env: Record<string, string>;
  }) {
    this.ports = given.ports;
    this.#root = given.root;
    this.#directory = given.directory;
    this.#env = given.env;
  }

  static async start(): Promise<RabbitMqServer> {
    const root = await unpacked();
    const directory = await mkdtemp(join(tmpdir(), 'posthorn-rabbitmq-'));
    const [plain, tls, distribution, helper] = await Promise.all([
      freePort(),
      freePort(),
      freePort(),
      freePort(),
    ]);
    for (const name of ['endpoint.key', 'endpoint.pem', 'ca.pem'])
      await copyFile(join(CERTIFICATES, name), join(directory, name));
    await writeFile(join(directory, 'rabbitmq.conf'), settings(directory, { plain, tls }));
    await writeFile(join(directory, 'plugins'), '[].');
    await mkdir(join(directory, 'data'));
    await writeFile(join(directory, '.erlang.cookie'), COOKIE, { mode: 0o400 });
    const env = {
      PATH: `${join(root, 'usr/lib/erlang/bin')}:${process.env['PATH']}`,
      HOME: directory,
      LANG: 'C.UTF-8',
      RABBITMQ_NODENAME: `posthorn${plain}@localhost`,
      RABBITMQ_NODE_PORT: String(plain),
      RABBITMQ_DIST_PORT: String(distribution),
      ERL_EPMD_PORT: String(helper),
      ERL_EPMD_ADDRESS: '127.0.0.1',
      // Otherwise it refuses to end while it knows of a server, also one that was killed just now.
      ERL_EPMD_RELAXED_COMMAND_CHECK: '1',
      RABBITMQ_MNESIA_BASE: join(directory, 'data'),
      RABBITMQ_LOG_BASE: directory,
      RABBITMQ_LOGS: '-',
      RABBITMQ_CONFIG_FILE: join(directory, 'rabbitmq.conf'),
      RABBITMQ_CONF_ENV_FILE: '/dev/null',
      RABBITMQ_ENABLED_PLUGINS_FILE: join(directory, 'plugins'),
    };
    const server = new RabbitMqServer({ ports: { plain, tls }, root, directory, env });
    await server.resume();
    return server;
  }

  get facts(): RabbitMqFacts {
    const program = join(this.#root, 'usr/lib/erlang/bin/erl_call');
    const port = Number(this.#env['RABBITMQ_DIST_PORT']);
    return { ports: this.ports, control: { program, port, cookie: COOKIE } };
  }

  /** The process of the script that starts it. Zero: it does not run. */
  get pid(): number {
    return this.#process?.pid ?? 0;
  }

  async kill(): Promise<void> {
    await this.#process?.end();
    this.#process = undefined;
  }

  async resume(): Promise<void> {
    const [script] = globSync('usr/lib/rabbitmq/lib/rabbitmq_server-*/sbin/rabbitmq-server', {
      cwd: this.#root,
    });
    if (script === undefined) throw new Error('the packages have no rabbitmq-server');
    this.#process = new ServerProcess(join(this.#root, script), [], {
      cwd: this.#directory,
      env: this.#env,
    });
    await this.#process.listening(this.ports.plain, this.ports.tls);
  }

  async stop(): Promise<void> {
    await this.kill();
    await run(join(this.#root, 'usr/lib/erlang/bin/epmd'), ['-kill'], { env: this.#env }).catch(
      () => undefined,
    );
    await rm(this.#directory, { recursive: true, force: true, maxRetries: 10 });
  }
}

const settings = (directory: string, ports: { plain: number; tls: number }): string => `
listeners.tcp.1 = 127.0.0.1:${ports.plain}
listeners.ssl.1 = 127.0.0.1:${ports.tls}
ssl_options.cacertfile = ${join(directory, 'ca.pem')}
ssl_options.certfile = ${join(directory, 'endpoint.pem')}
ssl_options.keyfile = ${join(directory, 'endpoint.key')}
ssl_options.verify = verify_none
default_user = ${RABBITMQ_USER.user}
default_pass = ${RABBITMQ_USER.password}
default_vhost = ${RABBITMQ_VHOST}
loopback_users = none
max_message_size = ${RABBITMQ_MAX_BYTES}
`;

async function unpacked(): Promise<string> {
  const release = await readFile('/etc/os-release', 'utf8').catch(() => '');
  const version = /^VERSION_ID="?([\w.]+)/m.exec(release)?.[1];
  if (!/^ID=debian/m.test(release) || version === undefined)
    throw new MissingProgram('RabbitMQ is taken from the packages of Debian, and this is not Debian');
  return cached(`rabbitmq-debian-${version}`, async (into, home) => {
    await requireProgram('apt-get', '--version');
    await download(into, ['rabbitmq-server', ...ERLANG.map((name) => `erlang-${name}`)]);
    for (const archive of globSync('*.deb', { cwd: into })) {
      await run('dpkg', ['-x', join(into, archive), into]);
      await rm(join(into, archive));
    }
    await moveErlang(into, home);
  });
}

/** A fresh image has no lists of packages. Then they are fetched into the same place, which needs no rights. */
async function download(into: string, packages: readonly string[]): Promise<void> {
  try {
    await run('apt-get', ['download', ...packages], { cwd: into });
  } catch {
    const lists = join(into, 'lists');
    await mkdir(join(lists, 'partial'), { recursive: true });
    const own = ['-o', `Dir::State::Lists=${lists}`, '-o', `Dir::Cache=${lists}`];
    await run('apt-get', [...own, 'update'], { cwd: into });
    await run('apt-get', [...own, 'download', ...packages], { cwd: into });
    await rm(lists, { recursive: true });
  }
}

/** The scripts of Debian's Erlang have its place written in them. */
async function moveErlang(into: string, home: string): Promise<void> {
  const place = 'ROOTDIR=/usr/lib/erlang';
  const scripts = globSync('usr/lib/erlang/{bin,erts-*/bin}/*', { cwd: into });
  for (const script of scripts) {
    const path = join(into, script);
    const text = await readFile(path, 'latin1').catch(() => '');
    if (text.startsWith('#!') && text.includes(place))
      await writeFile(path, text.replaceAll(place, `ROOTDIR=${join(home, 'usr/lib/erlang')}`), 'latin1');
  }
}
