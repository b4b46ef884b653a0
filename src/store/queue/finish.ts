import type {
  EndedStatus,
  LeasedBatch,
  LeasedDelivery,
  LeasedMetaEvent,
  LeasedSingle,
  OpenStatus,
  QueueKey,
} from '../../domain/delivery.ts';
import type { BatchId } from '../../domain/ids.ts';
import type { NewMetaEvent } from '../../domain/meta-event.ts';
import type { Attempt } from '../attempts/attempt.ts';

/** How an attempt at a delivery or a meta event ended, and what follows from it. */
export type Finish<T extends LeasedSingle = LeasedDelivery> = NextState & {
  delivery: T;
  description: string | null;
  numTrials: number;
  latencyMs: number | null;
  lane: number;
  key: QueueKey;
  /** The body from a function, kept for later attempts. */
  body: Buffer | null;
  /** The rest of the request from a function, sealed. Kept too. */
  functionRequest: string | null;
  attempt: Attempt | null;
  /** The connection was dropped: the next request belongs to the same attempt, and this one does not count. */
  isSecondRequest: boolean;
  /** Stored with the outcome. Null: the project does not want it. */
  metaEvent: NewMetaEvent | null;
};

/** An open delivery is tried again after `delayMs`; an ended one is not. */
export type NextState = { status: OpenStatus; delayMs: number } | { status: EndedStatus; delayMs: null };

/** The finish of a batch: what becomes of its row, the outcomes of its deliveries, and the batches that some are in from now on. */
export interface BatchFinish {
  delivery: LeasedBatch;
  /** It goes on as it is after this time. Null: its row goes. */
  delayMs: number | null;
  lane: number;
  key: QueueKey;
  isSecondRequest: boolean;
  members: readonly Finish[];
  parts: readonly { id: BatchId; deliveryIds: readonly string[] }[];
}

export type AnyFinish = Finish<LeasedSingle> | BatchFinish;

export const isOfBatch = (finish: AnyFinish): finish is BatchFinish => finish.delivery.kind === 'batch';
export const isOfMetaEvent = (finish: AnyFinish): finish is Finish<LeasedMetaEvent> =>
  finish.delivery.kind === 'meta';
export const isOfDelivery = (finish: AnyFinish): finish is Finish => finish.delivery.kind === 'delivery';

/** The finishes of the deliveries of one. */
export function ofDeliveries(finish: AnyFinish): readonly Finish[] {
  if (isOfBatch(finish)) return finish.members;
  return isOfDelivery(finish) ? [finish] : [];
}
