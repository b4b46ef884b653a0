import type { DatabaseFault } from '../../../domain/errors.ts';
import type { Logger } from '../../../platform/logger.ts';
import { readPostgresUrl } from '../../../platform/postgres-url.ts';
import { StartupError } from '../../../platform/startup-error.ts';
import { connectPatiently, PatientClient, type PatientClientConfig } from '../patient-client.ts';
import { isConnectionError, markFault } from '../pg-errors.ts';
import { compareLines, type Line } from './line.ts';
import { OldPrimaries } from './old-primaries.ts';
import { LOOK, ServerLook, type ServerState } from './server-look.ts';

/**
 * The servers of one database: a primary and its standbys. Every connection goes to the one that is chosen.
 *   unknown -> none was usable yet: who wants a connection waits for a look at all servers.
 *   chosen  -> new connections go there. It stays chosen while no other server is usable, also when it is silent.
 *   chosen -> chosen: the chosen one is not usable any more and another one is, or another one is of a newer line.
 *   chosen -> over: an old primary was accepted in place of the chosen one. What this process has read may not be true
 *             there, so it gets no connection any more: it has to begin again.
 *
 * A promotion begins a timeline, so a primary that was replaced and comes back is known by its lower one, though it
 * takes writes. From the moment when this process has seen a line, every connection to a server with an older one is
 * cut, and none is made. A process that stood still looks at all servers before it uses a connection again.
 */
const FRESH_MS = 6_000;
const CONNECT_MS = 5_000;
/** SQLSTATE: unable to connect. */
const NO_CONNECTION = '08001';

type ServerUse = 'write' | 'read';

export interface ServersOptions {
  log: Logger;
  /** `read`: a standby will do. */
  use?: ServerUse | undefined;
  /** How long an old primary is followed by all other servers before it is accepted. Absent: it is not. */
  timelineWaitMs?: number | undefined;
}

/** A server as it was seen last. */
export interface SeenServer extends ServerState {
  server: string;
  seenAtMs: number;
}

/** An old primary was accepted. `from` may have had commits after it was seen last, and `to` lacks commits of it. */
export interface OldPrimaryAccepted {
  from: SeenServer;
  to: SeenServer;
}

export class NoServerError extends Error {
  readonly code = NO_CONNECTION;

  constructor(message: string, fault: DatabaseFault, options?: ErrorOptions) {
    super(message, options);
    markFault(this, fault);
  }
}

export class Servers {
  readonly #use: ServerUse;
  readonly #wantsStandby: boolean;
  readonly #log: Logger;
  readonly #looks: ServerLook[];
  readonly #oldPrimaries: OldPrimaries;
  /** Connections by the line of their server. */
  readonly #clients = new Map<PatientClient, Line>();
  readonly #over = Promise.withResolvers<OldPrimaryAccepted>();
  #isOver = false;
  #chosen: ServerLook | undefined;
  /** The primary or standby on the newest line that was seen. */
  #newest: SeenServer | undefined;
  #cluster: string | undefined;
  #isMixed = false;
  #looking: Promise<unknown> | undefined;
  #isStarted = false;

  /** Null: one server, of which nothing is asked. The driver connects to it as it is. */
  static of(url: string | undefined, options: ServersOptions): Servers | null {
    if (url === undefined) return null;
    const read = readPostgresUrl(url);
    if (typeof read === 'string') throw new StartupError(`the URL of the database is not ${read}`);
    const isPlain = read.servers.length === 1 && ['', 'any'].includes(read.target);
    return isPlain ? null : new Servers(read, options);
  }

  private constructor(
    { servers, target }: Exclude<ReturnType<typeof readPostgresUrl>, string>,
    { log, use = 'write', timelineWaitMs = Number.POSITIVE_INFINITY }: ServersOptions,
  ) {
    this.#use = use;
    this.#wantsStandby = !['', 'any'].includes(target);
    this.#log = log;
    this.#oldPrimaries = new OldPrimaries(log, timelineWaitMs);
    this.#looks = servers.map((server) => new ServerLook(server, () => this.#judge()));
  }

  /** Resolves when an old primary was accepted in place of the one in use. */
  get over(): Promise<OldPrimaryAccepted> {
    return this.#over.promise;
  }

  /** When an old primary was accepted last. 0: never. */
  get acceptedAtMs(): number {
    return this.#newest?.acceptedAtMs ?? Number.NaN;
  }

  /** Resolves when a server is chosen and the looks are recent. Then a connection may be used. */
  async ready(): Promise<void> {
    if (this.#isOver) throw new NoServerError(this.#reasons(), this.#fault());
    if (this.#isFresh()) return;
    this.#start();
    if (this.#chosen === undefined) {
      await Promise.all(this.#looks.map((one) => one.soon()));
      if (this.#chosen === undefined) throw new NoServerError(this.#reasons(), this.#fault());
      return;
    }
    // The first may have begun before this process stood still.
    await this.#looking;
    if (this.#isFresh()) return;
    this.#looking ??= Promise.all(this.#looks.map((one) => one.look())).finally(() => {
      this.#looking = undefined;
    });
    await this.#looking;
  }

  #isFresh(): boolean {
    return this.#chosen !== undefined && this.#looks.every(({ ageMs }) => ageMs < FRESH_MS);
  }

  /** If no server is usable, a failure to connect becomes one that names each with its reason. */
  explained(error: unknown): unknown {
    const isLost = this.#chosen !== undefined && this.#problemOf(this.#chosen) !== null;
    if (!isLost || !isConnectionError(error)) return error;
    return new NoServerError(this.#reasons(), this.#fault(), { cause: error });
  }

  /** The class for a pool: each new client connects to the server that is chosen then. Call `ready` before. */
  clientClass(): typeof PatientClient {
    const url = () => this.#chosen?.url ?? this.#looks[0]?.url ?? '';
    return class extends PatientClient {
      constructor(config: PatientClientConfig = {}) {
        super({ ...config, connectionString: url() });
      }
    };
  }

  /** Runs the settings of a new connection and asks in the same round trip where it leads. Rejects if not to the primary. */
  async admit(client: PatientClient, settings = ''): Promise<void> {
    const answer: unknown = await client.query(settings === '' ? LOOK : `${settings}; ${LOOK}`);
    const results = (Array.isArray(answer) ? answer : [answer]) as { rows: ServerState[] }[];
    const state = results.at(-1)?.rows[0];
    const problem = state === undefined ? 'no answer' : this.#problemWith(state);
    if (state === undefined || problem !== null)
      throw new NoServerError(
        `the database server at ${client.host}:${client.port} ${problem}`,
        state === undefined ? 'unreachable' : 'read_only',
      );
    this.#clients.set(client, state);
    client.once('end', () => this.#clients.delete(client));
    this.#saw(`${client.host}:${client.port}`, state);
  }

  /** A connection outside the pools. */
  async connect(config: PatientClientConfig): Promise<PatientClient> {
    await this.ready();
    try {
      const connectionString = this.#chosen?.url ?? '';
      const client = await connectPatiently({
        connectionTimeoutMillis: CONNECT_MS,
        ...config,
        connectionString,
      });
      await this.admit(client).catch(async (error: unknown) => {
        await client.end();
        throw error;
      });
      return client;
    } catch (error) {
      throw this.explained(error);
    }
  }

  async stop(): Promise<void> {
    await Promise.all(this.#looks.map((one) => one.stop()));
  }

  #start(): void {
    if (this.#isStarted) return;
    this.#isStarted = true;
    for (const one of this.#looks) one.start();
  }

  /** After each look at a server, once all were looked at. */
  #judge(): void {
    if (this.#looks.some(({ ageMs }) => ageMs === Number.POSITIVE_INFINITY)) return;
    const states = this.#looks.flatMap(({ state }) => state ?? []);
    // Before the first choice nothing says which cluster is meant.
    if (this.#chosen === undefined) {
      const [cluster, ...others] = new Set(states.map((state) => state.cluster));
      this.#isMixed = others.length > 0;
      this.#cluster = cluster;
    }
    for (const { name, state } of this.#looks)
      if (state?.cluster === this.#cluster && state !== undefined) this.#saw(name, state);
    if (this.#use === 'write' && this.#newest !== undefined)
      this.#oldPrimaries.judge(this.#looks, this.#newest);
    if (this.#chosen !== undefined && this.#problemOf(this.#chosen) === null) return;
    const usable = this.#looks.find((one) => this.#problemOf(one) === null);
    if (usable === undefined) return;
    const isMove = this.#chosen !== undefined && this.#chosen !== usable;
    if (isMove)
      this.#log.warn(
        { from: this.#chosen?.name, to: usable.name, timeline: this.#newest?.timeline },
        'the database has moved to another server',
      );
    this.#chosen = usable;
  }

  #saw(server: string, state: ServerState): void {
    const before = this.#newest;
    const newer = before === undefined ? 1 : compareLines(state, before);
    // The primary of a line has all of its commits.
    if (newer < 0 || (newer === 0 && state.isStandby)) return;
    this.#newest = { ...state, server, seenAtMs: Date.now() };
    if (newer === 0 || this.#use === 'read') return;
    for (const [client, line] of this.#clients)
      if (compareLines(line, state) < 0)
        client.cut('Connection terminated: another server of the database has taken over');
    if (before === undefined || this.#chosen === undefined || state.acceptedAtMs <= before.acceptedAtMs)
      return;
    this.#isOver = true;
    this.#over.resolve({ from: before, to: this.#newest });
  }

  /** Null: usable. */
  #problemOf({ state, problem }: ServerLook): string | null {
    return state === undefined ? problem : this.#problemWith(state);
  }

  #problemWith(state: ServerState): string | null {
    const { isStandby, isReadOnly, cluster, timeline } = state;
    if (this.#isMixed) return `belongs to cluster ${cluster}, and another one to another`;
    if (cluster !== this.#cluster)
      return 'belongs to another cluster; if you have replaced the database, restart Posthorn';
    if (this.#use === 'read') return this.#wantsStandby && !isStandby ? 'is no standby' : null;
    if (isStandby) return 'is a standby';
    if (isReadOnly) return 'is read only';
    if (this.#isOver) return 'was accepted in place of a newer primary, and this node begins again';
    if (this.#newest === undefined || compareLines(state, this.#newest) >= 0) return null;
    return `is an old primary: its timeline is ${timeline}, and ${this.#newest.timeline} was seen`;
  }

  /** One that answers may only be read, or is not the one that is meant. */
  #fault(): DatabaseFault {
    if (this.#looks.some(({ state }) => state !== undefined)) return 'read_only';
    return this.#looks.map(({ fault }) => fault).find((one) => one !== 'unreachable') ?? 'unreachable';
  }

  #reasons(): string {
    const reasons = this.#looks.map((one) => `${one.name}: ${this.#problemOf(one) ?? 'usable'}`);
    const wanted = this.#use === 'write' ? 'takes writes' : 'can be read';
    return `no server of the database ${wanted} (${reasons.join('; ')})`;
  }
}
