import type { CloudEventForm } from '../../domain/config/cloud-event.ts';
import type { Destination } from '../../domain/config/destination.ts';
import type { Outcome } from '../connection/outcome.ts';
import type { Turn } from '../connection/turn.ts';

/**
 * Sends deliveries to brokers. It is declared here, below those who send and those who know brokers: the start of the
 * program joins them.
 */
export interface MessageSender {
  /** Never rejects. A response means that the broker has confirmed the message. */
  send(message: OutgoingMessage, signal?: AbortSignal): Promise<Outcome>;
}

export interface OutgoingMessage {
  destination: Destination;
  /** Each project has a bounded part of the connections. */
  projectId: string;
  /** The `webhook-id`, by which consumers drop repeats. */
  id: string;
  eventType: string;
  /** The headers of the webhook. */
  headers: readonly (readonly [string, string])[];
  body: Buffer;
  /** Null: the delivery has no order. */
  orderingKey: string | null;
  /** It must not go twice. */
  isAtMostOnce: boolean;
  /** The form that the endpoint asks for. */
  cloudEvents: CloudEventForm;
  /** From the first try to connect until the confirm. */
  timeoutMs: number;
  /** Decides when the message may go. Without one: as soon as possible. */
  turn?: Turn;
}
