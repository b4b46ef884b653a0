/** The acts of the conformance suite on the side of the broker. */
export interface BrokerDriver {
  /** A topic or queue of its own. `parts`: partitions, where the kind has them. */
  open(parts?: number): Promise<TestQueue>;
  /** A broker of its own, behind a relay, that may be killed and cut off. */
  startOwn(): Promise<OwnBroker>;
  close(): Promise<void>;
}

export interface TestMessage {
  body: string | Buffer;
  headers?: Record<string, string>;
  /** The partition, where the kind has them. */
  part?: number;
}

export interface TestQueue {
  /** `pub_sub` of a source that reads it. */
  settings: object;
  /** Settings that name credentials: right ones, and wrong ones. */
  authenticated: object;
  refused: object;
  /** The reason in the status for the wrong ones. */
  refusedReason: string;
  publish(messages: readonly TestMessage[]): Promise<void>;
  /** Messages that have not been acknowledged. */
  depth(): Promise<number>;
  /** How many of them consumers have, where the broker knows. */
  held?(): Promise<number>;
}

export interface OwnBroker {
  queue: TestQueue;
  kill(): Promise<void>;
  resume(): Promise<void>;
  /** From now on nothing that the service sends gets to the broker. */
  muteService(): void;
  unmuteService(): void;
  stop(): Promise<void>;
}
