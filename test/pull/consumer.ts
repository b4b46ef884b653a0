import { randomUUID } from 'node:crypto';
import type { ApiClient, Json } from '../support/client.ts';

/** A pull endpoint with a subscription of its own event type, and calls of its consumer. */
export class PullScene {
  readonly client: ApiClient;
  readonly eventType: string;
  readonly endpoint: Json;
  readonly subscription: Json;

  private constructor(client: ApiClient, made: { eventType: string; endpoint: Json; subscription: Json }) {
    this.client = client;
    this.eventType = made.eventType;
    this.endpoint = made.endpoint;
    this.subscription = made.subscription;
  }

  static async make(client: ApiClient, fields: { endpoint?: object; subscription?: object } = {}) {
    const eventType = `type.${randomUUID()}`;
    const endpoint = await client.post('/endpoints', {
      name: 'pulled',
      delivery: 'pull',
      ...fields.endpoint,
    });
    const subscription = await client.post('/subscriptions', {
      name: 'pulled',
      endpoint_id: endpoint.uid,
      filter_config: { event_types: [eventType] },
      ...fields.subscription,
    });
    return new PullScene(client, { eventType, endpoint, subscription });
  }

  get path(): string {
    return `/endpoints/${this.endpoint.uid}/pull`;
  }

  send(count = 1, data: object = {}): Promise<Json[]> {
    return Promise.all(
      Array.from({ length: count }, (_, n) =>
        this.client.post('/events', {
          event_type: this.eventType,
          endpoint_id: this.endpoint.uid,
          data: { n, ...data },
        }),
      ),
    );
  }

  /** Waits as long as a call may, unless it says otherwise. */
  async pull(body: object = {}, client = this.client): Promise<Json[]> {
    const answer = await client.post(this.path, { wait_seconds: 30, ...body }, 200);
    return answer.deliveries;
  }

  async report(results: object[], client = this.client): Promise<string[]> {
    const answer = await client.post(`${this.path}/results`, { results }, 200);
    return answer.results.map((result: Json) => result.state);
  }

  delivery(uid: string): Promise<Json> {
    return this.client.get(`/eventdeliveries/${uid}`);
  }

  async attempts(uid: string): Promise<Json[]> {
    return this.client.get(`/eventdeliveries/${uid}/deliveryattempts`);
  }
}

export const resultOf = ({ uid, lease }: Json, ok = true, reason?: string): object => ({
  uid,
  lease,
  ok,
  ...(reason !== undefined && { reason }),
});
