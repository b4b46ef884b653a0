import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { subscribe } from '../support/app.ts';
import { ApiClient } from '../support/client.ts';
import { createTestDatabase } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { readCredentials } from '../support/program.ts';
import { Receiver } from '../support/servers/receiver.ts';
import { shared } from '../support/shared.ts';
import { ChaosNode } from './chaos-node.ts';

/**
 * Three programs on one database. Their requests are counted by delivery id, and timed by their own records. Each test has
 * its own project and receiver. The last one kills the first program.
 */
const database = await shared(createTestDatabase());
const nodes = (await Promise.all(
  ['one', 'two', 'three'].map((name) => ChaosNode.place(name, database.url)),
)) as [ChaosNode, ChaosNode, ChaosNode];
afterAll(() => Promise.all(nodes.map((node) => node.end())));
let firstId: unknown;
let receiver: Receiver;
let projectId: string;
/** A caller of each node. */
let clients: ApiClient[];

beforeAll(async () => {
  const [first, ...others] = nodes;
  await first.start();
  [firstId] = (await database.query('select id from nodes')).map((row) => row['id']);
  await Promise.all(others.map((node) => node.start()));
});

beforeEach(async () => {
  receiver = await Receiver.start();
  const instance = new ApiClient(`${nodes[0].url}/api/v1`, readCredentials(nodes[0].dataDir).instance_key);
  const made = await instance.post('/projects', { name: receiver.url, type: 'outgoing' });
  projectId = made.project.uid;
  clients = nodes.map(({ url }) => new ApiClient(`${url}/api/v1/projects/${projectId}`, made.api_key.key));
  return () => receiver.stop();
});

const broadcast = (callers: readonly ApiClient[], eventType: string, count: number) =>
  Promise.all(
    Array.from({ length: count }, (_, n) =>
      callers[n % callers.length]!.post('/events/broadcast', { event_type: eventType, data: { n } }),
    ),
  );

/** Rows of the project. `where` may go on with `and`, and its first value is $2. */
const rowsOf = (select: string, where = '', values: unknown[] = []) =>
  database.query(`select ${select} where project_id = $1 ${where}`, [projectId, ...values]);

const queueEmpty = () =>
  eventually(() => rowsOf('delivery_id, node_id, lane, due_at from delivery_queue'), { length: 0 });

const statesOf = () => rowsOf('distinct status, num_trials from event_deliveries');
const idsOf = () => receiver.requests.map(({ headers }) => String(headers['webhook-id']));

/** The shortest time in which one more than `count` requests of a path began, and how many began. */
async function tightest(path: string, count: number): Promise<{ gapMs: number; began: number }> {
  const select = 'extract(epoch from requested_at)::float8 * 1000 as at from attempts';
  const rows = await rowsOf(
    select,
    "and endpoint_id in (select id from endpoints where url like '%' || $2) order by 1",
    [path],
  );
  const times = rows.map((row) => row['at'] as number);
  const gaps = times.slice(count).map((at, n) => at - (times[n] as number));
  return { gapMs: Math.min(...gaps), began: times.length };
}

test('a rate limit holds over three nodes in any interval, and without faults nothing is sent twice', async () => {
  const limit = { rate_limit: 4, rate_limit_duration: 1 };
  await subscribe(clients[0]!, `${receiver.url}/limited`, { eventTypes: ['limited'], endpoint: limit });
  await subscribe(clients[0]!, `${receiver.url}/free`, { eventTypes: ['free'] });
  await Promise.all([broadcast(clients, 'limited', 24), broadcast(clients, 'free', 300)]);
  await queueEmpty();
  const ids = idsOf();
  expect(ids).toHaveLength(324);
  expect(new Set(ids).size).toBe(324);
  expect(await statesOf()).toEqual([{ status: 'Success', num_trials: 1 }]);
  const { gapMs, began } = await tightest('/limited', 4);
  expect(began).toBe(24);
  expect(gapMs).toBeGreaterThanOrEqual(1_000);
});

test('a rate limit holds while the node with the rate lease is frozen, and after another took over', async () => {
  const limit = { rate_limit: 4, rate_limit_duration: 1 };
  const { endpoint } = await subscribe(clients[0]!, `${receiver.url}/counted`, { endpoint: limit });
  await broadcast([clients[0]!], 'counted', 1);
  await receiver.received(1);
  const holder = async () =>
    (await database.query('select node_id from rate_leases where endpoint_id = $1', [endpoint.uid]))[0]?.[
      'node_id'
    ];
  expect(await holder()).toBe(firstId);
  await broadcast(clients, 'counted', 60);
  await receiver.received(10);
  nodes[0].program.signal('SIGSTOP');
  await eventually(holder, (id) => id !== firstId);
  const sinceThen = receiver.requests.length;
  await receiver.received(sinceThen + 8);
  nodes[0].program.signal('SIGCONT');
  await queueEmpty();
  expect(new Set(idsOf()).size).toBe(61);
  expect((await tightest('/counted', 4)).gapMs).toBeGreaterThanOrEqual(1_000);
});

test('a node frozen past its lease records a late outcome as stale and overwrites nothing', async () => {
  const held: (() => void)[] = [];
  receiver.answerAlways((_request, response) => held.push(() => response.writeHead(500).end()));
  await subscribe(clients[0]!, receiver.url, { eventTypes: ['frozen'], endpoint: { http_timeout: 60 } });
  await broadcast([clients[0]!], 'frozen', 1);
  await receiver.received(1);
  nodes[0].program.signal('SIGSTOP');
  receiver.answerAlways(200);
  const states = () => rowsOf('status, num_trials from event_deliveries');
  await eventually(states, [{ status: 'Success' }]);
  held[0]!();
  nodes[0].program.signal('SIGCONT');
  const attempts = () => rowsOf('is_stale, succeeded from attempts', 'order by is_stale');
  await eventually(attempts, { length: 2 });
  expect(await attempts()).toEqual([
    { is_stale: false, succeeded: true },
    { is_stale: true, succeeded: false },
  ]);
  expect(await states()).toEqual([{ status: 'Success', num_trials: 1 }]);
  expect(receiver.requests).toHaveLength(2);
  await broadcast([clients[0]!], 'frozen', 1);
  await receiver.received(3);
  await queueEmpty();
});

test('the work of a killed node moves within fifteen seconds, and each delivery is sent twice at most', async () => {
  // The holder has them in flight when it dies: answers come only once it is dead.
  const held: (() => void)[] = [];
  receiver.answerAlways((_request, response) => held.push(() => response.writeHead(200).end()));
  await subscribe(clients[0]!, receiver.url, { eventTypes: ['moved'], endpoint: { http_timeout: 60 } });
  await broadcast(clients, 'moved', 30);
  await receiver.received(30);
  const rowsOfFirst = () =>
    rowsOf('count(*)::int as rows from delivery_queue', 'and node_id = $2', [firstId]);
  expect(await rowsOfFirst()).toEqual([{ rows: 10 }]);

  await nodes[0].program.kill();
  receiver.answerAlways(200);
  for (const answer of held) answer();
  await eventually(rowsOfFirst, [{ rows: 0 }], 15_000);
  await queueEmpty();
  const counts = Map.groupBy(idsOf(), (id) => id);
  expect(counts.size).toBe(30);
  expect([...counts.values()].filter((ids) => ids.length > 2)).toEqual([]);
  expect([...counts.values()].filter((ids) => ids.length === 2)).toHaveLength(10);
  expect(await statesOf()).toEqual([{ status: 'Success', num_trials: 1 }]);
});
