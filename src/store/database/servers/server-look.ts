import type { DatabaseFault } from '../../../domain/errors.ts';
import { Loop } from '../../../platform/loop.ts';
import type { PostgresServer } from '../../../platform/postgres-url.ts';
import { connectPatiently, type PatientClient } from '../patient-client.ts';
import { faultOf, reasonOf } from '../pg-errors.ts';
import { ACCEPTED_AT, acceptPrimary } from './accept-primary.ts';
import type { Line } from './line.ts';

/** The answer of a server to LOOK, which every role may ask. */
export interface ServerState extends Line {
  isStandby: boolean;
  isReadOnly: boolean;
  /** A primary and its standbys have one identifier. */
  cluster: string;
  /** The end of the log that is written, of a standby: replayed. Null: nothing is replayed yet. */
  lsn: string | null;
}

/**
 * The timeline of a primary is read from the name of its WAL file: the control file has the one of the last checkpoint,
 * and after a promotion that is the old one for a while.
 */
export const LOOK = `select pg_is_in_recovery() as "isStandby", current_setting('transaction_read_only') = 'on' as "isReadOnly",
  (select system_identifier::text from pg_control_system()) as cluster,
  case when pg_is_in_recovery() then
    (select greatest(c.timeline_id, r.min_recovery_end_timeline) from pg_control_checkpoint() c, pg_control_recovery() r)
  else ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::int end as timeline,
  ${ACCEPTED_AT} as "acceptedAtMs",
  (case when pg_is_in_recovery() then pg_last_wal_replay_lsn() else pg_current_wal_lsn() end)::text as lsn`;

const EVERY_MS = 500;
/** For a new connection, and for an answer. */
const LIMIT_MS = 2_000;
const NO_ANSWER = /timeout expired|Query read timeout/;

/**
 * Looks at one server again and again, on a connection of its own, because those of the pools may wait behind other
 * statements. `onLook` is called after each look.
 */
export class ServerLook {
  readonly name: string;
  readonly url: string;
  /** Undefined: it did not answer the last look. */
  state: ServerState | undefined;
  problem = 'not asked yet';
  fault: DatabaseFault = 'unreachable';
  readonly #onLook: () => void;
  readonly #loop: Loop;
  #client: PatientClient | undefined;
  #last: Promise<void> = Promise.resolve();
  #running = 0;
  #lookedAt = { monotonic: Number.NEGATIVE_INFINITY, wall: 0 };

  constructor({ name, url }: PostgresServer, onLook: () => void) {
    this.name = name;
    this.url = url;
    this.#onLook = onLook;
    this.#loop = new Loop({ turn: () => this.soon(), onError: () => undefined, everyMs: EVERY_MS });
  }

  /** By both clocks: one stops while a machine sleeps, the other can be set back. */
  get ageMs(): number {
    const { monotonic, wall } = this.#lookedAt;
    return Math.max(performance.now() - monotonic, Date.now() - wall);
  }

  start(): void {
    this.#loop.start();
  }

  async stop(): Promise<void> {
    await this.#loop.stop();
    await this.#last;
    await this.#forget();
  }

  /** Begins after the call: an answer that waited in the socket while this process stood still would be old. */
  look(): Promise<void> {
    this.#running += 1;
    this.#last = this.#last
      .then(() => this.#look())
      .finally(() => {
        this.#running -= 1;
      });
    return this.#last;
  }

  /** The look that runs, or a new one. */
  soon(): Promise<void> {
    return this.#running > 0 ? this.#last : this.look();
  }

  /** Marks this server as the primary to use, unless it was marked since the last look. */
  async accept(): Promise<void> {
    if (this.#client === undefined || this.state === undefined) return;
    await acceptPrimary(this.#client, this.state);
  }

  async #look(): Promise<void> {
    const begun = { monotonic: performance.now(), wall: Date.now() };
    try {
      this.#client ??= await this.#connect();
      const { rows } = await this.#client.query<ServerState>(LOOK);
      this.state = rows[0];
    } catch (error) {
      this.state = undefined;
      this.fault = faultOf(error) ?? 'refused';
      const reason = reasonOf(error);
      this.problem = NO_ANSWER.test(reason) ? `no answer within ${LIMIT_MS / 1000} s` : reason;
      await this.#forget();
    }
    this.#lookedAt = begun;
    this.#onLook();
  }

  async #connect(): Promise<PatientClient> {
    const client = await connectPatiently({
      connectionString: this.url,
      connectionTimeoutMillis: LIMIT_MS,
      answerMs: LIMIT_MS,
    });
    // The next look connects again, and so knows why that is not possible.
    client.once('end', () => {
      if (this.#client === client) this.#client = undefined;
    });
    return client;
  }

  async #forget(): Promise<void> {
    const client = this.#client;
    this.#client = undefined;
    // It is lost already, or is closed by the server.
    await client?.end().catch(() => undefined);
  }
}
