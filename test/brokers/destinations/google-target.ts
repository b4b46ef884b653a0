import { PubSub } from '@google-cloud/pubsub';
import { brokerFacts } from '../../support/brokers/broker.ts';
import { type PubSubPorts, PubSubServer } from '../../support/brokers/pstest-server.ts';
import { happened } from '../../support/eventually.ts';
import { startTcpRelay } from '../../support/servers/tcp-relay.ts';
import { GoogleSide, googleSettings, queueName } from '../google-driver.ts';
import type { DestinationDriver, OwnTarget, ReceivedMessage, Target } from './destination-driver.ts';

export async function googleTargets(): Promise<DestinationDriver | string> {
  const ports = await brokerFacts<PubSubPorts>('google');
  if (typeof ports === 'string') return ports;
  const targets = new GoogleTargets(ports);
  return { open: () => targets.open(ports.grpc), startOwn, close: () => targets.close() };
}

export class GoogleTargets {
  readonly side: GoogleSide;
  readonly #client: PubSub;
  readonly #subscriptions: { close(): Promise<void> }[] = [];

  constructor(ports: PubSubPorts) {
    this.side = new GoogleSide(ports);
    const apiEndpoint = `127.0.0.1:${ports.grpc}`;
    const clientOptions = { universeDomain: 'googleapis.com' };
    this.#client = new PubSub({ projectId: 'tests', apiEndpoint, emulatorMode: true, clientOptions });
  }

  /** `port`: where the service finds it. */
  async open(port: number): Promise<Target> {
    const name = queueName();
    const [topic] = await this.#client.createTopic(name);
    await topic.createSubscription(name, { ackDeadlineSeconds: 10, enableMessageOrdering: true });
    const broker = (endpoint: string, google: object = {}) => {
      const { workers: _, ...rest } = googleSettings(endpoint, { topic_id: name, ...google });
      return rest;
    };
    const here = `http://127.0.0.1:${port}`;
    return {
      broker: broker(here),
      refused: [
        [
          broker('http://127.0.0.1:1'),
          'connection_refused',
          'The broker refused the connection: check the address and that it is running.',
        ],
        [
          broker('http://no-such-name.invalid:1'),
          'dns_not_found',
          'The name no-such-name.invalid does not exist.',
        ],
        [
          broker(here, { topic_id: 'none' }),
          'target_not_found',
          'The topic does not exist: check project_id and topic_id.',
        ],
      ],
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
  const relay = await startTcpRelay();
  const server = await PubSubServer.start();
  relay.to(server.ports.grpc);
  const targets = new GoogleTargets(server.ports);
  return {
    target: await targets.open(relay.port),
    connections: () => relay,
    kill: async () => relay.cut(),
    resume: async () => relay.to(server.ports.grpc),
    mute: () => relay.mute(),
    unmute: () => relay.unmute(),
    stop: async () => {
      await targets.close();
      relay.close();
      await server.stop();
    },
  };
}
