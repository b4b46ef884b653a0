import type { AddressInfo } from 'node:net';
import Fastify from 'fastify';
import { Logger, makeWorkerUtils, run } from 'graphile-worker';
import { Pool as HttpPool } from 'undici';
import { answer } from './child.ts';

/**
 * The do-it-yourself alternative to Posthorn, in a process of its own: a route that adds a job and a task
 * that posts it, on graphile-worker. It has no signature, no record of attempts, no config and no fairness.
 * It is tuned as its documentation says: the local queue fetches many jobs at a time and completed jobs are
 * recorded in batches, both off by default. It runs 64 jobs at a time, the same limit that Posthorn has per
 * endpoint, and has enough connections that a request does not wait for one.
 */
const CONCURRENT_JOBS = 64;
const DATABASE_CONNECTIONS = 24;
const LOCAL_QUEUE_SIZE = 500;
const BATCH_DELAY_MS = 5;
const POLL_INTERVAL_MS = 1_000;

interface Job {
  body: object;
}

async function start(options: { databaseUrl: string; url: string }): Promise<string> {
  const { origin, pathname } = new URL(options.url);
  const http = new HttpPool(origin, { connections: CONCURRENT_JOBS });
  const preset = {
    worker: {
      connectionString: options.databaseUrl,
      maxPoolSize: DATABASE_CONNECTIONS,
      pollInterval: POLL_INTERVAL_MS,
      concurrentJobs: CONCURRENT_JOBS,
      localQueue: { size: LOCAL_QUEUE_SIZE },
      completeJobBatchDelay: BATCH_DELAY_MS,
      failJobBatchDelay: BATCH_DELAY_MS,
      logger: new Logger(() => () => {}),
    },
  };
  const utils = await makeWorkerUtils({ preset });
  await utils.migrate();
  await run({
    preset,
    noHandleSignals: true,
    taskList: {
      deliver: async (payload) => {
        const { statusCode, body } = await http.request({
          method: 'POST',
          path: pathname,
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify((payload as Job).body),
        });
        await body.dump();
        if (statusCode >= 300) throw new Error(`the endpoint answered ${statusCode}`);
      },
    },
  });
  const server = Fastify();
  server.post('/', async (request, reply) => {
    await utils.addJob('deliver', { body: request.body as object } satisfies Job, { maxAttempts: 10 });
    return reply.code(201).send({ status: true });
  });
  await server.listen({ host: '127.0.0.1', port: 0 });
  return `http://127.0.0.1:${(server.server.address() as AddressInfo).port}/`;
}

answer({ start });
