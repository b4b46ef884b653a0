import type { Leased, LeasedDelivery, Place, QueueKey } from './delivery.ts';
import type { ProjectId } from './ids.ts';

/** Whom a delivery is for. */
export interface Destination {
  projectId: ProjectId;
  endpointId: Leased['target'];
}

/**
 * A place in the window of a node has room for this much of a payload, and a larger delivery takes several. So the 3,000
 * places of a node hold about 192 MB, and the limits on places are limits on memory too. A body that a function makes counts
 * from its second try on, when it is stored.
 */
export const PLACE_BYTES = 65_536;

export const placesOf = (bytes: number): number => 1 + Math.floor(bytes / PLACE_BYTES);

/** The primary key of a row of the queue. */
export interface QueueRowKey {
  projectId: ProjectId;
  /** The id of a delivery or a meta event. */
  id: string;
}

/**
 * The engine's interface for stored deliveries: a place in the dispatcher's window before a delivery is stored as leased
 * by this node, and the delivery itself after the commit. A delivery without a place is stored for any node
 * to claim.
 */
export interface DeliverySink {
  /** `bytes`: of its payload. */
  reserve(deliveryId: string, to: Destination, bytes: number): boolean;
  /** The delivery was not stored, or its outcome is unknown. */
  unreserve(deliveryId: string): void;
  start(delivery: LeasedDelivery): void;
  /** Stored without a node: due for any node, now or after this time. `bytes`: of its payload. */
  waiting(place: Place, dueInMs?: number, bytes?: number): void;
  /** Stored behind another delivery of its ordering key. */
  waitingBehind(projectId: string, key: QueueKey, bytes: number): void;
  /** An event was stored whose deliveries are not created yet. */
  expansionStored(): void;
  /** This node may lease these rows without knowing it, for example because the answer to their insert was lost. */
  unsure(rows: readonly QueueRowKey[]): void;
}
