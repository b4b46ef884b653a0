import type { ProjectId, SourceId } from '../domain/ids.ts';
import type { NewEvent } from './new-event.ts';

/**
 * Messages of one part of a broker (a partition, a queue, a replication slot) that are stored together with their
 * place there, in one commit. A message that was stored before is dropped.
 */
export interface Lot {
  projectId: ProjectId;
  sourceId: SourceId;
  /** Names the broker and the part of it, by ids that are never used twice. */
  stream: string;
  /**
   * ordered: the keys are positions that compare as text and grow with each message; one lot of a stream at a time.
   * Otherwise each key names one message, and is remembered for as long as the broker may deliver it again.
   */
  order: 'ordered' | { keepMs: number };
  messages: readonly LotMessage[];
}

export interface LotMessage {
  /** Null: nothing tells it from other messages. It is stored each time it comes. Not in an ordered stream. */
  key: string | null;
  event: NewEvent;
  /** Makes the failed event that replaces one which the database refuses. */
  refused(reason: string): NewEvent;
}

/** The first `done` messages are stored or were stored before, and may be acknowledged. No other may. */
export interface LotAnswer {
  done: number;
  stored: number;
  repeats: number;
  /** Why not all are done; the rest may be handed in again. */
  error: Error | null;
}
