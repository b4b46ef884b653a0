import { generateKeyPairSync, type KeyObject, randomBytes } from 'node:crypto';
import { PubSub, v1 } from '@google-cloud/pubsub';
import { credentials } from '@grpc/grpc-js';
import { brokerFacts } from '../support/brokers/broker.ts';
import { GoogleGate } from '../support/brokers/google-gate.ts';
import { type PubSubPorts, PubSubServer } from '../support/brokers/pstest-server.ts';
import { Relay } from '../support/servers/relay.ts';
import type { BrokerDriver, OwnBroker, TestMessage, TestQueue } from './broker-driver.ts';

const PROJECT = 'tests';
const PUBLISHED_AT_ONCE = 500;

/** The key file of a service account, as Google makes it, and the public key that Google keeps. */
export function serviceAccount(email: string): { file: object; base64: string; key: KeyObject } {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const file = {
    type: 'service_account',
    project_id: PROJECT,
    private_key_id: randomBytes(20).toString('hex'),
    private_key: privateKey.export({ type: 'pkcs8', format: 'pem' }),
    client_email: email,
    token_uri: 'https://oauth2.googleapis.com/token',
    universe_domain: 'googleapis.com',
  };
  return { file, base64: Buffer.from(JSON.stringify(file)).toString('base64'), key: publicKey };
}

export const alice = serviceAccount('alice@tests.iam.gserviceaccount.com');
/** The same name with another key. */
export const mallory = serviceAccount('alice@tests.iam.gserviceaccount.com');

/** `pub_sub` of a source. */
export const googleSettings = (endpoint: string, google: object) => ({
  type: 'google',
  workers: 1,
  google: { project_id: PROJECT, service_account: alice.base64, endpoint, ...google },
});

export async function googleDriver(): Promise<BrokerDriver | string> {
  const ports = await brokerFacts<PubSubPorts>('google');
  if (typeof ports === 'string') return ports;
  const side = new GoogleSide(ports);
  const gate = await GoogleGate.start(ports.grpc, {
    'alice@tests.iam.gserviceaccount.com': { key: alice.key },
  });
  return {
    open: async () => side.open({ direct: ports.grpc, gate: gate.port }),
    startOwn,
    close: async () => {
      gate.close();
      await side.close();
    },
  };
}

/** Keeps the library from asking for credentials of this machine. */
const clientOptions = { universeDomain: 'googleapis.com' };

/** The fate of a message: how often it was delivered, acknowledged and given back. */
export interface MessageFate {
  deliveries: number;
  acks: number;
  givenBack: number;
}

/** The side of those who publish. */
export class GoogleSide {
  readonly #ports: PubSubPorts;
  readonly #client: PubSub;

  constructor(ports: PubSubPorts) {
    this.#ports = ports;
    const apiEndpoint = `127.0.0.1:${ports.grpc}`;
    this.#client = new PubSub({ projectId: PROJECT, apiEndpoint, emulatorMode: true, clientOptions });
  }

  async open(ports: { direct: number; gate: number }): Promise<TestQueue> {
    const name = queueName();
    await this.create(name);
    const through = (endpoint: string, google: object = {}) =>
      googleSettings(endpoint, { subscription_id: name, ...google });
    const gate = `https://localhost:${ports.gate}`;
    return {
      settings: through(`http://127.0.0.1:${ports.direct}`),
      authenticated: through(gate),
      refused: through(gate, { service_account: mallory.base64 }),
      refusedReason: 'The broker refused the service account: its key may have been deleted.',
      publish: (messages) => this.publish(name, messages),
      depth: () => this.depth(name),
    };
  }

  /** A topic and a subscription of this name. */
  async create(name: string): Promise<void> {
    const [topic] = await this.#client.createTopic(name);
    await topic.createSubscription(name, { ackDeadlineSeconds: 10 });
  }

  async delete(name: string): Promise<void> {
    await this.#client.subscription(name).delete();
    await this.#client.topic(name).delete();
  }

  async publish(name: string, messages: readonly TestMessage[]): Promise<void> {
    const topic = this.#client.topic(name, { batching: { maxMessages: 100, maxMilliseconds: 5 } });
    for (let from = 0; from < messages.length; from += PUBLISHED_AT_ONCE) {
      const some = messages.slice(from, from + PUBLISHED_AT_ONCE);
      await Promise.all(
        some.map(({ body, headers = {} }) =>
          topic.publishMessage({ data: Buffer.from(body), attributes: headers }),
        ),
      );
    }
  }

  async depth(name: string): Promise<number> {
    return (await this.messages(name)).filter(({ acks }) => acks === 0).length;
  }

  async messages(name: string): Promise<MessageFate[]> {
    const topic = encodeURIComponent(`projects/${PROJECT}/topics/${name}`);
    const answer = await fetch(`http://127.0.0.1:${this.#ports.http}/messages?topic=${topic}`);
    return (await answer.json()) as MessageFate[];
  }

  /** How many messages another consumer would get now. */
  async visible(name: string): Promise<number> {
    const client = new v1.SubscriberClient({
      servicePath: '127.0.0.1',
      port: this.#ports.grpc,
      sslCreds: credentials.createInsecure(),
      clientOptions,
    } as ConstructorParameters<typeof v1.SubscriberClient>[0]);
    const subscription = `projects/${PROJECT}/subscriptions/${name}`;
    const [answer] = await client.pull({ subscription, maxMessages: 100, returnImmediately: true });
    await client.close();
    return answer.receivedMessages?.length ?? 0;
  }

  async close(): Promise<void> {
    await this.#client.close();
  }
}

export const queueName = (): string => `q-${randomBytes(6).toString('hex')}`;

/** It keeps everything in memory: after a kill its topics are made again. */
async function startOwn(): Promise<OwnBroker> {
  const server = await PubSubServer.start();
  const relay = await Relay.start(server.ports.grpc);
  const side = new GoogleSide(server.ports);
  const name = queueName();
  await side.create(name);
  const settings = googleSettings(`http://127.0.0.1:${relay.port}`, { subscription_id: name });
  return {
    queue: {
      settings,
      authenticated: settings,
      refused: settings,
      refusedReason: '',
      publish: (messages) => side.publish(name, messages),
      depth: () => side.depth(name),
    },
    kill: () => server.kill(),
    resume: async () => {
      await server.resume();
      await side.create(name);
    },
    muteService: () => relay.mute(),
    unmuteService: () => relay.unmute(),
    stop: async () => {
      await side.close();
      relay.close();
      await server.stop();
    },
  };
}
