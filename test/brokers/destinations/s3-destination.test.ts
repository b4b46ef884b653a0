import { createHmac } from 'node:crypto';
import { describe, expect } from 'vitest';
import { setScene } from '../../crash/scene.ts';
import type { TestApp } from '../../support/app.ts';
import { httpSource } from '../../support/app.ts';
import { brokerFacts } from '../../support/brokers/broker.ts';
import { type S3Facts, VersityServer } from '../../support/brokers/versity-server.ts';
import type { Json } from '../../support/client.ts';
import { eventually } from '../../support/eventually.ts';
import { Relay } from '../../support/servers/relay.ts';
import { range } from '../broker-scene.ts';
import { brokerTests } from '../broker-tests.ts';
import { destinationConformance } from './conformance.ts';
import { batchesOf, DestinationScene, numberOf } from './destination-scene.ts';
import { openBucket, type StoredObject, s3Targets } from './s3-target.ts';

const linesOf = ({ content }: StoredObject): Json[] =>
  content
    .toString()
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line));

const FULL = { max: 25, max_wait_seconds: 300 };

destinationConformance('s3', s3Targets);

describe('objects', () => {
  let app: TestApp;
  let facts: S3Facts;
  const { check } = brokerTests(
    () => brokerFacts<S3Facts>('s3'),
    (given) => {
      app = given.app;
      facts = given.facts;
    },
  );

  check('a batch is one object of JSON lines, and each delivery has its own record of it', async () => {
    const scene = await DestinationScene.on(app);
    const bucket = await openBucket(facts);
    const endpoint = await scene.endpoint(bucket.broker, {}, { batch: FULL });
    await scene.sendMany(endpoint, 0, 25, (n) => ({ data: { n, text: 'a\nb' } }));
    await scene.succeeded(25);
    const objects = await bucket.objects();
    expect(objects).toHaveLength(1);
    const { key, headers, content } = objects[0] as StoredObject;
    const id = headers['x-amz-meta-webhook-id'];
    expect(key).toMatch(new RegExp(`^events/\\d{4}/\\d\\d/\\d\\d/\\d\\d-\\d\\d-\\d\\d-${id}\\.jsonl\\.gz$`));
    expect(headers['content-type']).toBe('application/gzip');
    const signed = Buffer.concat([Buffer.from(`${id}.${headers['x-amz-meta-webhook-timestamp']}.`), content]);
    const expected = createHmac('sha256', 'a secret of tests').update(signed).digest('base64');
    expect(headers['x-amz-meta-webhook-signature']).toBe(`v1,${expected}`);
    const { content: deliveries } = await scene.project.get('/eventdeliveries?perPage=100&sort=ASC');
    const lines = content.toString().split('\n').slice(0, -1);
    expect(lines.map((line) => JSON.parse(line) as unknown)).toEqual(
      deliveries.map(({ uid }: Json, n: number) => ({
        id: uid,
        type: 'made.up',
        timestamp: expect.stringMatching(/^20.*Z$/),
        data: { n, text: 'a\nb' },
      })),
    );
    for (const { uid, metadata } of deliveries as Json[]) {
      expect(metadata.num_trials).toBe(1);
      const attempts = await scene.project.get(`/eventdeliveries/${uid}/deliveryattempts`);
      const facts = { object: key, etag: headers['etag'] };
      expect(attempts).toMatchObject([{ status: true, method: 'PUBLISH', response_http_header: facts }]);
      expect(attempts[0].url).toMatch(/^s3:\/\/127\.0\.0\.1:\d+\/tests-[\w-]+\/events\/$/);
    }
  });

  check(
    'a server that stores a batch, and is killed before it says so: a retry replaces the object',
    async () => {
      const [relay, server] = [await Relay.start(), await VersityServer.start()];
      try {
        relay.to(server.facts.port);
        const scene = await DestinationScene.on(app);
        const bucket = await openBucket(server.facts, relay.port);
        const endpoint = await scene.endpoint(bucket.broker, { http_timeout: 5 }, { batch: FULL });
        relay.loseAnswers();
        await scene.sendMany(endpoint, 0, 25);
        const [stored] = await eventually(bucket.objects, { length: 1 });
        await server.kill();
        relay.unmute();
        await scene.sendMany(endpoint, 25, 50);
        await eventually(() => scene.count('Retry'), 50);
        await server.resume();
        await scene.succeeded(50);
        const objects = await bucket.objects();
        expect(objects.map(({ content }) => content.toString().split('\n').length - 1)).toEqual([25, 25]);
        const again = objects.find(({ key }) => key === stored?.key);
        expect(again?.content).toEqual(stored?.content);
        const numbers = (await bucket.received()).map(numberOf);
        expect(numbers.toSorted((a, b) => a - b)).toEqual(range(0, 50));
      } finally {
        relay.close();
        await server.stop();
      }
    },
  );

  check(
    'a node that is killed before the answer: the next one replaces the object, and a key keeps its order',
    async (context) => {
      const [relay, nodes] = [await Relay.start(), await setScene(context)];
      context.onTestFinished(() => relay.close());
      relay.to(facts.port);
      const bucket = await openBucket(facts, relay.port);
      const node = await nodes.start({ POSTHORN_EGRESS: 'any' });
      const batch = { max: 25, max_wait_seconds: 1 };
      const filter_config = { event_types: ['*'] };
      await (await nodes.client(node)).post('/endpoints', {
        name: 'objects',
        delivery: 'broker',
        broker: bucket.broker,
        subscriptions: [{ name: 'all', filter_config, batch, ordering: { key: '$.body.account' } }],
      });
      const events = range(0, 60).map((n) => ({
        kind: 'broadcast',
        event_type: 'made.up',
        data: { n, account: 'a' },
      }));
      relay.loseAnswers();
      await (await nodes.client(node)).post('/events/batch', { events }, 200);
      const [stored] = await eventually(bucket.objects, { length: 1 });
      await node.kill();
      relay.unmute();
      await nodes.start({ POSTHORN_EGRESS: 'any' });
      const all = await eventually(bucket.objects, (some) => some.flatMap(linesOf).length === 60);
      // Their names sort by time.
      const objects = all.toSorted((a, b) => (a.key < b.key ? -1 : 1));
      expect(objects.map((object) => linesOf(object).length)).toEqual([25, 25, 10]);
      expect(objects[0]).toMatchObject({ key: stored?.key, content: stored?.content });
      expect(objects.flatMap(linesOf).map(({ data }) => data.n)).toEqual(range(0, 60));
    },
  );

  check('a delivery whose subscription is gone is an object of one line', async () => {
    const scene = await DestinationScene.on(app);
    const bucket = await openBucket(facts);
    const endpoint = await scene.endpoint(bucket.broker);
    await scene.send(endpoint, { n: 1 });
    const { content } = await scene.project.get('/subscriptions');
    await scene.project.delete(`/subscriptions/${content[0].uid}`);
    await scene.succeeded(1);
    expect((await bucket.received()).map(numberOf)).toEqual([1]);
  });

  check('text is a string in its line, and a CloudEvent is a line itself', async () => {
    const scene = await DestinationScene.on(app);
    const [plain, cloud] = [await openBucket(facts), await openBucket(facts)];
    await scene.endpoint(plain.broker, {}, batchesOf(plain));
    await scene.endpoint(cloud.broker, { cloudevents: 'binary' }, batchesOf(cloud));
    const source = await httpSource(scene.project);
    const headers = { 'content-type': 'text/plain' };
    await fetch(source.url, { method: 'POST', headers, body: 'first\n"second"' });
    await scene.succeeded(2);
    const lineOf = async ({ objects }: typeof plain) => (await objects())[0]?.content.toString() ?? '';
    const [text, event] = [await lineOf(plain), await lineOf(cloud)];
    expect(JSON.parse(text)).toMatchObject({ data: 'first\n"second"' });
    expect(JSON.parse(event)).toMatchObject({ specversion: '1.0', data: 'first\n"second"' });
    expect([text, event].map((line) => line.indexOf('\n') === line.length - 1)).toEqual([true, true]);
  });
});
