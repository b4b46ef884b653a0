import type { ChangeStreamSettings } from '../../domain/config/source.ts';
import { BrokerError } from '../module/broker-error.ts';
import type { ConsumerContext } from '../module/broker-module.ts';
import { type Connection, connect } from './connect.ts';
import { literal } from './customer-database.ts';
import { connectionName } from './prepare-slot.ts';

/**
 * Looks at the slot every EVERY_MS: how many bytes of the log are still to be taken, and whether the slot holds back
 * more of the log than the database keeps by itself (max_wal_size). That is no harm yet, but its disk fills up. Without
 * its publication a slot goes on, from PostgreSQL 18 on, and gives out nothing.
 */
const EVERY_MS = 5_000;
const PART = 'slot';
const UNPUBLISHED = 'The publication was dropped, so changes may be missing.';

export class SlotWatch {
  readonly #settings: ChangeStreamSettings;
  readonly #context: ConsumerContext;
  readonly #onProblem: (problem: Error) => void;
  #connection: Connection | null = null;
  #timer: NodeJS.Timeout | undefined;
  #isLooking = false;

  constructor(settings: ChangeStreamSettings, context: ConsumerContext, onProblem: (problem: Error) => void) {
    this.#settings = settings;
    this.#context = context;
    this.#onProblem = onProblem;
  }

  start(): void {
    this.#timer = setInterval(() => void this.#look(), EVERY_MS);
    void this.#look();
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#connection?.close();
    this.#context.lag(PART, null);
  }

  async #look(): Promise<void> {
    const context = this.#context;
    if (this.#isLooking || context.signal.aborted) return;
    this.#isLooking = true;
    try {
      const name = connectionName(context.source.id);
      this.#connection ??= await connect(this.#settings, context, { isReplication: false, name });
      const [slot] = await this.#connection.query(
        `select pg_wal_lsn_diff(here, confirmed_flush_lsn)::bigint as lag, pg_wal_lsn_diff(here, restart_lsn)::bigint as held,
           wal_status, exists (select from pg_publication where pubname = ${literal(this.#settings.publication_name)}) as is_published
         from pg_replication_slots,
           (select pg_current_wal_lsn() as here) log
         where slot_name = ${literal(this.#settings.slot_name)}`,
      );
      if (slot === undefined || context.signal.aborted) return;
      if (slot['is_published'] !== 't') this.#onProblem(new BrokerError(UNPUBLISHED));
      context.lag(PART, Math.max(0, Number(slot['lag'])));
      const isHigh = slot['wal_status'] !== 'reserved';
      await context.holdsBack(isHigh ? Number(slot['held']) : null);
    } catch (error) {
      this.#connection?.close();
      this.#connection = null;
      context.log.debug({ err: error }, 'failed to look at a replication slot');
    } finally {
      this.#isLooking = false;
    }
  }
}
