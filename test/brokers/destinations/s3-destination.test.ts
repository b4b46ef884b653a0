import { describe, expect } from 'vitest';
import type { TestApp } from '../../support/app.ts';
import { brokerFacts } from '../../support/brokers/broker.ts';
import type { S3Facts } from '../../support/brokers/versity-server.ts';
import { eventually } from '../../support/eventually.ts';
import { brokerTests } from '../broker-tests.ts';
import { destinationConformance } from './conformance.ts';
import { DestinationScene } from './destination-scene.ts';
import { openBucket, s3Targets } from './s3-target.ts';

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

  check(
    'an object is lines of JSON under a name in the order of time, and a resend makes no second one',
    async () => {
      const scene = await DestinationScene.on(app);
      const bucket = await openBucket(facts);
      const endpoint = await scene.endpoint(bucket.broker);
      const event = await scene.send(endpoint, { n: 1, text: 'a\nb' });
      await scene.succeeded(1);
      const { content } = await scene.project.get('/eventdeliveries');
      const id: string = content[0].uid;
      const [object] = await bucket.objects();
      expect(object?.key).toMatch(
        new RegExp(`^events/\\d{4}/\\d\\d/\\d\\d/\\d\\d-\\d\\d-\\d\\d-${id}\\.jsonl\\.gz$`),
      );
      expect(object?.headers).toMatchObject({
        'content-type': 'application/gzip',
        'x-amz-meta-webhook-id': id,
      });
      const line = `{"id":"${id}","type":"made.up","timestamp":"${event.created_at}","data":{"n":1,"text":"a\\nb"}}\n`;
      expect(object?.content.toString()).toBe(line);
      const [attempt] = await scene.attempts();
      expect(attempt.response_http_header).toMatchObject({
        object: object?.key,
        etag: object?.headers['etag'],
      });
      expect(attempt.url).toMatch(/^s3:\/\/127\.0\.0\.1:\d+\/tests-[\w-]+\/events\/$/);
      await scene.project.post('/eventdeliveries/forceresend', { ids: [id] }, 200);
      await eventually(
        () => scene.attempts(),
        (all) => all.length === 2,
      );
      await scene.succeeded(1);
      const after = await bucket.objects();
      expect(after.map(({ key, content: bytes }) => [key, bytes.toString()])).toEqual([[object?.key, line]]);
    },
  );

  check('text is a string in its line, and a structured CloudEvent is a line itself', async () => {
    const scene = await DestinationScene.on(app);
    const [plain, cloud] = [await openBucket(facts), await openBucket(facts)];
    await scene.endpoint(plain.broker);
    await scene.endpoint(cloud.broker, { cloudevents: 'structured' });
    const source = await scene.project.post('/sources', {
      name: 's',
      type: 'http',
      verifier: { type: 'noop' },
    });
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
