import { Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import { GetQueueAttributesCommand, GetQueueUrlCommand, SQSClient } from '@aws-sdk/client-sqs';
import type { SqsSettings } from '../../domain/config/source.ts';
import { BrokerError } from '../module/broker-error.ts';
import type { NetworkContext } from '../module/broker-module.ts';
import { bareHost, endpointUrl } from '../module/endpoint-url.ts';
import { vettedAddresses, vettedLookup } from '../module/vetted-lookup.ts';
import { accessKeyOf, endpointOf, type Workload } from '../module/workload.ts';
import { limitAnswers } from './limit-answers.ts';

/**
 * The client of one source. It connects to the server of the region, or to `endpoint`, and to no other: not to the host
 * in the URL of the queue, which the server chooses.
 */
const CONNECT_MS = 10_000;
/** Longer than a long poll. */
const REQUEST_MS = 40_000;
/** More than ten messages of the largest size, with every character escaped. */
const MAX_ANSWER_BYTES = 64 * 1024 * 1024;

export async function connect(
  settings: Omit<SqsSettings, 'queue_name'>,
  context: NetworkContext,
  { maxAttempts = 3, maxAnswerBytes = MAX_ANSWER_BYTES } = {},
): Promise<SQSClient> {
  const { egress, secureContext, log, workload } = context;
  const { default_region: region } = settings;
  const endpoint = endpointUrl(endpointOf('sqs', settings, workload) || regional(region));
  const agent = { keepAlive: true, lookup: vettedLookup(egress) };
  const note = (...words: unknown[]) => log.debug({ words }, 'SQS client');
  const client = new SQSClient({
    region,
    credentials: () => credentialsOf(settings, workload),
    // Always given: the library would take another one from the environment, past the egress rule.
    endpoint: endpoint.href,
    useQueueUrlAsEndpoint: false,
    // TLS protects bodies. One wrong checksum would fail the whole answer.
    md5: false,
    maxAttempts,
    logger: {
      trace: () => undefined,
      debug: () => undefined,
      info: () => undefined,
      warn: note,
      error: note,
    },
    requestHandler: {
      connectionTimeout: CONNECT_MS,
      requestTimeout: REQUEST_MS,
      throwOnRequestTimeout: true,
      httpAgent: new HttpAgent(agent),
      httpsAgent: new HttpsAgent({ ...agent, secureContext: secureContext() }),
    },
  });
  limitAnswers(client, maxAnswerBytes);
  // No lookup is made for an address.
  await vettedAddresses(egress, bareHost(endpoint.hostname));
  return client;
}

/** The library asks again when they end. */
async function credentialsOf(settings: Omit<SqsSettings, 'queue_name'>, workload: Workload) {
  const { id, secret, token, expiresAtMs } = await accessKeyOf(settings, workload);
  return {
    accessKeyId: id,
    secretAccessKey: secret,
    ...(token !== null && { sessionToken: token }),
    ...(expiresAtMs !== null && { expiration: new Date(expiresAtMs) }),
  };
}

/** The library knows the names of all regions. */
const regional = (region: string): string =>
  new SQSClient({ region }).config.endpointProvider({ Region: region }).url.href;

export interface Queue {
  url: string;
  /** Names the queue for ever: one that is deleted and created again has another. */
  id: string;
  /** For so long it may deliver a message again. */
  keepMs: number;
  /** Messages that have not been deleted. */
  waiting: number;
}

const LONGEST_RETENTION_S = 14 * 86_400;
/** For a message that was received last at the very end. */
const MARGIN_S = 86_400;

export async function queueUrl(client: SQSClient, name: string, signal?: AbortSignal): Promise<string> {
  const options = signal && { abortSignal: signal };
  const { QueueUrl: url } = await client.send(new GetQueueUrlCommand({ QueueName: name }), options);
  if (url === undefined) throw new BrokerError('The broker did not say the URL of the queue.');
  return url;
}

export const findQueue = async (client: SQSClient, name: string, signal: AbortSignal): Promise<Queue> =>
  readQueue(client, await queueUrl(client, name, signal), signal);

export async function readQueue(client: SQSClient, url: string, signal: AbortSignal): Promise<Queue> {
  const { Attributes: about = {} } = await client.send(
    new GetQueueAttributesCommand({
      QueueUrl: url,
      AttributeNames: [
        'CreatedTimestamp',
        'MessageRetentionPeriod',
        'ApproximateNumberOfMessages',
        'ApproximateNumberOfMessagesNotVisible',
      ],
    }),
    { abortSignal: signal },
  );
  const hidden = Number(about.ApproximateNumberOfMessagesNotVisible ?? 0);
  return {
    url,
    id: `${url} ${about.CreatedTimestamp ?? ''}`,
    keepMs: (Number(about.MessageRetentionPeriod ?? LONGEST_RETENTION_S) + MARGIN_S) * 1000,
    waiting: Number(about.ApproximateNumberOfMessages ?? 0) + hidden,
  };
}
