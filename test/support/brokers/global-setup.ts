import { existsSync } from 'node:fs';
import { mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { ElasticMqServer } from './elasticmq-server.ts';
import { KafkaServer } from './kafka-server.ts';
import { PostgresServer } from './postgres-server.ts';
import { PubSubServer } from './pstest-server.ts';
import { RabbitMqServer } from './rabbitmq-server.ts';
import { VersityServer } from './versity-server.ts';

/**
 * One real broker of each kind for the whole run. They are fetched and started while other tests run: each writes what
 * its tests have to know into a file of its own when it is ready, or why it is not there. `test/support/brokers/broker.ts`
 * waits for that file.
 */
declare module 'vitest' {
  interface ProvidedContext {
    /** Where brokers write what is to be known of them. */
    brokersDir: string;
  }
}

const TESTS = join(import.meta.dirname, '../../brokers');

interface Started {
  /** For the tests. */
  facts: object;
  stop(): Promise<void>;
}

/** By kind of broker: one is started if it has tests, in a file of that name. */
const starters: Record<string, () => Promise<Started>> = {
  kafka: async () => {
    const server = await KafkaServer.start();
    return { facts: server.ports, stop: () => server.stop() };
  },
  sqs: async () => {
    const server = await ElasticMqServer.start();
    return { facts: { port: server.port }, stop: () => server.stop() };
  },
  amqp: async () => {
    const server = await RabbitMqServer.start();
    return { facts: server.facts, stop: () => server.stop() };
  },
  postgres: async () => {
    const server = await PostgresServer.start();
    return { facts: { port: server.port }, stop: () => server.stop() };
  },
  s3: async () => {
    const server = await VersityServer.start();
    return { facts: server.facts, stop: () => server.stop() };
  },
  google: async () => {
    const server = await PubSubServer.start();
    return { facts: server.ports, stop: () => server.stop() };
  },
};

export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const directory = await mkdtemp(join(tmpdir(), 'posthorn-brokers-'));
  project.provide('brokersDir', directory);
  const hasTests = ([kind]: [string, unknown]) =>
    [`${kind}.test.ts`, `destinations/${kind}-destination.test.ts`].some((file) =>
      existsSync(join(TESTS, file)),
    );
  const starting = Object.entries(starters)
    .filter(hasTests)
    .map(async ([kind, start]) => {
      try {
        const started = await start();
        await write(directory, kind, { facts: started.facts });
        return started;
      } catch (error) {
        await write(directory, kind, { problem: (error as Error).message });
        return null;
      }
    });
  return async () => {
    const started = await Promise.all(starting);
    await Promise.all(started.flatMap((one) => (one === null ? [] : [one.stop()])));
    await rm(directory, { recursive: true, force: true });
  };
}

/** Under its name only when it is complete. */
async function write(directory: string, kind: string, facts: object): Promise<void> {
  const file = join(directory, `${kind}.json`);
  await writeFile(`${file}.partial`, JSON.stringify(facts));
  await rename(`${file}.partial`, file);
}
