import type { TestApp } from '../support/app.ts';
import { brokerFacts } from '../support/brokers/broker.ts';
import type { Json } from '../support/client.ts';
import type { BrokerScene } from './broker-scene.ts';
import { brokerTests } from './broker-tests.ts';
import { ALICE, PostgresSide } from './postgres-driver.ts';

/** The shared scene of change streams: an app, and the database server of a customer. */
export interface ChangeScene {
  app: TestApp;
  side: PostgresSide;
}

export function changeScene(): { scene: ChangeScene; check: ReturnType<typeof brokerTests>['check'] } {
  const scene = {} as ChangeScene;
  const { check } = brokerTests(
    () => brokerFacts<{ port: number }>('postgres'),
    ({ facts, app, closing }) => {
      Object.assign(scene, { app, side: closing(new PostgresSide(facts.port)) });
    },
    {},
  );
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
