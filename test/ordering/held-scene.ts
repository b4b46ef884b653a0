import { onTestFinished } from 'vitest';
import { subscribe, type TestApp } from '../support/app.ts';
import type { ApiClient, Json } from '../support/client.ts';
import { atLeast, eventually } from '../support/eventually.ts';
import { Receiver } from '../support/servers/receiver.ts';

export interface HeldScene {
  client: ApiClient;
  endpoint: Json;
  subscription: Json;
  receiver: Receiver;
  /** The numbers whose deliveries the receiver refuses. */
  refused: Set<number>;
  send(account: string, n: number, more?: object): Promise<Json>;
  /** The numbers of the requests with an account, in order. */
  seen(account: string): number[];
  /** The held keys, when there are so many. */
  held(many: number): Promise<Json[]>;
  /** The queue is empty. */
  drained(): Promise<unknown>;
  /** The meta events of alerts, when there are so many. */
  alerts(many: number): Promise<Json[]>;
}

const ONE_TRY = { type: 'linear', interval_seconds: 1, retry_count: 0 };

/** A project with one ordered subscription whose failed deliveries hold their keys, and which has one try for each. */
export async function heldScene(app: TestApp, subscription: object = {}): Promise<HeldScene> {
  const receiver = await Receiver.start();
  onTestFinished(() => receiver.stop());
  const refused = new Set<number>();
  receiver.answerAlways(({ json }, response) => response.writeHead(refused.has(json.n) ? 503 : 200).end());
  const client = await app.newProject({
    meta_event: { is_enabled: true, url: `${receiver.url}/meta`, secret: 's', event_type: ['alert.*'] },
  });
  const made = await subscribe(client, `${receiver.url}/hook`, {
    eventTypes: ['*'],
    subscription: {
      ordering: { key: '$.body.account', on_failure: 'hold' },
      retry_config: ONE_TRY,
      ...subscription,
    },
  });
  return {
    client,
    ...made,
    receiver,
    refused,
    send: (account, n, more = {}) =>
      client.post('/events/broadcast', { event_type: 'a', data: { account, n }, ...more }),
    seen: (account) =>
      receiver
        .at('/hook')
        .filter(({ json }) => json.account === account)
        .map(({ json }) => json.n),
    held: (many) =>
      eventually(async () => (await client.get('/ordering-keys?held=true')).content as Json[], {
        length: many,
      }),
    drained: () =>
      eventually(
        () => app.database.query('select from delivery_queue where project_id = $1', [client.projectId]),
        { length: 0 },
      ),
    alerts: (many) =>
      eventually(async () => receiver.at('/meta').map(({ json }) => json as Json), { length: atLeast(many) }),
  };
}
