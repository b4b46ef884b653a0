import { randomBytes } from 'node:crypto';
import {
  CreateQueueCommand,
  DeleteQueueCommand,
  GetQueueAttributesCommand,
  type MessageAttributeValue,
  SendMessageBatchCommand,
  type SendMessageBatchRequestEntry,
  SQSClient,
} from '@aws-sdk/client-sqs';
import { brokerFacts } from '../support/brokers/broker.ts';
import { ElasticMqServer } from '../support/brokers/elasticmq-server.ts';
import { SqsGate } from '../support/brokers/sqs-gate.ts';
import { eventually, not } from '../support/eventually.ts';
import { Relay } from '../support/servers/relay.ts';
import type { BrokerDriver, OwnBroker, TestMessage, TestQueue } from './broker-driver.ts';

export const SQS_KEY = { id: 'AKIDALICE', secret: 'alice+secret/key' };
const REGION = 'eu-west-1';
const MAX_SENT_BYTES = 250_000;
const SENT_AT_ONCE = 8;

export async function sqsDriver(): Promise<BrokerDriver | string> {
  const facts = await brokerFacts<{ port: number }>('sqs');
  if (typeof facts === 'string') return facts;
  const side = new SqsSide(facts.port);
  const gate = await SqsGate.start(facts.port, { [SQS_KEY.id]: { secret: SQS_KEY.secret } });
  return {
    open: async () => side.open({ direct: facts.port, gate: gate.port }),
    startOwn,
    close: async () => {
      gate.close();
      side.close();
    },
  };
}

/** `pub_sub` of a source. */
export const sqsSettings = (port: number, sqs: object) => ({
  type: 'sqs',
  workers: 1,
  sqs: {
    access_key_id: SQS_KEY.id,
    secret_key: SQS_KEY.secret,
    default_region: REGION,
    endpoint: `http://127.0.0.1:${port}`,
    ...sqs,
  },
});

export type SqsMessage = TestMessage & { attributes?: Record<string, MessageAttributeValue> };

/** The side of those who publish. */
export class SqsSide {
  readonly #client: SQSClient;

  constructor(port: number) {
    this.#client = new SQSClient({
      region: REGION,
      endpoint: `http://127.0.0.1:${port}`,
      credentials: { accessKeyId: 'tests', secretAccessKey: 'tests' },
      maxAttempts: 20,
    });
  }

  async open(ports: { direct: number; gate: number }): Promise<TestQueue> {
    const name = queueName();
    const url = await this.create(name);
    const through = (port: number, sqs: object = {}) => sqsSettings(port, { queue_name: name, ...sqs });
    return {
      settings: through(ports.direct),
      authenticated: through(ports.gate),
      refused: through(ports.gate, { secret_key: 'wrong' }),
      refusedReason: 'The broker refused the access key: check access_key_id and secret_key.',
      publish: (messages) => this.publish(url, messages),
      depth: () => this.depth(url),
      held: async () => (await this.counts(url)).held,
    };
  }

  /** Its URL. A name that ends in `.fifo` makes a FIFO queue. */
  async create(name: string, attributes: Record<string, string> = {}): Promise<string> {
    const Attributes = { ...attributes, ...(name.endsWith('.fifo') && { FifoQueue: 'true' }) };
    const { QueueUrl: url } = await this.#client.send(
      new CreateQueueCommand({ QueueName: name, Attributes }),
    );
    return url as string;
  }

  async delete(url: string): Promise<void> {
    await this.#client.send(new DeleteQueueCommand({ QueueUrl: url }));
  }

  /** In a FIFO queue `part` is the group, and everything is sent in order. */
  async publish(url: string, messages: readonly SqsMessage[]): Promise<void> {
    const isFifo = url.endsWith('.fifo');
    const batches = batched(messages.map((message) => entry(message, isFifo)));
    const send = async () => {
      for (let batch = batches.shift(); batch !== undefined; batch = batches.shift()) {
        const { Failed: failed = [] } = await this.#client.send(
          new SendMessageBatchCommand({ QueueUrl: url, Entries: batch }),
        );
        if (failed.length > 0) throw new Error(`not sent: ${JSON.stringify(failed)}`);
      }
    };
    await Promise.all(Array.from({ length: isFifo ? 1 : SENT_AT_ONCE }, send));
  }

  async depth(url: string): Promise<number> {
    const { visible, held } = await this.counts(url);
    return visible + held;
  }

  async counts(url: string): Promise<{ visible: number; held: number }> {
    const AttributeNames = [
      'ApproximateNumberOfMessages' as const,
      'ApproximateNumberOfMessagesNotVisible' as const,
    ];
    const { Attributes: about } = await this.#client.send(
      new GetQueueAttributesCommand({ QueueUrl: url, AttributeNames }),
    );
    return {
      visible: Number(about?.ApproximateNumberOfMessages),
      held: Number(about?.ApproximateNumberOfMessagesNotVisible),
    };
  }

  close(): void {
    this.#client.destroy();
  }
}

export const queueName = (): string => `q-${randomBytes(6).toString('hex')}`;

function entry(
  { body, headers = {}, attributes, part = 0 }: SqsMessage,
  isFifo: boolean,
): SendMessageBatchRequestEntry {
  const texts = Object.entries(headers).map(([name, StringValue]) => [
    name,
    { DataType: 'String', StringValue },
  ]);
  return {
    Id: '',
    MessageBody: String(body),
    MessageAttributes: { ...Object.fromEntries(texts), ...attributes },
    ...(isFifo && {
      MessageGroupId: `g${part}`,
      MessageDeduplicationId: randomBytes(12).toString('hex'),
    }),
  };
}

function batched(entries: SendMessageBatchRequestEntry[]): SendMessageBatchRequestEntry[][] {
  const all: SendMessageBatchRequestEntry[][] = [];
  let bytes = 0;
  for (const one of entries) {
    const size = (one.MessageBody?.length ?? 0) + 1_000;
    const last = all.at(-1);
    if (last === undefined || last.length === 10 || bytes + size > MAX_SENT_BYTES) {
      all.push([{ ...one, Id: '0' }]);
      bytes = size;
    } else {
      last.push({ ...one, Id: String(last.length) });
      bytes += size;
    }
  }
  return all;
}

/** It keeps messages in a file, so that a kill loses none. */
async function startOwn(): Promise<OwnBroker> {
  const server = await ElasticMqServer.start('file');
  const relay = await Relay.start(server.port);
  const side = new SqsSide(server.port);
  const queue = await side.open({ direct: relay.port, gate: relay.port });
  return {
    queue,
    kill: () => server.kill(),
    resume: async () => {
      await server.resume();
      // The port is open before the server has read its queues from the file.
      await eventually(() => queue.depth().catch(() => undefined), not(undefined));
    },
    muteService: () => relay.mute(),
    unmuteService: () => relay.unmute(),
    stop: async () => {
      side.close();
      relay.close();
      await server.stop();
    },
  };
}
