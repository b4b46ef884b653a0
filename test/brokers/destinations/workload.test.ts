import { sign } from 'node:crypto';
import { afterAll, beforeAll, expect, type TestContext, test } from 'vitest';
import type { TestApp } from '../../support/app.ts';
import { brokerFacts } from '../../support/brokers/broker.ts';
import { GoogleGate } from '../../support/brokers/google-gate.ts';
import { MetadataServer } from '../../support/brokers/metadata-server.ts';
import type { PubSubPorts } from '../../support/brokers/pstest-server.ts';
import { SqsGate } from '../../support/brokers/sqs-gate.ts';
import { S3_KEY, S3_REGION, type S3Facts } from '../../support/brokers/versity-server.ts';
import { eventually } from '../../support/eventually.ts';
import { startScene } from '../broker-scene.ts';
import { CA_FILE } from '../broker-tests.ts';
import { serviceAccount } from '../google-driver.ts';
import { queueName } from '../sqs-driver.ts';
import { batchesOf, DestinationScene, numberOf } from './destination-scene.ts';
import { GoogleTargets } from './google-target.ts';
import { openBucket } from './s3-target.ts';
import { SqsTargets } from './sqs-target.ts';

/**
 * The machine has a role, whose key the brokers know. Its metadata service is at an address that the egress rule closes to
 * all others.
 */
const EMAIL = 'machine@tests.iam.gserviceaccount.com';
const account = serviceAccount(EMAIL);
const closing: { close(): unknown }[] = [];
const closes = <T extends { close(): unknown }>(part: T): T => {
  closing.push(part);
  return part;
};

let missing: string | undefined;
let app: TestApp;
let metadata: MetadataServer;
let s3: S3Facts;
let sqs: SqsTargets;
let google: GoogleTargets;
beforeAll(async () => {
  const [files, queue, topics] = [
    await brokerFacts<S3Facts>('s3'),
    await brokerFacts<{ port: number }>('sqs'),
    await brokerFacts<PubSubPorts>('google'),
  ];
  missing = [files, queue, topics].find((facts) => typeof facts === 'string');
  if (typeof files === 'string' || typeof queue === 'string' || typeof topics === 'string') return;
  metadata = closes(await MetadataServer.start('127.0.0.2'));
  metadata.key = S3_KEY;
  metadata.googleToken = tokenOf();
  s3 = files;
  sqs = closes(new SqsTargets(queue.port));
  google = closes(new GoogleTargets(topics));
  const sqsGate = closes(await SqsGate.start(queue.port, { [S3_KEY.id]: { secret: S3_KEY.secret } }));
  const googleGate = closes(await GoogleGate.start(topics.grpc, { [EMAIL]: { key: account.key } }));
  app = await startScene({
    POSTHORN_CA_FILE: CA_FILE,
    POSTHORN_EGRESS: 'public',
    POSTHORN_EGRESS_ALLOW: '127.0.0.1,::1',
    POSTHORN_WORKLOAD_CREDENTIALS: 'aws,google',
    AWS_EC2_METADATA_SERVICE_ENDPOINT: metadata.url,
    AWS_ENDPOINT_URL_S3: `http://127.0.0.1:${s3.port}`,
    AWS_ENDPOINT_URL_SQS: `http://127.0.0.1:${sqsGate.port}`,
    GCE_METADATA_HOST: metadata.host,
    CLOUDSDK_API_ENDPOINT_OVERRIDES_PUBSUB: `https://localhost:${googleGate.port}`,
  });
}, 1_000_000);
afterAll(async () => {
  await app?.stop();
  for (const part of closing) await part.close();
});

/** The gate takes what the account signed, as Google takes what it gave out. */
function tokenOf(): string {
  const now = Math.floor(Date.now() / 1000);
  const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const claims = {
    iss: EMAIL,
    sub: EMAIL,
    aud: 'https://pubsub.googleapis.com/',
    iat: now,
    exp: now + 3_600,
  };
  const text = `${encode({ alg: 'RS256', typ: 'JWT' })}.${encode(claims)}`;
  const { private_key } = account.file as { private_key: string };
  return `${text}.${sign('RSA-SHA256', Buffer.from(text), private_key).toString('base64url')}`;
}

const check = (name: string, run: () => Promise<void>) =>
  test(name, async ({ skip }: TestContext) => (missing === undefined ? run() : skip(missing)));

const MACHINE = { credentials: 'workload' };

check(
  'endpoints send to S3, SQS and Pub/Sub with the credentials of the machine, which are asked for once',
  async () => {
    const scene = await DestinationScene.on(app);
    const bucket = await openBucket(s3);
    const queue = queueName();
    const queueUrl = await sqs.side.create(queue);
    const topic = await google.open('http://127.0.0.1:0');
    const { google: known } = topic.broker as { google: { project_id: string; topic_id: string } };
    const { s3: place } = bucket.broker as { s3: { bucket: string } };
    const { project_id, topic_id } = known;
    const endpoints = [
      await scene.endpoint(
        { type: 's3', s3: { bucket: place.bucket, default_region: S3_REGION, ...MACHINE } },
        {},
        batchesOf(bucket),
      ),
      await scene.endpoint({
        type: 'sqs',
        sqs: { queue_name: queue, default_region: S3_REGION, ...MACHINE },
      }),
      await scene.endpoint({ type: 'google', google: { project_id, topic_id, ...MACHINE } }),
    ];
    for (const endpoint of endpoints) for (const n of [1, 2, 3]) await scene.send(endpoint, { n });
    await scene.succeeded(9);
    for (const received of [bucket.received, sqs.reader(queueUrl), topic.received]) {
      const numbers = await eventually(
        async () => (await received()).map(numberOf),
        (all) => new Set(all).size === 3,
      );
      expect(new Set(numbers)).toEqual(new Set([1, 2, 3]));
    }
    // Three calls for the key, and one for the token.
    expect(metadata.asked).toHaveLength(4);
  },
);

check('a source takes messages with them', async () => {
  const scene = await DestinationScene.on(app);
  const queue = queueName();
  const url = await sqs.side.create(queue);
  const body = JSON.stringify({ event_type: 'made.up', data: { n: 7 } });
  await sqs.side.publish(url, [{ body, headers: { 'x-convoy-message-type': 'broadcast' } }]);
  const settings = { type: 'sqs', sqs: { queue_name: queue, default_region: S3_REGION, ...MACHINE } };
  const source = await scene.project.post('/sources', { name: 's', type: 'pub_sub', pub_sub: settings });
  const tested = await scene.project.post(`/sources/${source.uid}/test_connection`, undefined, 200);
  expect(tested).toEqual({ ok: true, reason: '' });
  await eventually(async () => (await scene.project.get(`/events?sourceId=${source.uid}`)).content.length, 1);
  expect(JSON.stringify(await scene.project.get(`/sources/${source.uid}`))).not.toContain(S3_KEY.secret);
});

check('without them nothing is sent, in plain words, and deliveries reach no address of theirs', async () => {
  const denied = await app.addNode({
    POSTHORN_ROLES: 'api',
    POSTHORN_WORKLOAD_CREDENTIALS: 'aws',
    AWS_EC2_METADATA_SERVICE_ENDPOINT: 'http://127.0.0.1:1',
  });
  try {
    const broker = { type: 's3', s3: { bucket: 'none', default_region: S3_REGION, ...MACHINE } };
    const response = await fetch(`${denied.url}/api/v1/projects/${app.projectId}/endpoints/test`, {
      method: 'POST',
      headers: { authorization: app.project.key, 'content-type': 'application/json' },
      body: JSON.stringify({ endpoint: { delivery: 'broker', broker } }),
    });
    const { data } = (await response.json()) as { data: { status: boolean; error: string } };
    expect(data).toMatchObject({
      status: false,
      error: 'The credentials of this machine cannot be had: their server cannot be reached (ECONNREFUSED).',
    });
  } finally {
    await denied.stop();
  }
  const scene = await DestinationScene.on(app);
  const own = await scene.project.post('/endpoints', { name: 'u', url: metadata.url }, 400);
  expect(JSON.stringify(own)).toContain('127.0.0.2');
});
