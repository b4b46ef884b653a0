import type { Socket } from 'node:net';
import pg from 'pg';
import type { ChangeStreamSettings } from '../../domain/config/source.ts';
import { type DatabaseAddress, parseDatabaseUrl } from '../../store/database/database-url.ts';
import { BrokerError } from '../module/broker-error.ts';
import type { ConnectContext } from '../module/broker-module.ts';

/**
 * Connections to a database of a customer: by TCP, to an address that the egress rule allows. Nothing is taken from our
 * environment or files. The server may be hostile: what it may send while it is asked questions is bounded, and changes
 * and rows are read by `CopyStream`, which has bounds of its own.
 */
const CONNECT_MS = 10_000;
const MAX_ANSWER_BYTES = 32 * 1024 * 1024;
const LOOK_MS = 50;

/** Values come as the text that these settings give them, whatever the server, database or user is set to. */
const SETTINGS = {
  DateStyle: 'ISO',
  TimeZone: 'UTC',
  IntervalStyle: 'postgres',
  bytea_output: 'hex',
  extra_float_digits: 1,
  standard_conforming_strings: 'on',
  statement_timeout: 0,
  // A new slot waits for open transactions. One that waits on is not left behind with a connection that is gone.
  lock_timeout: 10_000,
  idle_in_transaction_session_timeout: 0,
  wal_sender_timeout: 60_000,
};

export interface Connection {
  query(text: string): Promise<Row[]>;
  /** From here on the socket is the caller's. `isKept`: also when the signal aborts. */
  takeSocket(isKept?: boolean): Socket;
  close(): void;
}

export type Row = Readonly<Record<string, string | null>>;

export interface ConnectOptions {
  /** Takes commands of replication too. */
  isReplication: boolean;
  /** By which the connection is known in the server. */
  name: string;
}

export async function connect(
  { connection_url: url }: Pick<ChangeStreamSettings, 'connection_url'>,
  context: Pick<ConnectContext, 'egress' | 'secureContext' | 'signal'>,
  options: ConnectOptions,
): Promise<Connection> {
  const { signal } = context;
  const address = parseDatabaseUrl(url);
  if (typeof address === 'string') throw new BrokerError(`The connection_url ${address}.`);
  const hosts = await context.egress.addresses(address.host);
  for (const [n, host] of hosts.entries()) {
    signal.throwIfAborted();
    const client = new pg.Client(clientConfig(host, address, context, options));
    // A broken connection rejects what is asked of it; the event would end the process.
    client.on('error', () => {});
    const connection = new GuardedConnection(client, signal);
    try {
      await client.connect();
      return connection;
    } catch (error) {
      connection.close();
      signal.throwIfAborted();
      // Another address may answer, but not another server with another opinion.
      if (n === hosts.length - 1 || !isUnreachable(error)) throw error;
    }
  }
  throw new Error('unreachable');
}

const isUnreachable = (error: unknown): boolean =>
  /^E(CONNREFUSED|HOSTUNREACH|NETUNREACH|TIMEDOUT)$/.test((error as NodeJS.ErrnoException).code ?? '');

function clientConfig(
  host: string,
  { port, user, password, database, isSecure, host: name }: DatabaseAddress,
  { secureContext }: Pick<ConnectContext, 'secureContext'>,
  options: ConnectOptions,
): pg.ClientConfig & { replication?: string } {
  const servername = /^[\d.]+$|:/.test(name) ? {} : { servername: name };
  return {
    host,
    port,
    user,
    database,
    // A function: without it an empty password would be looked for in our environment.
    password: () => password,
    ssl: isSecure ? { secureContext: secureContext(), host: name, ...servername } : false,
    application_name: options.name,
    options: Object.entries(SETTINGS)
      .map(([key, value]) => `-c ${key}=${value}`)
      .join(' '),
    connectionTimeoutMillis: CONNECT_MS,
    keepAlive: true,
    types: { getTypeParser: () => (text: string) => text } as unknown as pg.CustomTypesConfig,
    ...(options.isReplication && { replication: 'database' }),
  };
}

/** Ends when the signal aborts, and when the answers are larger than anything that we ask for. */
class GuardedConnection implements Connection {
  readonly #client: pg.Client;
  readonly #signal: AbortSignal;
  readonly #timer: NodeJS.Timeout;
  readonly #close = () => this.close();

  constructor(client: pg.Client, signal: AbortSignal) {
    this.#client = client;
    this.#signal = signal;
    signal.addEventListener('abort', this.#close);
    this.#timer = setInterval(() => {
      if (this.#socket.bytesRead > MAX_ANSWER_BYTES)
        this.#socket.destroy(new Error('the answers of the server are too large'));
    }, LOOK_MS).unref();
  }

  /** Texts and nulls by column, of a statement without parameters. */
  async query(text: string): Promise<Row[]> {
    this.#signal.throwIfAborted();
    const answer = (await this.#client.query(text)) as pg.QueryResult | pg.QueryResult[];
    return (Array.isArray(answer) ? answer.at(-1)?.rows : answer.rows) as Row[];
  }

  takeSocket(isKept = false): Socket {
    clearInterval(this.#timer);
    if (isKept) this.#signal.removeEventListener('abort', this.#close);
    return this.#socket;
  }

  close(): void {
    clearInterval(this.#timer);
    this.#signal.removeEventListener('abort', this.#close);
    this.#socket.destroy();
  }

  get #socket(): Socket {
    return (this.#client as unknown as { connection: { stream: Socket } }).connection.stream;
  }
}
