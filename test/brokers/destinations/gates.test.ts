import { expect } from 'vitest';
import type { TestApp } from '../../support/app.ts';
import { brokerFacts } from '../../support/brokers/broker.ts';
import type { RabbitMqFacts } from '../../support/brokers/rabbitmq-server.ts';
import type { Json } from '../../support/client.ts';
import { eventually } from '../../support/eventually.ts';
import { range } from '../broker-scene.ts';
import { brokerTests } from '../broker-tests.ts';
import { AmqpTargets } from './amqp-target.ts';
import { DestinationScene, numberOf } from './destination-scene.ts';

/** Gates, breakers and alerts of endpoints do not ask where deliveries go. */
let app: TestApp;
let targets: AmqpTargets;
let port: number;

const { check } = brokerTests(
  () => brokerFacts<RabbitMqFacts>('amqp'),
  (given) => {
    app = given.app;
    port = given.facts.ports.plain;
    targets = given.closing(new AmqpTargets(given.facts));
  },
);

const deliveriesOf = async (scene: DestinationScene): Promise<Json[]> =>
  (await scene.project.get('/eventdeliveries?perPage=100')).content;

check('a pause and a rate limit hold messages back, explain says so, and nothing is lost', async () => {
  const scene = await DestinationScene.on(app);
  const target = await targets.open(port);
  const limit = { rate_limit: 3, rate_limit_duration: 3_600 };
  const endpoint = await scene.endpoint(target.broker, limit);
  await scene.project.put(`/endpoints/${endpoint.uid}/pause`);
  await scene.sendMany(endpoint, 0, 8);
  const [paused] = await deliveriesOf(scene);
  expect(paused?.waiting_for).toMatchObject({ gate: 'paused' });
  const { subscriptions } = await scene.project.get(`/events/${paused?.event_id}/explain`);
  expect(subscriptions).toMatchObject([{ matched: true, cause: 'paused' }]);
  expect(await target.received()).toEqual([]);
  await scene.project.put(`/endpoints/${endpoint.uid}/pause`);
  await scene.succeeded(3);
  const limited = (await deliveriesOf(scene)).find(({ status }) => status === 'Scheduled');
  expect(limited?.waiting_for).toMatchObject({ gate: 'rate_limit' });
  expect(await scene.received(target, 3)).toHaveLength(3);
  await scene.project.put(`/endpoints/${endpoint.uid}`, { rate_limit: 0 });
  await scene.succeeded(8);
  const numbers = await scene.receivedNumbers(target, 8);
  expect(numbers.toSorted((a, b) => a - b)).toEqual(range(0, 8));
});

check('failures open the breaker, and a send by hand is the probe that closes it', async () => {
  const circuit_breaker = { sample_rate: 1, error_timeout: 3_600, minimum_request_count: 4 };
  const scene = await DestinationScene.on(app, { circuit_breaker });
  const target = await targets.open(port);
  const { amqp } = target.broker as { amqp: { exchange: string } };
  const endpoint = await scene.endpoint({ type: 'amqp', amqp: { ...amqp, exchange: 'none' } });
  await scene.sendMany(endpoint, 0, 6);
  const found = await eventually(() => scene.project.get(`/endpoints/${endpoint.uid}`), { cb_state: 'open' });
  expect(found.cb_state).toBe('open');
  const waiting = await eventually(
    () => deliveriesOf(scene),
    (all) => all.every(({ waiting_for }) => waiting_for?.gate === 'circuit_breaker'),
  );
  expect(waiting.map(({ last_outcome }) => last_outcome)).toContain('target_not_found');
  // The exchange is there now. A send by hand is the probe.
  await scene.project.put(`/endpoints/${endpoint.uid}`, { broker: target.broker });
  await scene.project.post('/eventdeliveries/sendnow', undefined, 200);
  await scene.succeeded(6);
  expect((await scene.receivedNumbers(target, 6)).toSorted((a, b) => a - b)).toEqual(range(0, 6));
  expect((await target.received()).map(numberOf)).toHaveLength(6);
});
