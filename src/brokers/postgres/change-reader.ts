import type { ChangeStreamSettings } from '../../domain/config/source.ts';
import { BrokerError } from '../module/broker-error.ts';
import type { ConsumerContext } from '../module/broker-module.ts';
import { changeMessage, type RowChange } from './change-event.ts';
import { Lot } from './change-lot.ts';
import type { Connection } from './connect.ts';
import { type CopyMessage, CopyStream } from './copy-stream.ts';
import { type Identity, identifier, literal } from './customer-database.ts';
import { positionKey } from './log-position.ts';
import { type Decoded, PgoutputDecoder, serverTimeMs } from './pgoutput.ts';
import type { PreparedSlot } from './prepare-slot.ts';
import { prepareRound, type Round } from './snapshot.ts';

/**
 * Reads a slot: takes the changes that came, stores them in lots, and confirms the end of the last transaction that is
 * stored whole. A transaction may be larger than a lot: its parts are stored one after another, by commit and number.
 * After a break it comes again from its beginning, and the parts that were stored are dropped.
 *
 * While no change is under way, the place up to which the server has looked is confirmed too. So the slot moves on
 * although nothing is published, and the database need not keep its log.
 *
 * The server hears from us every STATUS_MS also while we store, or it would end the connection after 60 s.
 */
const STATUS_MS = 10_000;
const XLOG_HEAD_BYTES = 25;
/** Transactions are open that a round would have to wait for. */
const LOCK_TIMEOUT = '55P03';
const ROUND_AGAIN_MS = 5_000;

export interface ReaderDeps {
  connection: Connection;
  identity: Identity;
  slot: PreparedSlot;
  settings: ChangeStreamSettings;
  context: ConsumerContext;
}

interface Transaction {
  commitLsn: bigint;
  committedAtMs: number;
  xid: number;
  /** The number of its next change. Changes of all tables count: they may be chosen otherwise after a break. */
  index: number;
}

export class ChangeReader {
  readonly #deps: ReaderDeps;
  readonly #copy: CopyStream;
  readonly #decoder = new PgoutputDecoder();
  readonly #wanted: ReadonlySet<string> | null;
  readonly #nextRound: () => Promise<Round | null>;
  readonly #lot: Lot;
  #transaction: Transaction | null = null;
  /** Up to here everything is stored. */
  #confirmed = 0n;
  /** Up to here everything is taken; to be confirmed when it is stored. */
  #taken = 0n;
  #round: Round | null = null;
  /** All the rounds of the snapshot are done. */
  #isRead = false;
  #prepareAt = 0;
  #failure: Error | null = null;
  readonly #end = new AbortController();

  constructor(deps: ReaderDeps) {
    const { connection, slot, settings, context } = deps;
    this.#deps = deps;
    // After an abort what is being stored is confirmed.
    this.#copy = new CopyStream(connection.takeSocket(true));
    this.#wanted = wantedTables(slot, settings);
    const signal = AbortSignal.any([context.signal, this.#end.signal]);
    this.#nextRound = async () =>
      settings.snapshot ? prepareRound(settings, { ...context, signal }, slot) : null;
    const part = { stream: slot.stream, order: 'ordered' as const };
    this.#lot = new Lot((messages) => context.store(part, messages));
  }

  /** Until the signal aborts. */
  async run(): Promise<void> {
    const { connection, context, settings } = this.#deps;
    const options = `proto_version '1', publication_names ${literal(identifier(settings.publication_name))}`;
    let isStarted = false;
    const onAbort = () => (isStarted ? this.#copy.wake() : connection.close());
    context.signal.addEventListener('abort', onAbort);
    const timer = setInterval(() => this.#sendStatus(), STATUS_MS);
    try {
      await this.#copy.start(
        `START_REPLICATION SLOT ${identifier(settings.slot_name)} LOGICAL 0/0 (${options})`,
      );
      isStarted = true;
      context.connected();
      while (!context.signal.aborted) {
        await this.#prepareRound();
        await this.#take();
      }
    } finally {
      clearInterval(timer);
      context.signal.removeEventListener('abort', onAbort);
      this.#end.abort();
      this.#round?.close();
    }
  }

  /** Ends it with this error. */
  fail(error: Error): void {
    this.#failure ??= error;
    this.#copy.wake();
  }

  async #take(): Promise<void> {
    const messages = await this.#copy.next();
    if (this.#failure !== null) throw this.#failure;
    if (messages === null) throw new BrokerError('The database ended the replication.');
    for (const message of messages) await this.#handle(message);
    await this.#lot.store();
    await this.#readRound(this.#taken);
    if (this.#taken > this.#confirmed) {
      this.#confirmed = this.#taken;
      this.#sendStatus();
    }
  }

  async #handle({ data, isCut }: CopyMessage): Promise<void> {
    const kind = data.toString('latin1', 0, 1);
    if (kind === 'w') await this.#change(this.#decoder.decode(data.subarray(XLOG_HEAD_BYTES), isCut));
    if (kind !== 'k') return;
    const end = data.readBigUInt64BE(1);
    if (this.#transaction === null && end > this.#taken) this.#taken = end;
    if (data.readUInt8(17) === 1) this.#sendStatus();
  }

  async #change(decoded: Decoded): Promise<void> {
    switch (decoded.kind) {
      case 'begin':
        // Everything that was committed before has been taken.
        await this.#readRound(decoded.commitLsn);
        this.#transaction = { ...decoded, index: 0 };
        return;
      case 'commit':
        this.#transaction = null;
        this.#taken = decoded.endLsn;
        return;
      case 'row':
        return this.#add(decoded);
      case 'truncate':
        for (const relation of decoded.relations)
          await this.#add({ op: 'truncate', relation, before: null, after: null });
        return;
      case 'other':
    }
  }

  async #add(change: RowChange): Promise<void> {
    if (this.#transaction === null) throw new Error('the server sent a change outside of a transaction');
    const { commitLsn: lsn, committedAtMs, xid } = this.#transaction;
    const key = positionKey(this.#deps.identity.timelines, lsn, this.#transaction.index++);
    const { schema, table } = change.relation;
    if (this.#wanted?.has(`${schema}.${table}`) === false) return;
    const nowMs = Math.floor(this.#deps.context.clock.now());
    await this.#lot.add(changeMessage(change, { key, lsn, xid, committedAtMs }, nowMs));
  }

  /**
   * Prepares the next round of the snapshot, if there is one. No change is taken meanwhile: it could be after the cut,
   * which is not known yet.
   */
  async #prepareRound(): Promise<void> {
    if (this.#isRead || this.#round !== null || performance.now() < this.#prepareAt) return;
    try {
      this.#round = await this.#nextRound();
      this.#isRead = this.#round === null;
    } catch (error) {
      if ((error as { code?: string }).code !== LOCK_TIMEOUT) throw error;
      this.#prepareAt = performance.now() + ROUND_AGAIN_MS;
      const timer = setTimeout(() => this.#copy.wake(), ROUND_AGAIN_MS + 1);
      this.#end.signal.addEventListener('abort', () => clearTimeout(timer));
    }
  }

  /** Reads the round that is prepared, if the stream has come to its cut. */
  async #readRound(reached: bigint): Promise<void> {
    const round = this.#round;
    if (round === null || this.#transaction !== null || reached < round.cut) return;
    await this.#lot.store();
    this.#round = null;
    await round.read();
  }

  #sendStatus(): void {
    const status = Buffer.alloc(34);
    status.write('r', 0, 'latin1');
    for (const at of [1, 9, 17]) status.writeBigUInt64BE(this.#confirmed, at);
    status.writeBigInt64BE(BigInt(Date.now() - serverTimeMs(0n)) * 1000n, 25);
    this.#copy.write(status);
  }
}

/** Null: all that is published. A table that is renamed stays in its publication, under its new name. */
function wantedTables({ row, tables }: PreparedSlot, settings: ChangeStreamSettings): Set<string> | null {
  const isAll = row.isPublicationMade || settings.tables.length === 0;
  return isAll ? null : new Set(tables.map(({ name }) => name));
}
