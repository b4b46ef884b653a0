import type { ServerResponse } from 'node:http';
import { expect, type TestContext, test } from 'vitest';
import { Database } from '../../src/store/database/database.ts';
import { ChaosNode } from '../chaos/chaos-node.ts';
import { SECRET_KEY, startTestApp, subscribe } from '../support/app.ts';
import { ApiClient } from '../support/client.ts';
import { createTestDatabase } from '../support/database.ts';
import { atLeast, eventually } from '../support/eventually.ts';
import { quietLog } from '../support/quiet-log.ts';
import { startDatabaseRelay } from '../support/servers/database-relay.ts';
import { Receiver } from '../support/servers/receiver.ts';

/** A database that neither answers nor closes: only our own limits end the waiting. */
test('statements to a frozen server hit their limit, close the connection and work again once it thaws', async ({
  onTestFinished,
}) => {
  const database = await createTestDatabase();
  const relay = await startDatabaseRelay();
  const connection = { connectionString: relay.urlOf(database.name) };
  const db = new Database({ connection, connections: 6, log: quietLog });
  onTestFinished(async () => {
    relay.close();
    await db.close();
    await database.stop();
  });
  const statements = () => [
    db.hot('one', 'select 1 as one', []),
    db.beat('one', 'select 1 as one', []),
    db.hotTransaction((tx) => tx.hot('one', 'select 1 as one', [])),
  ];
  const fine = [[{ one: 1 }], [{ one: 1 }], [{ one: 1 }]];
  expect(await Promise.all(statements())).toEqual(fine);
  expect(await db.problem()).toBe(null);

  relay.freeze();
  const problem = db.problem();
  const results = await Promise.allSettled(statements());
  expect(results.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected']);
  expect(await problem).toMatch(/timeout/i);
  await eventually(async () => relay.givenUp, atLeast(3));
  // None is kept for the next to run into.
  const { hot, lease } = db.pools();
  expect([hot, lease]).toEqual([
    { busy: 0, idle: 0, waiting: 0 },
    { busy: 0, idle: 0, waiting: 0 },
  ]);

  relay.thaw();
  expect(await Promise.all(statements())).toEqual(fine);
  expect(await db.problem()).toBe(null);
});

async function nodeBehindRelay({ onTestFinished }: TestContext) {
  const app = await startTestApp({ POSTHORN_ROLES: 'api' });
  onTestFinished(() => app.stop());
  const receiver = await Receiver.start();
  onTestFinished(() => receiver.stop());
  const relay = await startDatabaseRelay();
  onTestFinished(() => relay.close());
  const node = await app.addNode({
    POSTHORN_ROLES: 'api,ingest,deliver,janitor',
    DATABASE_URL: relay.urlOf(app.database.name),
  });
  const client = new ApiClient(app.project.base.replace(app.url, node.url), app.project.key);
  return { app, receiver, relay, node, client };
}

test('a node whose database freezes refuses events in time, sends nothing meanwhile, and loses nothing', async (context) => {
  const { app, receiver, relay, node, client } = await nodeBehindRelay(context);
  const held: ServerResponse[] = [];
  receiver.answerAlways((_request, response) => held.push(response));
  await subscribe(client, receiver.url, { endpoint: { http_timeout: 100 } });
  const send = (n: number) => client.post('/events/broadcast', { event_type: 'a', data: { n } });
  for (let n = 0; n < 10; n++) await send(n);
  await receiver.received(10);

  relay.freeze();
  for (const response of held) response.end();
  receiver.answerAlways(200);
  // Both wait for limits of the database's connections, not for the thaw, which only comes after them.
  const refused = await Promise.all(
    [10, 11, 12].map((n) =>
      client.raw('POST', '/events/broadcast', { body: { event_type: 'a', data: { n } } }),
    ),
  );
  expect(refused.map(({ status }) => status)).toEqual([503, 503, 503]);
  expect(refused.every(({ headers }) => Number(headers.get('retry-after')) > 0)).toBe(true);
  expect((await fetch(`${node.url}/readyz`)).status).toBe(503);
  expect((await fetch(`${node.url}/healthz`)).status).toBe(200);
  const whenFrozen = receiver.requests.length;
  expect(whenFrozen).toBe(10);

  relay.thaw();
  await eventually(async () => (await fetch(`${node.url}/readyz`)).status, 200);
  const last = await eventually(
    () => client.raw('POST', '/events/broadcast', { body: { event_type: 'a', data: { n: 13 } } }),
    { status: 201 },
  );
  expect(last.status).toBe(201);
  await eventually(() => app.database.query('select delivery_id, node_id from delivery_queue'), {
    length: 0,
  });
  const states = await app.database.query('select distinct status, num_trials from event_deliveries');
  expect(states).toEqual([{ status: 'Success', num_trials: 1 }]);
  // Deliveries whose outcome was not recorded before the node was given up came once more, and none a third time.
  const counts = [...Map.groupBy(receiver.requests, ({ headers }) => headers['webhook-id']).values()];
  expect(Math.max(...counts.map((same) => same.length))).toBeLessThanOrEqual(2);
  const numbers = new Set(receiver.requests.map(({ json }) => json.n as number));
  for (const n of [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 13]) expect(numbers).toContain(n);
});

test('a node stopped while its database is frozen ends by itself, and logs that others take over', async (context) => {
  const { app, relay } = await nodeBehindRelay(context);
  const node = await ChaosNode.place('frozen', relay.urlOf(app.database.name), {
    POSTHORN_GRACE: '2',
    POSTHORN_SECRET_KEY: SECRET_KEY,
  });
  context.onTestFinished(() => node.end());
  await node.start();
  relay.freeze();
  expect(await node.program.stop()).toEqual({ code: 1, signal: null });
  expect(node.program.stderr).toContain('not stopped within the grace');
  relay.thaw();
});
