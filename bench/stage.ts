import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { pino } from 'pino';
import { type EmbeddedPostgres, startEmbeddedPostgres } from '../src/embedded-postgres/embedded-postgres.ts';
import { Child } from './child.ts';
import type { Plan } from './figure.ts';
import { Service, type ServiceOptions } from './service.ts';
import type { Run } from './sink.ts';

/**
 * The environment of all figures: one PostgreSQL server with the program's own settings (durable), a sink, a
 * load generator, and the measured systems, each in its own process, started when first needed and kept. Only
 * one figure runs at a time; the other processes are idle.
 */
export class Stage {
  readonly plan: Plan;
  readonly load: Child;
  readonly sink: Child;
  readonly sinkUrl: string;
  readonly postgresVersion: string;
  readonly postgresPid: number;
  readonly #directory: string;
  readonly #postgres: EmbeddedPostgres;
  readonly #kept = new Map<string, Promise<unknown>>();
  readonly #stops: (() => Promise<void>)[] = [];
  readonly #services = new Set<Service>();
  #databases = 0;
  #runs = 0;

  private constructor(parts: Parts) {
    this.plan = parts.plan;
    this.load = parts.load;
    this.sink = parts.sink;
    this.sinkUrl = parts.sinkUrl;
    this.postgresVersion = parts.postgresVersion;
    this.postgresPid = parts.postgresPid;
    this.#directory = parts.directory;
    this.#postgres = parts.postgres;
  }

  /** `settings` of the server are added to, or replace, those of the program. */
  static async start(plan: Plan, settings: Record<string, string> = {}): Promise<Stage> {
    const directory = await mkdtemp(join(tmpdir(), 'posthorn-bench-'));
    let postgresPid = 0;
    const log = pino({ level: 'silent' });
    const postgres = await startEmbeddedPostgres({
      dataDir: join(directory, 'server'),
      settings,
      log: {
        info: (fields) => {
          postgresPid = (fields as { pid: number }).pid;
        },
        warn: log.warn.bind(log),
      },
    });
    const load = new Child('./load-generator.ts');
    const sink = new Child('./sink.ts');
    return new Stage({
      plan,
      directory,
      postgres,
      postgresPid,
      postgresVersion: await serverVersion(postgres),
      load,
      sink,
      sinkUrl: await sink.call<string>('start'),
    });
  }

  /** A number for a measurement. The sink counts only events with it. */
  async newRun(): Promise<number> {
    this.#runs += 1;
    await this.sink.call('begin', { run: this.#runs, sliceSeconds: this.plan.sliceSeconds } satisfies Run);
    return this.#runs;
  }

  async createDatabase(): Promise<string> {
    const name = `bench_${++this.#databases}`;
    const { host, port, user } = this.#postgres.connection;
    const admin = new pg.Client(this.#postgres.connection);
    await admin.connect();
    await admin.query(`create database ${name}`);
    await admin.end();
    return `postgres://${user}@localhost:${port}/${name}?host=${encodeURIComponent(host)}`;
  }

  newDirectory(): Promise<string> {
    return mkdtemp(join(this.#directory, 'service-'));
  }

  /** Posthorn on an empty database. It is stopped at the latest at the end. */
  async startService(options: Omit<ServiceOptions, 'databaseUrl' | 'dataDir'> = {}): Promise<Service> {
    const databaseUrl = await this.createDatabase();
    const dataDir = await this.newDirectory();
    const service = await Service.start({ databaseUrl, dataDir, ...options });
    this.#services.add(service);
    return service;
  }

  /** Created on first use, then reused, stopped at the end. */
  keep<T>(name: string, make: () => Promise<{ value: T; stop?(): Promise<void> }>): Promise<T> {
    const known = this.#kept.get(name) as Promise<T> | undefined;
    if (known !== undefined) return known;
    const made = make().then(({ value, stop }) => {
      if (stop !== undefined) this.#stops.push(stop);
      return value;
    });
    this.#kept.set(name, made);
    return made;
  }

  async stop(): Promise<void> {
    await Promise.all([...this.#services].map((service) => service.stop()));
    await Promise.all(this.#stops.map((stop) => stop()));
    await Promise.all([this.load.stop(), this.sink.stop()]);
    await this.#postgres.stop();
    await rm(this.#directory, { recursive: true, force: true });
  }
}

interface Parts {
  plan: Plan;
  directory: string;
  postgres: EmbeddedPostgres;
  postgresPid: number;
  postgresVersion: string;
  load: Child;
  sink: Child;
  sinkUrl: string;
}

async function serverVersion(postgres: EmbeddedPostgres): Promise<string> {
  const client = new pg.Client(postgres.connection);
  await client.connect();
  const { rows } = await client.query<{ version: string }>(
    "select current_setting('server_version') as version",
  );
  await client.end();
  return rows[0]?.version ?? 'unknown';
}
