import type { EndedStatus, Leased, LeasedDelivery, OpenStatus, QueueKey } from '../../domain/delivery.ts';
import type { BatchId } from '../../domain/ids.ts';
import type { NewMetaEvent } from '../../domain/meta-event.ts';
import type { Attempt } from '../attempts/attempt.ts';
import type { AttemptTemplates, StoredTemplate } from '../attempts/attempt-templates.ts';
import type { PackedAttempt } from '../attempts/packed-attempt.ts';
import { inIdOrder } from './move-queue-rows.ts';

/** How an attempt at a delivery or a meta event ended, and what follows from it. */
export type Finish<T extends Leased = Leased> = NextState & {
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
  /** The deliveries, if it is that of a batch. */
  group?: Group;
};

/** The outcomes of the deliveries of a batch, and the batches that some of them are in from now on. */
export interface Group {
  members: readonly Finish<LeasedDelivery>[];
  parts: readonly { id: BatchId; deliveryIds: readonly string[] }[];
}

/** An open delivery is tried again after `delayMs`; an ended one is not. */
export type NextState = { status: OpenStatus; delayMs: number } | { status: EndedStatus; delayMs: null };

/** A finish with its attempt as it is stored. Kept: with the delivery. */
export type PackedFinish = Finish<LeasedDelivery> & { record: PackedAttempt | null; isKept: boolean };

export interface PackedBatch {
  finishes: readonly PackedFinish[];
  /** The templates that its attempts use. */
  templates: readonly StoredTemplate[];
}

/**
 * The most bytes of an attempt that are kept with its delivery, the description included. Pages of deliveries have room
 * for that much more of each row (partitions.ts), so an end stays a HOT update.
 */
export const KEPT_BYTES = 176;

export function packedBatch(
  attempts: AttemptTemplates,
  finishes: readonly Finish<LeasedDelivery>[],
): PackedBatch {
  const templates = new Map<number, StoredTemplate>();
  const packed = inIdOrder(finishes).map((finish): PackedFinish => {
    const { attempt, delivery } = finish;
    if (attempt === null) return { ...finish, record: null, isKept: false };
    const { projectId, endpointId, id } = delivery;
    const made = attempts.pack({ projectId, endpointId, deliveryId: id }, attempt);
    if (made.template !== null) templates.set(made.template.id, made.template);
    const texts = made.packed.record + (finish.description ?? '');
    const bytes = Buffer.byteLength(texts) + (attempt.responseBody?.length ?? 0);
    // A resend began after an end, which has kept its attempt.
    const isKept = finish.delayMs === null && delivery.budgetFrom === 0 && bytes <= KEPT_BYTES;
    return { ...finish, record: made.packed, isKept };
  });
  return { finishes: packed, templates: [...templates.values()] };
}
