import { afterAll, beforeAll, test } from 'vitest';
import type { TestApp } from '../support/app.ts';
import { brokerFacts } from '../support/brokers/broker.ts';
import type { Json } from '../support/client.ts';
import { type BrokerScene, startScene } from './broker-scene.ts';
import { ALICE, PostgresSide } from './postgres-driver.ts';

/** The shared scene of change streams: an app, and the database server of a customer. */
export interface ChangeScene {
  app: TestApp;
  side: PostgresSide;
}

/** Tests that are skipped, with the reason, where there is no such server. */
export function changeScene(): {
  scene: ChangeScene;
  check(name: string, run: () => Promise<void>): void;
} {
  const scene = {} as ChangeScene;
  let missing: string | undefined;
  beforeAll(async () => {
    const facts = await brokerFacts<{ port: number }>('postgres');
    if (typeof facts === 'string') {
      missing = facts;
      return;
    }
    scene.side = new PostgresSide(facts.port);
    scene.app = await startScene();
  }, 1_000_000);
  afterAll(async () => {
    await scene.app?.stop();
    await scene.side?.close();
  });
  const check = (name: string, run: () => Promise<void>) =>
    test(name, async ({ skip }) => (missing === undefined ? run() : skip(missing)), 300_000);
  return { scene, check };
}

export const settingsOf = (side: PostgresSide, database: string, fields: object = {}) => ({
  connection_url: side.url(database, ALICE),
  tables: ['public.messages'],
  ...fields,
});

/** The data of the events of a source, in the order of acceptance. */
export const dataOf = async (scene: BrokerScene, source: Json): Promise<Json[]> =>
  (await scene.stored(source)).map(({ payload }) => JSON.parse(payload.toString()));
