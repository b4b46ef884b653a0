import { PubSub } from '@google-cloud/pubsub';
import { brokerFacts } from '../../support/brokers/broker.ts';
import { GoogleGate } from '../../support/brokers/google-gate.ts';
import { type PubSubPorts, PubSubServer } from '../../support/brokers/pstest-server.ts';
import { happened } from '../../support/eventually.ts';
import { Relay } from '../../support/servers/relay.ts';
import { alice, GoogleSide, googleSettings, mallory, queueName, serviceAccount } from '../google-driver.ts';
import {
  behind,
  type DestinationDriver,
  NO_SUCH_NAME,
  NO_TLS,
  type OwnTarget,
  type ReceivedMessage,
  type Target,
  unreachable,
} from './destination-driver.ts';

export async function googleTargets(): Promise<DestinationDriver | string> {
  const ports = await brokerFacts<PubSubPorts>('google');
  if (typeof ports === 'string') return ports;
  const targets = new GoogleTargets(ports);
  const gate = await GoogleGate.start(ports.grpc, {
    [ALICE]: { key: alice.key },
    [READER]: { key: reader.key, denied: ['Publish'] },
  });
  return {
    open: async () => targets.open(`https://localhost:${gate.port}`, SIGN_IN_REFUSALS),
    startOwn,
    close: async () => {
      gate.close();
      await targets.close();
    },
  };
}

const ALICE = 'alice@tests.iam.gserviceaccount.com';
const READER = 'reader@tests.iam.gserviceaccount.com';
const reader = serviceAccount(READER);

/** Key files that the gate refuses, and why. */
const SIGN_IN_REFUSALS: Refusals = [
  [
    mallory.base64,
    'sign_in_refused',
    'The broker refused the service account: its key may have been deleted.',
  ],
  [
    reader.base64,
    'not_permitted',
    'The service account has no right to do this. The broker answered: User not authorized to perform this action: Publish.',
  ],
];

type Refusals = readonly (readonly [serviceAccount: string, outcome: string, error: string])[];

export class GoogleTargets {
  readonly side: GoogleSide;
  readonly #port: number;
  readonly #client: PubSub;
  readonly #subscriptions: { close(): Promise<void> }[] = [];

  constructor(ports: PubSubPorts) {
    this.#port = ports.grpc;
    this.side = new GoogleSide(ports);
    const apiEndpoint = `127.0.0.1:${ports.grpc}`;
    const clientOptions = { universeDomain: 'googleapis.com' };
    this.#client = new PubSub({ projectId: 'tests', apiEndpoint, emulatorMode: true, clientOptions });
  }

  /** `here`: where the service finds it. */
  async open(here: string, refusals: Refusals = []): Promise<Target> {
    const name = queueName();
    const [topic] = await this.#client.createTopic(name);
    await topic.createSubscription(name, { ackDeadlineSeconds: 10, enableMessageOrdering: true });
    const broker = (endpoint: string, google: object = {}) => {
      const { workers: _, ...rest } = googleSettings(endpoint, { topic_id: name, ...google });
      return rest;
    };
    return {
      broker: broker(here),
      refused: [
        ...unreachable(broker('http://127.0.0.1:1'), broker(`http://${NO_SUCH_NAME}:1`)),
        [broker(`https://127.0.0.1:${this.#port}`), 'tls_failed', NO_TLS],
        [
          broker(here, { topic_id: 'none' }),
          'target_not_found',
          'The topic does not exist: check project_id and topic_id.',
        ],
        ...refusals.map(
          ([service_account, outcome, error]) => [broker(here, { service_account }), outcome, error] as const,
        ),
      ],
      overTls: (host, port) => broker(`https://${host}:${port}`),
      received: this.reader(name),
    };
  }

  reader(name: string): () => Promise<ReceivedMessage[]> {
    const all: ReceivedMessage[] = [];
    const subscription = this.#client.subscription(name);
    this.#subscriptions.push(subscription);
    subscription.on('error', () => undefined);
    subscription.on('message', (message) => {
      all.push({
        body: message.data,
        stored: message.id,
        headers: message.attributes,
        key: message.orderingKey === undefined || message.orderingKey === '' ? null : message.orderingKey,
      });
      message.ack();
      happened();
    });
    return async () => all;
  }

  async close(): Promise<void> {
    await Promise.all(this.#subscriptions.map((one) => one.close().catch(() => undefined)));
    await this.#client.close().catch(() => undefined);
    await this.side.close();
  }
}

/** Its messages are in memory: it is not killed, but cut off. */
async function startOwn(): Promise<OwnTarget> {
  const server = await PubSubServer.start();
  const relay = await Relay.start(server.ports.grpc);
  const targets = new GoogleTargets(server.ports);
  return behind(relay, {
    target: await targets.open(`http://127.0.0.1:${relay.port}`),
    kill: async () => relay.cut(),
    resume: async () => relay.mend(),
    stop: async () => {
      await targets.close();
      await server.stop();
    },
  });
}
