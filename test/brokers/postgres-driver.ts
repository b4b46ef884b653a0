import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { brokerFacts } from '../support/brokers/broker.ts';
import { PostgresServer } from '../support/brokers/postgres-server.ts';
import { Relay } from '../support/servers/relay.ts';
import type { BrokerDriver, OwnBroker, TestMessage, TestQueue } from './broker-driver.ts';

/** The side of the customer: databases of their own, with a table whose rows are the messages. */
export const ALICE = { user: 'alice', password: 'alice secret/+%' };

export async function postgresDriver(): Promise<BrokerDriver | string> {
  const facts = await brokerFacts<{ port: number }>('postgres');
  if (typeof facts === 'string') return facts;
  const side = new PostgresSide(facts.port);
  return { open: () => side.open(), startOwn, close: () => side.close() };
}

export class PostgresSide {
  readonly #port: number;
  readonly #clients = new Map<string, Promise<pg.Client>>();

  constructor(port: number) {
    this.#port = port;
  }

  /** `port`: where the service connects to, if not directly. */
  url(database: string, { user, password } = { user: 'admin', password: '' }, port = this.#port): string {
    const credentials = password === '' ? user : `${user}:${encodeURIComponent(password)}`;
    return `postgres://${credentials}@127.0.0.1:${port}/${database}`;
  }

  /** A database with a user that may replicate, and a table `messages` that it owns. */
  async createDatabase(): Promise<string> {
    const name = `d_${randomBytes(6).toString('hex')}`;
    await this.query('postgres', `create database ${name}`);
    await this.query(
      'postgres',
      `do $$ begin if not exists (select from pg_roles where rolname = '${ALICE.user}')
         then create role ${ALICE.user} login replication password '${ALICE.password}'; end if; end $$`,
    );
    await this.query('postgres', `grant all on database ${name} to ${ALICE.user}`);
    await this.query(
      name,
      `create table messages (id bigserial primary key, n integer, body text); alter table messages owner to ${ALICE.user}`,
    );
    return name;
  }

  async query(database: string, text: string, values?: unknown[]): Promise<Record<string, unknown>[]> {
    const client = await this.#client(database);
    const answer = (await client.query(text, values)) as pg.QueryResult | pg.QueryResult[];
    return (Array.isArray(answer) ? answer.at(-1)?.rows : answer.rows) as Record<string, unknown>[];
  }

  /** A connection of its own. */
  async connect(database: string): Promise<pg.Client> {
    const client = new pg.Client({ connectionString: this.url(database) });
    await client.connect();
    return client;
  }

  /** With a slot and a publication that are there before the source is: they keep what comes meanwhile. */
  async open(port = this.#port): Promise<TestQueue> {
    const database = await this.createDatabase();
    const slot = `s_${database}`;
    await this.query(database, 'create publication p for table messages');
    await this.query(database, `select pg_create_logical_replication_slot('${slot}', 'pgoutput')`);
    const settings = (url: string) => ({
      connection_url: url,
      slot_name: slot,
      publication_name: 'p',
      tables: ['public.messages'],
      snapshot: false,
    });
    /** The ends of the commits of all messages. */
    const ends: string[] = [];
    return {
      settings: settings(this.url(database, undefined, port)),
      authenticated: settings(this.url(database, ALICE, port)),
      refused: settings(this.url(database, { ...ALICE, password: 'wrong' }, port)),
      refusedReason: 'The database refused the user name or the password.',
      publish: async (messages) => {
        for (const chunk of chunks(messages)) ends.push(...(await this.#insert(database, chunk)));
      },
      depth: () => this.#depth(slot, ends),
    };
  }

  /** One transaction. Returns its end, for each message. */
  async #insert(database: string, messages: readonly TestMessage[]): Promise<string[]> {
    const bodies = messages.map(({ body }) => String(body));
    const numbers = bodies.map((body) => (JSON.parse(body) as { data: { n: number } }).data.n);
    await this.query(database, 'insert into messages (n, body) select * from unnest($1::int[], $2::text[])', [
      numbers,
      bodies,
    ]);
    const [end] = await this.query(database, 'select pg_current_wal_insert_lsn()::text as lsn');
    return bodies.map(() => String(end?.['lsn']));
  }

  async #depth(slot: string, ends: string[]): Promise<number> {
    const [row] = await this.query(
      'postgres',
      `select count(*)::int as count from unnest($2::pg_lsn[]) as e(lsn), pg_replication_slots
       where slot_name = $1 and lsn > confirmed_flush_lsn`,
      [slot, ends],
    );
    return row?.['count'] as number;
  }

  #client(database: string): Promise<pg.Client> {
    const known = this.#clients.get(database);
    if (known !== undefined) return known;
    const client = new pg.Client({ connectionString: this.url(database) });
    // The server is killed in tests: the next question connects again.
    client.on('error', () => this.#clients.delete(database));
    client.on('end', () => this.#clients.delete(database));
    const connected = client.connect().then(() => client);
    this.#clients.set(database, connected);
    connected.catch(() => this.#clients.delete(database));
    return connected;
  }

  async close(): Promise<void> {
    await Promise.all([...this.#clients.values()].map(async (client) => (await client).end()));
  }
}

function* chunks(messages: readonly TestMessage[]): Generator<readonly TestMessage[]> {
  const CHUNK = 100;
  for (let from = 0; from < messages.length; from += CHUNK) yield messages.slice(from, from + CHUNK);
}

async function startOwn(): Promise<OwnBroker> {
  const server = await PostgresServer.start();
  const relay = await Relay.start(server.port);
  const side = new PostgresSide(server.port);
  return {
    queue: await side.open(relay.port),
    kill: () => server.kill(),
    resume: () => server.resume(),
    muteService: () => relay.mute(),
    unmuteService: () => relay.unmute(),
    stop: async () => {
      await side.close();
      relay.close();
      await server.stop();
    },
  };
}
