import type { HeldDelivery } from './delivery.ts';

/**
 * What the door needs of the dispatcher: a place in its window before a delivery is stored as held by this node,
 * and the delivery itself once it is committed. A delivery without a place is stored for whoever claims it.
 */
export interface DeliverySink {
  reserve(deliveryId: string, endpointId: string): boolean;
  /** The delivery was not stored after all, or its outcome is unknown. */
  unreserve(deliveryId: string): void;
  start(delivery: HeldDelivery): void;
  /** Stored without a node: due now for any node. */
  waiting(projectId: string, where: { key: string; lane: number }): void;
  /** An event was stored whose deliveries are yet to be made. */
  expansionStored(): void;
  /** A batch was sent and its answer lost: rows held by this node may exist that it does not know of. */
  unsure(): void;
}
