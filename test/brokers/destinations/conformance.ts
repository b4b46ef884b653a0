import { createHmac } from 'node:crypto';
import { describe, expect } from 'vitest';
import { setScene } from '../../crash/scene.ts';
import type { TestApp } from '../../support/app.ts';
import type { Json } from '../../support/client.ts';
import { atLeast, eventually } from '../../support/eventually.ts';
import { range } from '../broker-scene.ts';
import { brokerTests, CA_FILE } from '../broker-tests.ts';
import type { DestinationDriver } from './destination-driver.ts';
import { batchesOf, DestinationScene, numberOf, repeatedIn } from './destination-scene.ts';
import { WrongTls } from './wrong-tls.ts';

const KEYS = 5;
const TRACEPARENT = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
/** The facts that a broker tells of a message, by kind. */
const FACTS: Readonly<Record<string, Readonly<Record<string, RegExp>>>> = {
  kafka: { partition: /^\d$/, offset: /^\d+$/ },
  amqp: { 'message-id': /^\w{26}$/ },
  sqs: { 'message-id': /^[\w-]{36}$/ },
  google: { 'message-id': /^\w+$/ },
  s3: { object: /^events\/20.*\.jsonl\.gz$/, etag: /^"\w+"$/ },
};

/** All of them, and the first of each in the order of its key. */
function expectInOrder(numbers: readonly number[], count: number): void {
  expect([...new Set(numbers)].toSorted((a, b) => a - b)).toEqual(range(0, count));
  for (const key of range(0, KEYS)) {
    const firsts = [...new Set(numbers.filter((n) => n % KEYS === key))];
    expect(firsts).toEqual(firsts.toSorted((a, b) => a - b));
  }
}

/** The tests that every kind of broker must pass to which deliveries go. */
export function destinationConformance(kind: string, start: () => Promise<DestinationDriver | string>): void {
  describe(kind, () => {
    let driver: DestinationDriver;
    let app: TestApp;
    let wrongTls: WrongTls;
    const { check, checkAtOnce } = brokerTests(start, async (given) => {
      app = given.app;
      driver = given.closing(given.facts);
      wrongTls = given.closing(await WrongTls.start());
    });

    // proves Endpoints: broker.*
    check('a message is the webhook: its bytes, its headers, its signature', async () => {
      const scene = await DestinationScene.on(app);
      const target = await driver.open();
      const endpoint = await scene.endpoint(target.broker, {}, batchesOf(target));
      expect(endpoint).toMatchObject({ delivery: 'broker', url: '', broker: target.broker });
      await scene.send(endpoint, { text: 'für "alle"', n: 1.5 }, {}, { traceparent: TRACEPARENT });
      await scene.succeeded(1);
      const [message] = await scene.received(target, 1);
      expect(message?.body.toString()).toBe('{"text":"für \\"alle\\"","n":1.5}');
      const { headers = {} } = message ?? {};
      expect(headers).toMatchObject({ 'content-type': 'application/json', 'event-type': 'made.up' });
      const { content } = await scene.project.get('/eventdeliveries');
      expect(message?.id ?? headers['webhook-id']).toBe(content[0].uid);
      // An object is of many events.
      if (kind !== 's3') expect(headers['traceparent']).toBe(TRACEPARENT);
      const bytes = message?.signed ?? message?.body;
      const signed = `${headers['webhook-id']}.${headers['webhook-timestamp']}.${bytes?.toString()}`;
      const expected = createHmac('sha256', 'a secret of tests').update(signed).digest('base64');
      expect(headers['webhook-signature']).toContain(`v1,${expected}`);
      const [attempt] = await scene.attempts();
      expect(attempt).toMatchObject({ status: true, http_status: '', error: '', method: 'PUBLISH' });
      expect(Object.keys(attempt.response_http_header)).toEqual(Object.keys(FACTS[kind] ?? {}));
      for (const [name, pattern] of Object.entries(FACTS[kind] ?? {}))
        expect(attempt.response_http_header[name]).toMatch(pattern);
      const { connectMs, firstByteMs, totalMs } = attempt.timings;
      expect(connectMs).toBeGreaterThan(0);
      expect(firstByteMs).toBeGreaterThanOrEqual(connectMs);
      expect(totalMs).toBeGreaterThanOrEqual(firstByteMs);
      expect(attempt.url).toMatch(/^(kafka|amqp|sqs|pubsub|s3):\/\//);
      if (kind !== 'google') expect(attempt.ip_address).toBe('127.0.0.1');
      expect(content[0]).toMatchObject({ last_outcome: 'confirmed' });
      expect(JSON.stringify(attempt)).not.toContain('secret');
    });

    check('what is wrong is said in plain words, and tried again', async () => {
      const target = await driver.open();
      const scene = await DestinationScene.on(app);
      const refused = [...target.refused, ...wrongTls.refusals(target.overTls)];
      for (const [broker, outcome, error] of refused) {
        const endpoint = await scene.endpoint(broker);
        const attempt = await scene.project.post(`/endpoints/${endpoint.uid}/test`, undefined, 200);
        expect(attempt).toMatchObject({ status: false, error, http_status: '' });
        // The server was reached.
        if (outcome === 'target_not_found' && ['amqp', 'sqs', 's3'].includes(kind))
          expect(attempt.ip_address).toBe('127.0.0.1');
        const { content } = await scene.project.get(`/eventdeliveries?endpointId=${endpoint.uid}`);
        expect(content[0]).toMatchObject({ last_outcome: outcome });
      }
      expect(await target.received()).toEqual([]);
    });

    check('a message that is too large fails alone, for good and with that reason', async () => {
      const scene = await DestinationScene.on(app);
      const target = await driver.open();
      const { tooLargeBytes = 0 } = target;
      // The server of the tests takes messages of any size.
      if (tooLargeBytes === 0) return;
      const endpoint = await scene.endpoint(target.broker);
      const text = (n: number) => ({ data: { n, text: 'x'.repeat(n === 7 ? tooLargeBytes : 900) } });
      await scene.sendMany(endpoint, 0, 40, text);
      await scene.succeeded(39);
      await scene.ended('Failure', 1);
      const numbers = await scene.receivedNumbers(target, 39);
      expect([...new Set(numbers)].toSorted((a, b) => a - b)).toEqual(range(0, 40).filter((n) => n !== 7));
      // RabbitMQ ends the channel: what it took and did not confirm until then goes again.
      if (kind !== 'amqp') expect(numbers).toHaveLength(39);
      const { content } = await scene.project.get('/eventdeliveries?status=Failure');
      expect(content[0]).toMatchObject({ last_outcome: 'message_too_large' });
      expect(content[0].metadata.num_trials).toBe(1);
      const [attempt] = await scene.project.get(`/eventdeliveries/${content[0].uid}/deliveryattempts`);
      expect(attempt.ip_address).toBe('127.0.0.1');
      expect(content[0].description).toMatch(
        /^The message is larger than .*; it will never fit, so it is not retried$/,
      );
    });

    check('an endpoint can be tried before it is saved', async () => {
      const scene = await DestinationScene.on(app);
      const target = await driver.open();
      const tried = { endpoint: { delivery: 'broker', broker: target.broker }, data: { n: 7 } };
      const attempt = await scene.project.post('/endpoints/test', tried, 200);
      expect(attempt).toMatchObject({ status: true, error: '' });
      expect((await scene.received(target, 1)).map(numberOf)).toEqual([7]);
    });

    checkAtOnce(
      'killed and frozen in the middle, it gets everything, and keys keep their order',
      async () => {
        const own = await driver.startOwn();
        try {
          const scene = await DestinationScene.on(app);
          const keys = (n: number) => ({ ordering_key: `k${n % KEYS}` });
          const endpoint = await scene.endpoint(
            own.target.broker,
            { http_timeout: 5 },
            { ordering: { key: '$.body.none' }, ...batchesOf(own.target) },
          );
          await scene.sendMany(endpoint, 0, 200, keys);
          await scene.received(own.target, 20);
          await own.kill();
          await scene.sendMany(endpoint, 200, 300, keys);
          await own.resume();
          await scene.received(own.target, 250);
          own.mute();
          await scene.sendMany(endpoint, 300, 400, keys);
          await new Promise((resolve) => setTimeout(resolve, 1_000));
          own.unmute();
          await scene.succeeded(400);
          expectInOrder(await scene.receivedNumbers(own.target, 400), 400);
          // Its place in the broker: the partition, the group, the ordering key.
          for (const message of await own.target.received())
            if (kind !== 's3') expect(message.key).toBe(`k${numberOf(message) % KEYS}`);
          await scene.expectRepeatsExplained(own.target);
        } finally {
          await own.stop();
        }
      },
    );

    checkAtOnce(
      'a node that is killed in the middle: the next one sends the rest, and keys keep their order',
      async (context) => {
        const [nodes, target] = [await setScene(context), await driver.open()];
        const env = { POSTHORN_EGRESS: 'any', POSTHORN_CA_FILE: CA_FILE };
        const node = await nodes.start(env);
        const client = await nodes.client(node);
        await client.post('/endpoints', {
          name: 'broker',
          delivery: 'broker',
          broker: target.broker,
          subscriptions: [
            {
              name: 'all',
              filter_config: { event_types: ['*'] },
              ordering: { key: '$.body.none' },
              ...batchesOf(target),
            },
          ],
        });
        const events = range(0, 300).map((n) => ({
          kind: 'broadcast',
          event_type: 'made.up',
          data: { n },
          ordering_key: `k${n % KEYS}`,
        }));
        await client.post('/events/batch', { events }, 200);
        const numbers = async () => (await target.received()).map(numberOf);
        await eventually(numbers, { length: atLeast(20) });
        const recorded = async () =>
          (await client.get('/eventdeliveries?perPage=1000&status=Success')).content as Json[];
        const ended = new Set((await recorded()).map(({ uid }) => uid));
        await node.kill();
        await nodes.start(env);
        expectInOrder(await eventually(numbers, (all) => new Set(all).size === 300), 300);
        // A message is stored twice only if its outcome was not recorded.
        expect(repeatedIn(await target.received()).filter((id) => ended.has(id))).toEqual([]);
      },
    );
  });
}
