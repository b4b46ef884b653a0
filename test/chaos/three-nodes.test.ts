import { expect, type TestContext, test } from 'vitest';
import { subscribe } from '../support/app.ts';
import type { ApiClient } from '../support/client.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { clientOf, readCredentials } from '../support/program.ts';
import { Receiver } from '../support/receiver.ts';
import { ChaosNode } from './chaos-node.ts';

/** Three programs on one database. Their requests are counted by delivery id, and timed by their own records. */
async function startNodes({ onTestFinished }: TestContext) {
  const database = await createTestDatabase();
  onTestFinished(() => database.stop());
  const receiver = await Receiver.start();
  onTestFinished(() => receiver.stop());
  const nodes = await Promise.all(['one', 'two', 'three'].map((name) => ChaosNode.place(name, database.url)));
  for (const node of nodes) onTestFinished(() => node.end());
  const [first, ...others] = nodes as [ChaosNode, ...ChaosNode[]];
  // The first has the credentials.
  await first.start();
  await Promise.all(others.map((node) => node.start()));
  const clients = nodes.map(({ url }) => clientOf(url, readCredentials(first.dataDir)));
  return { database, receiver, nodes, clients };
}

const broadcast = (clients: ApiClient[], eventType: string, count: number) =>
  Promise.all(
    Array.from({ length: count }, (_, n) =>
      clients[n % clients.length]!.post('/events/broadcast', { event_type: eventType, data: { n } }),
    ),
  );

const queueEmpty = (database: TestDatabase) =>
  eventually(
    () => database.query('select delivery_id, node_id, lane, due_at from delivery_queue'),
    (rows) => rows.length === 0,
  );

const idsOf = (receiver: Receiver) => receiver.requests.map(({ headers }) => String(headers['webhook-id']));

test('a rate limit holds over three nodes in any interval, and without faults nothing is sent twice', async (context) => {
  const { database, receiver, clients } = await startNodes(context);
  const limit = { rate_limit: 4, rate_limit_duration: 1 };
  await subscribe(clients[0]!, `${receiver.url}/limited`, { eventTypes: ['limited'], endpoint: limit });
  await subscribe(clients[0]!, `${receiver.url}/free`, { eventTypes: ['free'] });
  await Promise.all([broadcast(clients, 'limited', 24), broadcast(clients, 'free', 300)]);
  await queueEmpty(database);
  const ids = idsOf(receiver);
  expect(ids).toHaveLength(324);
  expect(new Set(ids).size).toBe(324);
  expect(await database.query('select distinct status, num_trials from event_deliveries')).toEqual([
    { status: 'Success', num_trials: 1 },
  ]);
  const rows = await database.query(
    "select extract(epoch from requested_at)::float8 * 1000 as at from delivery_attempts where url like '%limited' order by 1",
  );
  const times = rows.map((row) => row['at'] as number);
  const gaps = times.slice(4).map((at, n) => at - (times[n] as number));
  expect(times).toHaveLength(24);
  expect(Math.min(...gaps)).toBeGreaterThanOrEqual(1_000);
});

test('the work of a killed node moves within fifteen seconds, and each delivery is sent twice at most', async (context) => {
  const { database, receiver, nodes, clients } = await startNodes(context);
  // The holder has them in flight when it dies: answers come only once it is dead.
  const held: (() => void)[] = [];
  receiver.answerAlways((_request, response) => held.push(() => response.writeHead(200).end()));
  await subscribe(clients[0]!, receiver.url, { eventTypes: ['moved'], endpoint: { http_timeout: 60 } });
  await broadcast(clients, 'moved', 30);
  await receiver.received(30);
  const [victim] = await database.query('select id from nodes order by started_at limit 1');
  const rowsOf = () =>
    database.query('select count(*)::int as rows from delivery_queue where node_id = $1', [victim?.['id']]);
  expect((await rowsOf())[0]).toEqual({ rows: 10 });

  await nodes[0]!.program.kill();
  receiver.answerAlways(200);
  for (const answer of held) answer();
  await eventually(rowsOf, ([row]) => row?.['rows'] === 0, 15_000);
  await queueEmpty(database);
  const counts = Map.groupBy(idsOf(receiver), (id) => id);
  expect(counts.size).toBe(30);
  expect([...counts.values()].filter((ids) => ids.length > 2)).toEqual([]);
  expect([...counts.values()].filter((ids) => ids.length === 2)).toHaveLength(10);
  expect(await database.query('select distinct status, num_trials from event_deliveries')).toEqual([
    { status: 'Success', num_trials: 1 },
  ]);
});

test('a node frozen past its lease records a late outcome as stale and overwrites nothing', async (context) => {
  const { database, receiver, nodes, clients } = await startNodes(context);
  const held: (() => void)[] = [];
  receiver.answerAlways((_request, response) => held.push(() => response.writeHead(500).end()));
  await subscribe(clients[0]!, receiver.url, { eventTypes: ['frozen'], endpoint: { http_timeout: 60 } });
  await broadcast([clients[0]!], 'frozen', 1);
  await receiver.received(1);
  nodes[0]!.program.signal('SIGSTOP');
  receiver.answerAlways(200);
  const states = () => database.query('select status, num_trials from event_deliveries');
  await eventually(states, ([row]) => row?.['status'] === 'Success');
  held[0]!();
  nodes[0]!.program.signal('SIGCONT');
  const attempts = () =>
    database.query('select is_stale, succeeded from delivery_attempts order by is_stale');
  await eventually(attempts, (rows) => rows.length === 2);
  expect(await attempts()).toEqual([
    { is_stale: false, succeeded: true },
    { is_stale: true, succeeded: false },
  ]);
  expect(await states()).toEqual([{ status: 'Success', num_trials: 1 }]);
  expect(receiver.requests).toHaveLength(2);
  await broadcast([clients[0]!], 'frozen', 1);
  await receiver.received(3);
  await queueEmpty(database);
});

test('a rate limit holds while the node with the rate lease is frozen, and after another took over', async (context) => {
  const { database, receiver, nodes, clients } = await startNodes(context);
  const limit = { rate_limit: 4, rate_limit_duration: 1 };
  await subscribe(clients[0]!, receiver.url, { eventTypes: ['counted'], endpoint: limit });
  await broadcast([clients[0]!], 'counted', 1);
  await receiver.received(1);
  const holder = async () => (await database.query('select node_id from rate_leases'))[0]?.['node_id'];
  const [first] = await database.query('select id from nodes order by started_at limit 1');
  expect(await holder()).toBe(first?.['id']);
  await broadcast(clients, 'counted', 120);
  await receiver.received(10);
  nodes[0]!.program.signal('SIGSTOP');
  await eventually(holder, (id) => id !== first?.['id']);
  const sinceThen = receiver.requests.length;
  await receiver.received(sinceThen + 8);
  nodes[0]!.program.signal('SIGCONT');
  await queueEmpty(database);
  expect(new Set(idsOf(receiver)).size).toBe(121);
  const rows = await database.query(
    'select extract(epoch from requested_at)::float8 * 1000 as at from delivery_attempts order by 1',
  );
  const times = rows.map((row) => row['at'] as number);
  const gaps = times.slice(4).map((at, n) => at - (times[n] as number));
  expect(Math.min(...gaps)).toBeGreaterThanOrEqual(1_000);
});
