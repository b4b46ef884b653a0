import type { OwnBroker } from '../broker-driver.ts';
import { range } from '../broker-scene.ts';
import { startOwnKafka } from '../kafka-driver.ts';
import { startOwnRabbit } from './amqp-target.ts';
import type { OwnTarget } from './destination-driver.ts';
import { numberOf } from './destination-scene.ts';

const FUNCTION = 'function transform(payload) { return { n: payload.n, seen: true } }';
const HEADERS = { 'x-convoy-message-type': 'broadcast' };
const PARTITIONS = 3;

/**
 * From a Kafka of its own through a filter and a function to a RabbitMQ of its own. Messages are numbered, and every
 * tenth is filtered out.
 */
export class Chain {
  readonly from: OwnBroker;
  readonly to: OwnTarget;

  private constructor(from: OwnBroker, to: OwnTarget) {
    this.from = from;
    this.to = to;
  }

  static async start(): Promise<Chain> {
    const [from, to] = await Promise.allSettled([startOwnKafka(), startOwnRabbit()]);
    if (from.status === 'fulfilled' && to.status === 'fulfilled') return new Chain(from.value, to.value);
    for (const one of [from, to]) if (one.status === 'fulfilled') await one.value.stop();
    throw [from, to].find((one) => one.status === 'rejected')?.reason;
  }

  /** The endpoint with its subscription. */
  get endpoint(): object {
    const filter_config = { event_types: ['*'], filter: { body: { n: { $gte: 0 } } } };
    return {
      name: 'out',
      delivery: 'broker',
      broker: this.to.target.broker,
      http_timeout: 5,
      subscriptions: [{ name: 'all', filter_config, function: FUNCTION }],
    };
  }

  get source(): object {
    return { name: 'in', type: 'pub_sub', pub_sub: this.from.queue.settings };
  }

  publish(first: number, last: number): Promise<void> {
    return this.from.queue.publish(
      range(first, last).map((n) => ({
        body: JSON.stringify({ event_type: 'through', data: { n: isFiltered(n) ? -1 : n } }),
        headers: HEADERS,
        part: n % PARTITIONS,
      })),
    );
  }

  /** Numbers of published messages that have to arrive. */
  wanted(count: number): number[] {
    return range(0, count).filter((n) => !isFiltered(n));
  }

  async numbers(): Promise<number[]> {
    return (await this.to.target.received()).map(numberOf);
  }

  async stop(): Promise<void> {
    await Promise.all([this.from.stop(), this.to.stop()]);
  }
}

const isFiltered = (n: number): boolean => n % 10 === 9;
