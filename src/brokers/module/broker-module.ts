import type { SecureContext } from 'node:tls';
import type { Egress } from '../../dispatch/address/egress.ts';
import type { BrokerSettings } from '../../domain/config/source.ts';
import type { BrokerMessage } from '../../ingest/broker-message.ts';
import type { Lot } from '../../ingest/lot.ts';
import type { Logger } from '../../platform/logger.ts';
import type { Clock } from '../../platform/time/clock.ts';
import type { ChangeStreamStore, SourceKey } from '../../store/brokers/change-streams.ts';
import type { Workload } from './workload.ts';

/**
 * The contract of one kind of broker. A module receives messages and hands them to `store`; what they mean,
 * whether they came before, limits, retries and backoff are not its business. One rule holds for all: a message is
 * acknowledged only after `store` has resolved for it.
 */
export interface BrokerModule<Kind extends BrokerKind = BrokerKind> {
  /**
   * Takes messages until the signal aborts; then gives back what it holds and ends. Rejects where the broker cannot
   * be used (any more): it is called again, after a while.
   */
  consume(settings: Extract<BrokerSettings, { type: Kind }>, context: ConsumerContext): Promise<void>;
  /** Connects as `consume` does, looks whether it could take messages, and takes none. */
  test(settings: Extract<BrokerSettings, { type: Kind }>, context: ConnectContext): Promise<void>;
  /** An error of the two, in words for the owner if it knows it. */
  worded(error: unknown): Error;
}

export type BrokerKind = BrokerSettings['type'];

/** All that a connection needs. */
export interface NetworkContext {
  signal: AbortSignal;
  /** Every address that is connected to, also one that the broker names, must come from here. */
  egress: Egress;
  /** For TLS, with the authorities of the instance. */
  secureContext(): SecureContext;
  /** Credentials of this machine. */
  workload: Workload;
  log: Logger;
}

export interface ConnectContext extends NetworkContext {
  /** The tables of change streams in our own database. */
  streams: ChangeStreamStore;
  /** The time of our database. */
  clock: Pick<Clock, 'now' | 'after'>;
}

export interface ConsumerContext extends ConnectContext {
  source: SourceKey;
  /**
   * Resolves when all the messages are stored: acknowledge them. Rejects, with `StoreAborted`, only after the signal or
   * that of the lot aborted. Of an ordered stream hand in one lot at a time.
   */
  store(part: LotPart, messages: readonly ReceivedMessage[]): Promise<StoredMessages>;
  /** The broker answers and messages would come, if there were some. */
  connected(): void;
  /** Messages in the broker that are still to be taken, of one part of it; null: no longer known here. */
  lag(part: string, messages: number | null): void;
  /** Bytes that the broker has to keep for this source, where they are too many. Null: they are not. */
  holdsBack(bytes: number | null): Promise<void>;
  /** A sentence for the status of the source while it runs. */
  note(text: string): void;
}

export interface LotPart extends Pick<Lot, 'stream' | 'order'> {
  /** Aborts when the messages can no longer be acknowledged: they come again, and need not be stored now. */
  signal?: AbortSignal;
}

export interface StoredMessages {
  /** Messages that can never be events, by their number in the lot. They are stored as failed events. */
  unreadable: ReadonlySet<number>;
}

export interface ReceivedMessage extends BrokerMessage {
  /** Its place in the stream: see `LotMessage`. */
  key: string | null;
}

/** The first `count` messages of a lot are stored and may be acknowledged, the others may not. */
export class StoreAborted extends Error {
  readonly count: number;
  readonly stored: StoredMessages;

  constructor(count: number, stored: StoredMessages) {
    super('the source was stopped before all messages were stored');
    this.count = count;
    this.stored = stored;
  }
}
