import { expect } from 'vitest';
import type { TestApp } from '../../support/app.ts';
import type { ApiClient, Json } from '../../support/client.ts';
import { atLeast, eventually } from '../../support/eventually.ts';
import { PATIENCE_MS } from '../broker-scene.ts';
import type { ReceivedMessage, Target } from './destination-driver.ts';

/** A project with an endpoint that sends to a broker. */
export class DestinationScene {
  readonly app: TestApp;
  readonly project: ApiClient;

  private constructor(app: TestApp, project: ApiClient) {
    this.app = app;
    this.project = project;
  }

  /** A failed delivery is tried again after a second, often enough for any outage of a test. */
  static async on(app: TestApp, config: object = {}): Promise<DestinationScene> {
    // A breaker would hold back what the tests wait for.
    const circuit_breaker = { failure_threshold: 100, minimum_request_count: 100_000 };
    const strategy = { type: 'linear', duration: 1, retry_count: 300 };
    return new DestinationScene(
      app,
      await app.newProject({ strategy, circuit_breaker, max_payload_read_size: 2_000_000, ...config }),
    );
  }

  async endpoint(broker: object, fields: object = {}, subscription: object = {}): Promise<Json> {
    const filter_config = { event_types: ['*'] };
    return this.project.post('/endpoints', {
      name: 'broker',
      delivery: 'broker',
      broker,
      secret: 'a secret of tests',
      subscriptions: [{ name: 'all', filter_config, ...subscription }],
      ...fields,
    });
  }

  async send(
    endpoint: Json,
    data: object,
    fields: object = {},
    headers: Record<string, string> = {},
  ): Promise<Json> {
    const body = { endpoint_id: endpoint.uid, event_type: 'made.up', data, ...fields };
    return this.project.call('POST', '/events', { body, expected: 201, headers });
  }

  async sendMany(endpoint: Json, from: number, to: number, fieldsOf = (_n: number): object => ({})) {
    const all = Array.from({ length: to - from }, (_, n) => from + n);
    for (let at = 0; at < all.length; at += 200) {
      const events = all.slice(at, at + 200).map((n) => ({
        kind: 'direct',
        endpoint_id: endpoint.uid,
        event_type: 'made.up',
        data: { n },
        ...fieldsOf(n),
      }));
      await this.project.post('/events/batch', { events, all_or_nothing: true }, 200);
    }
  }

  async count(status: string): Promise<number> {
    const [row] = await this.app.database.query(
      'select count(*)::int as count from event_deliveries where project_id = $1 and status = $2',
      [this.project.projectId, status],
    );
    return row?.['count'] as number;
  }

  succeeded(count: number): Promise<void> {
    return this.ended('Success', count);
  }

  async ended(status: string, count: number): Promise<void> {
    await eventually(() => this.count(status), atLeast(count), PATIENCE_MS);
    expect(await this.count(status)).toBe(count);
  }

  /** The attempts of the only delivery. */
  async attempts(): Promise<Json[]> {
    const { content } = await this.project.get('/eventdeliveries');
    return this.project.get(`/eventdeliveries/${content[0].uid}/deliveryattempts`);
  }

  /** The numbers of all messages, in their order, once there are so many different ones. */
  async receivedNumbers(target: Target, count: number): Promise<number[]> {
    const numbers = async () => (await target.received()).map(numberOf);
    return eventually(numbers, (all) => new Set(all).size >= count, PATIENCE_MS);
  }

  /** A message is stored twice only if its delivery was tried again. */
  async expectRepeatsExplained(target: Target): Promise<void> {
    const repeated = repeatedIn(await target.received());
    const rows = await this.app.database.query(
      'select id from event_deliveries where project_id = $1 and id = any($2) and num_trials > 1 order by id',
      [this.project.projectId, repeated],
    );
    expect(rows.map(({ id }) => id)).toEqual(repeated);
  }

  async received(target: Target, count: number): Promise<ReceivedMessage[]> {
    return eventually(target.received, { length: atLeast(count) }, PATIENCE_MS);
  }
}

/** The deliveries that are stored more than once. */
export function repeatedIn(messages: readonly ReceivedMessage[]): string[] {
  const names = messages.map(({ id, headers, stored }, n) => ({
    id: id ?? headers['webhook-id'] ?? '',
    stored: stored ?? String(n),
  }));
  return [...Map.groupBy(names, ({ id }) => id)]
    .filter(([, of]) => new Set(of.map(({ stored }) => stored)).size > 1)
    .map(([id]) => id)
    .toSorted();
}

/** The fields of a subscription to it. */
export const batchesOf = ({ batch }: Target): object => (batch === undefined ? {} : { batch });

export const numberOf = ({ body }: ReceivedMessage): number =>
  (JSON.parse(body.toString()) as { n: number }).n;
