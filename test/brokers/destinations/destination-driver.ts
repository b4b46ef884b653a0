import type { Relay } from '../../support/servers/relay.ts';

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
  /** `batch` of subscriptions to it, where it gets batches. */
  batch?: object;
  /** Settings with which nothing can be sent, the outcome of the attempt, and its reason. */
  refused: readonly (readonly [broker: object, outcome: string, error: string])[];
  /** `broker` with TLS at another address. */
  overTls(host: string, port: number): object;
  /** A body of this size is too large for it, and smaller ones are not. Absent: the server of the tests takes all. */
  tooLargeBytes?: number;
  /** All messages so far, in their order. */
  received(): Promise<ReceivedMessage[]>;
}

export interface ReceivedMessage {
  body: Buffer;
  /** That of the delivery, if the message has others too. */
  id?: string;
  /** The bytes that the signature is for, if they are not the body. */
  signed?: Buffer;
  headers: Record<string, string>;
  key: string | null;
  /** The broker's own name of it. A message that is read twice is stored once. */
  stored?: string;
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

export type Refusal = Target['refused'][number];

/** Brokers at a port where nothing listens, and at `NO_SUCH_NAME`. */
export const unreachable = (closed: object, unknown: object): Refusal[] => [
  [
    closed,
    'connection_refused',
    'The broker refused the connection: check the address and that it is running.',
  ],
  [unknown, 'dns_not_found', `The name ${NO_SUCH_NAME} does not exist.`],
];

export const NO_TLS = 'The broker does not speak TLS on this port: check the port, or turn TLS off.';

export const NO_SUCH_NAME = 'no-such-name.invalid';

/** A broker of its own whose every connection goes through the relay. */
export const behind = (
  relay: Relay,
  own: Pick<OwnTarget, 'target' | 'kill' | 'resume' | 'stop'>,
): OwnTarget => ({
  ...own,
  connections: () => relay,
  mute: () => relay.mute(),
  unmute: () => relay.unmute(),
  stop: async () => {
    await own.stop();
    relay.close();
  },
});
