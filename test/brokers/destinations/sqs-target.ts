import { DeleteMessageBatchCommand, ReceiveMessageCommand, SQSClient } from '@aws-sdk/client-sqs';
import { brokerFacts } from '../../support/brokers/broker.ts';
import { ElasticMqServer } from '../../support/brokers/elasticmq-server.ts';
import { SqsGate } from '../../support/brokers/sqs-gate.ts';
import { happened } from '../../support/eventually.ts';
import { Relay } from '../../support/servers/relay.ts';
import { queueName, SQS_KEY, SqsSide, sqsSettings } from '../sqs-driver.ts';
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

export async function sqsTargets(): Promise<DestinationDriver | string> {
  const facts = await brokerFacts<{ port: number }>('sqs');
  if (typeof facts === 'string') return facts;
  const gate = await SqsGate.start(facts.port, {
    [SQS_KEY.id]: { secret: SQS_KEY.secret },
    AKIDREADER: { secret: 'reader', denied: ['SendMessageBatch'] },
  });
  const targets = new SqsTargets(facts.port);
  return {
    open: () => targets.open(gate.port),
    startOwn,
    close: async () => {
      gate.close();
      await targets.close();
    },
  };
}

const brokerOf = (port: number, sqs: object): { type: string; sqs: object } => {
  const { workers: _, ...broker } = sqsSettings(port, sqs);
  return broker;
};

export class SqsTargets {
  readonly side: SqsSide;
  readonly #client: SQSClient;
  readonly #end = new AbortController();

  constructor(port: number) {
    this.side = new SqsSide(port);
    this.#client = new SQSClient({
      region: 'eu-west-1',
      endpoint: `http://127.0.0.1:${port}`,
      credentials: { accessKeyId: 'tests', secretAccessKey: 'tests' },
    });
  }

  /** `port`: where the service finds it. */
  async open(port: number, name = queueName()): Promise<Target> {
    const url = await this.side.create(name);
    const broker = (sqs: object) => brokerOf(port, { queue_name: name, ...sqs });
    const wrongKey = 'The broker refused the access key: check access_key_id and secret_key.';
    return {
      broker: broker({}),
      refused: [
        ...unreachable(
          broker({ endpoint: 'http://127.0.0.1:1' }),
          broker({ endpoint: `http://${NO_SUCH_NAME}` }),
        ),
        [broker({ endpoint: `https://127.0.0.1:${port}` }), 'tls_failed', NO_TLS],
        [broker({ secret_key: 'wrong' }), 'sign_in_refused', wrongKey],
        [
          broker({ access_key_id: 'AKIDREADER', secret_key: 'reader' }),
          'not_permitted',
          'The access key has no right to do this. The broker answered: AccessDeniedException: AKIDREADER is not authorized to perform: sqs:SendMessageBatch',
        ],
        [
          broker({ queue_name: 'none' }),
          'target_not_found',
          'The queue does not exist: check queue_name and default_region.',
        ],
      ],
      overTls: (host, at) => broker({ endpoint: `https://${host}:${at}` }),
      tooLargeBytes: 1_100_000,
      received: this.reader(url),
    };
  }

  reader(url: string): () => Promise<ReceivedMessage[]> {
    const all: ReceivedMessage[] = [];
    void this.#read(url, all);
    return async () => all;
  }

  async #read(url: string, all: ReceivedMessage[]): Promise<void> {
    const abortSignal = this.#end.signal;
    const request = { QueueUrl: url, MaxNumberOfMessages: 10, WaitTimeSeconds: 2 };
    while (!abortSignal.aborted) {
      try {
        const command = new ReceiveMessageCommand({
          ...request,
          MessageAttributeNames: ['All'],
          MessageSystemAttributeNames: ['All'],
        });
        const { Messages = [] } = await this.#client.send(command, { abortSignal });
        if (Messages.length === 0) continue;
        for (const { Body = '', MessageAttributes = {}, Attributes, MessageId = '' } of Messages) {
          const named = Object.entries(MessageAttributes).map(([name, value]) => [name, value.StringValue]);
          all.push({
            body: Buffer.from(Body),
            headers: Object.fromEntries(named) as Record<string, string>,
            key: Attributes?.MessageGroupId ?? null,
            stored: MessageId,
          });
        }
        const Entries = Messages.map(({ ReceiptHandle }, n) => ({ Id: String(n), ReceiptHandle }));
        await this.#client.send(new DeleteMessageBatchCommand({ QueueUrl: url, Entries }), { abortSignal });
        happened();
      } catch {
        await new Promise((resolve) => setTimeout(resolve, 250));
      }
    }
  }

  async close(): Promise<void> {
    this.#end.abort();
    this.#client.destroy();
    this.side.close();
  }
}

/** A FIFO queue, which keeps the order of a group. It is not killed but cut off: it writes to its disk later than it answers. */
async function startOwn(): Promise<OwnTarget> {
  const server = await ElasticMqServer.start();
  const relay = await Relay.start(server.port);
  const targets = new SqsTargets(server.port);
  return behind(relay, {
    target: await targets.open(relay.port, `${queueName()}.fifo`),
    kill: async () => relay.cut(),
    resume: async () => relay.mend(),
    stop: async () => {
      await targets.close();
      await server.stop();
    },
  });
}
