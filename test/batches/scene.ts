import { expect, onTestFinished } from 'vitest';
import type { TestApp } from '../support/app.ts';
import { subscribe } from '../support/app.ts';
import type { ApiClient, Json } from '../support/client.ts';
import { eventually } from '../support/eventually.ts';
import { type Received, Receiver } from '../support/servers/receiver.ts';

/** A subscription with batches, and its receiver. */
export interface Scene {
  client: ApiClient;
  receiver: Receiver;
  endpoint: Json;
  subscription: Json;
  /** Events with the numbers from `from` on. */
  send(count: number, options?: { from?: number; event?: object }): Promise<void>;
  deliveries(): Promise<Json[]>;
  /** All deliveries, once none is open. */
  ended(count: number): Promise<Json[]>;
}

export async function scene(
  app: TestApp,
  batch: object,
  more: { config?: object; subscription?: object; endpoint?: object } = {},
): Promise<Scene> {
  const receiver = await Receiver.start();
  onTestFinished(() => receiver.stop());
  const client = await app.newProject(more.config);
  const made = await subscribe(client, receiver.url, {
    endpoint: { secret: 'a secret of the endpoint', ...more.endpoint },
    subscription: { batch, ...more.subscription },
  });
  const deliveries = async () =>
    (await client.get('/eventdeliveries?perPage=1000&sort=ASC')).content as Json[];
  return {
    client,
    receiver,
    ...made,
    send: async (count, { from = 1, event = {} } = {}) => {
      const events = Array.from({ length: count }, (_, n) => ({
        kind: 'broadcast',
        event_type: 'order.paid',
        data: { n: from + n },
        ...event,
      }));
      const { results } = await client.post('/events/batch', { events }, 200);
      expect(results).toHaveLength(count);
    },
    deliveries,
    ended: (count) =>
      eventually(deliveries, (all) => all.length === count && all.every(({ status }) => isEnded(status))),
  };
}

const isEnded = (status: string) => ['Success', 'Failure', 'Discarded'].includes(status);

/** The numbers of the events in a batch. */
export const numbers = ({ json }: Pick<Received, 'json'>): number[] =>
  json.map(({ data }: { data: { n: number } }) => data.n);
