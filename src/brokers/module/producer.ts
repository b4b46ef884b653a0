import type { Destination, DestinationKind } from '../../domain/config/destination.ts';
import type { NetworkContext } from './broker-module.ts';

/** The contract of one kind of broker that deliveries go to. */
export interface DestinationModule<Kind extends DestinationKind = DestinationKind> {
  /** The settings that make a connection. Endpoints whose settings are equal in these share one. */
  connectionOf(destination: DestinationOf<Kind>): unknown;
  /** Connects. The signal of the context ends the try, and nothing after it. */
  open(destination: DestinationOf<Kind>, context: ProducerContext): Promise<Producer>;
}

type DestinationOf<Kind> = Extract<Destination, { type: Kind }>;

export interface ProducerContext extends NetworkContext {
  /** The connection is of no use any more. */
  lost(error: Error): void;
}

/** A connection that messages are sent on. */
export interface Producer {
  /** The address of the server. Null: it is not known, or there are several. */
  readonly address: string | null;
  /** Resolves when the broker has the message for good. Rejects, with a `BrokerError` where the reason is known. */
  send(message: BrokerMessageOut): Promise<Receipt>;
  /** Sends nothing any more. The caller ends the messages that are under way. */
  close(): Promise<void>;
}

export interface BrokerMessageOut {
  destination: Destination;
  id: string;
  eventType: string;
  /** Names in lower case. */
  headers: readonly (readonly [string, string])[];
  body: Buffer;
  orderingKey: string | null;
  /** A message whose fate is not known is not sent again. */
  isAtMostOnce: boolean;
  limit: MessageLimit;
}

/** One to an endpoint of a kind. */
export type MessageTo<Kind extends DestinationKind> = BrokerMessageOut & { destination: DestinationOf<Kind> };

/** The time of a message. It may be short, because its connection is lost or the node stops. */
export interface MessageLimit {
  /** It is not to be sent any more. */
  readonly isOver: boolean;
  /**
   * Its bytes may go from now on. `connecting`: the client connects first, so an error such as a refused connection means
   * that they did not. `connected`: they may have gone, whatever the error says. Null: the broker refused them, so that
   * nothing of it is on its way until it begins again.
   */
  begin(state: 'connecting' | 'connected' | null): void;
  /** Calls back when it is over, unless the message ended before. */
  whenOver(call: () => void): void;
}

/** The answer of the broker for a message that it took. */
export interface Receipt {
  address: string | null;
  /** Such as partition and offset. */
  facts: Readonly<Record<string, string>>;
}
