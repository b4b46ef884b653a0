/** The acts of the suite on the side of a broker that gets deliveries. */
export interface DestinationDriver {
  open(): Promise<Target>;
  /** A broker of its own, behind a relay, that may be killed and cut off. */
  startOwn(): Promise<OwnTarget>;
  close(): Promise<void>;
}

export interface Target {
  /** `broker` of an endpoint that sends there. */
  broker: object;
  /** Settings with which nothing can be sent, the outcome of the attempt, and its reason. */
  refused: readonly (readonly [broker: object, outcome: string, error: string])[];
  /** A body of this size is too large for it, and smaller ones are not. Absent: the server of the tests takes all. */
  tooLargeBytes?: number;
  /** All messages so far, in their order. */
  received(): Promise<ReceivedMessage[]>;
}

export interface ReceivedMessage {
  body: Buffer;
  /** The bytes that the signature is for, if they are not the body. */
  signed?: Buffer;
  headers: Record<string, string>;
  key: string | null;
}

export interface OwnTarget {
  target: Target;
  /** Connections of the service: all so far, and those that are open. */
  connections(): { accepted: number; open: number };
  kill(): Promise<void>;
  resume(): Promise<void>;
  mute(): void;
  unmute(): void;
  stop(): Promise<void>;
}
