import type { Lot } from '../../ingest/lot.ts';
import type { ReceivedMessage } from './broker-module.ts';

/** A queue that gives a message to one consumer for a while, and to another one if it is not acknowledged in that time. */
export interface LeasedQueue {
  part: Pick<Lot, 'stream' | 'order'>;
  /** The lease of a message that was just received. */
  firstLeaseMs: number;
  /** `waits`: for messages, if there are none. Resolves with what was received when the signal aborts. */
  receive(waits: boolean, signal: AbortSignal): Promise<LeasedMessage[]>;
  acknowledge(receipts: readonly string[]): Promise<void>;
  /** Leases from now on; 0 gives back. Those that are refused for good. */
  lease(receipts: readonly string[], ms: number): Promise<readonly string[]>;
}

export interface LeasedMessage extends ReceivedMessage {
  receipt: string;
}
