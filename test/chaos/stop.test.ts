import { expect, test } from 'vitest';
import { startTestApp, subscribe } from '../support/app.ts';
import { createTestDatabase } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { clientOf, readCredentials } from '../support/program.ts';
import { Receiver } from '../support/servers/receiver.ts';
import { ChaosDatabase } from './chaos-database.ts';
import { ChaosNode } from './chaos-node.ts';

/** Resources that keep a process alive, by kind. */
function resources(): Record<string, number> {
  const kinds = Map.groupBy(process.getActiveResourcesInfo(), (kind) => kind);
  return Object.fromEntries([...kinds].map(([kind, all]) => [kind, all.length]));
}

test('after a stop no timer, socket, connection, lease or node is left', async ({ onTestFinished }) => {
  const receiver = await Receiver.start();
  onTestFinished(() => receiver.stop());
  const run = async () => {
    const app = await startTestApp();
    await subscribe(app.project, receiver.url, { eventTypes: ['last'] });
    await app.project.post('/events/broadcast', { event_type: 'last', data: {} });
    await eventually(() => app.database.query('select delivery_id from delivery_queue'), { length: 0 });
    await app.app.stop();
    const left = () =>
      app.database.query(
        `select (select count(*)::int from nodes) as nodes,
         (select count(*)::int from delivery_queue where node_id is not null) as leased,
         (select count(*)::int from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()) as connections`,
      );
    // The server notices a closed connection later. No new one is opened.
    const settled = await eventually(left, [{ connections: 0 }]);
    await app.stop();
    return settled;
  };
  // The first start may leave permanent resources behind (the resolver, for instance). They exist before the
  // second.
  await run();
  const settled = async () => {
    // fetch keeps its own connections to the stopped server for a moment.
    await new Promise((resolve) => setTimeout(resolve, 100));
    return resources();
  };
  const before = await settled();
  expect(await run()).toEqual([{ nodes: 0, leased: 0, connections: 0 }]);
  const after = await eventually(settled, (now) => total(now) <= total(before));
  expect(after['Timeout'] ?? 0).toBeLessThanOrEqual(before['Timeout'] ?? 0);
});

const total = (counts: Record<string, number>) => Object.values(counts).reduce((sum, n) => sum + n, 0);

test('a delivery in flight past the grace is aborted, released and sent again by another node', async (context) => {
  const database = await createTestDatabase();
  context.onTestFinished(() => database.stop());
  const receiver = await Receiver.start();
  context.onTestFinished(() => receiver.stop());
  receiver.answerAlways(() => {});
  const nodes: ChaosNode[] = [];
  for (const name of ['leaving', 'staying']) {
    const node = await ChaosNode.place(name, database.url, { POSTHORN_GRACE: '3' });
    context.onTestFinished(() => node.end());
    await node.start();
    nodes.push(node);
  }
  const [leaving] = nodes as [ChaosNode];
  const client = clientOf(leaving.url, readCredentials(leaving.dataDir));
  const endpoint = { http_timeout: 60 };
  await subscribe(client, receiver.url, { eventTypes: ['cut'], endpoint });
  await subscribe(client, receiver.url, {
    eventTypes: ['cut.once'],
    endpoint,
    subscription: { delivery_mode: 'at_most_once' },
  });
  await client.post('/events/broadcast', { event_type: 'cut', data: {} });
  await client.post('/events/broadcast', { event_type: 'cut.once', data: {} });
  await receiver.received(2);
  receiver.answerAlways(200);
  const signalledAt = performance.now();
  expect(await leaving.program.stop()).toEqual({ code: 0, signal: null });
  // It waited for the answers, and not for the sixty seconds they might have taken.
  expect(performance.now() - signalledAt).toBeGreaterThan(2_000);
  await eventually(() => database.query('select delivery_id from delivery_queue'), { length: 0 });
  expect(await database.query('select event_type, status from event_deliveries order by 1')).toEqual([
    { event_type: 'cut', status: 'Success' },
    { event_type: 'cut.once', status: 'Failure' },
  ]);
  expect(receiver.requests).toHaveLength(3);
  expect(await database.query('select count(*)::int as nodes from nodes')).toEqual([{ nodes: 1 }]);
});

// proves Instance: POSTHORN_GRACE
test('a node with a short grace ends while one with a long grace still waits for its delivery', async (context) => {
  const database = await createTestDatabase();
  context.onTestFinished(() => database.stop());
  const receiver = await Receiver.start();
  context.onTestFinished(() => receiver.stop());
  const answers = new Map<string, () => void>();
  receiver.answerAlways(({ path }, response) => answers.set(path, () => response.writeHead(200).end()));
  const place = async (name: string, grace: string) => {
    const node = await ChaosNode.place(name, database.url, { POSTHORN_GRACE: grace });
    context.onTestFinished(() => node.end());
    await node.start();
    return node;
  };
  const [short, long] = [await place('short', '1'), await place('long', '600')];
  const credentials = readCredentials(short.dataDir);
  for (const { name, url } of [short, long]) {
    const client = clientOf(url, credentials);
    const endpoint = { http_timeout: 120 };
    await subscribe(client, `${receiver.url}/${name}`, { eventTypes: [name], endpoint });
    await client.post('/events/broadcast', { event_type: name, data: {} });
  }
  await receiver.received(2);
  for (const { program } of [short, long]) program.signal('SIGTERM');
  expect(await short.program.ended).toEqual({ code: 0, signal: null });
  answers.get('/long')?.();
  expect(await long.program.ended).toEqual({ code: 0, signal: null });
  expect(await database.query('select event_type, status from event_deliveries order by 1')).toEqual([
    { event_type: 'long', status: 'Success' },
    { event_type: 'short', status: 'Scheduled' },
  ]);
  expect(receiver.requests).toHaveLength(2);
});

test('a second signal more than a second later ends the process at once', async (context) => {
  const database = await createTestDatabase();
  context.onTestFinished(() => database.stop());
  const receiver = await Receiver.start();
  context.onTestFinished(() => receiver.stop());
  receiver.answerAlways(() => {});
  const node = await ChaosNode.place('impatient', database.url, { POSTHORN_LOG_LEVEL: 'info' });
  context.onTestFinished(() => node.end());
  await node.start();
  const client = clientOf(node.url, readCredentials(node.dataDir));
  await subscribe(client, receiver.url, { eventTypes: ['stuck'], endpoint: { http_timeout: 60 } });
  await client.post('/events/broadcast', { event_type: 'stuck', data: {} });
  await receiver.received(1);
  node.program.signal('SIGTERM');
  await eventually(async () => node.program.stderr, /"stopping"/);
  await new Promise((resolve) => setTimeout(resolve, 1_100));
  expect(node.program.isRunning).toBe(true);
  expect(await node.program.stop()).toEqual({ code: 1, signal: null });
  expect(node.program.stderr).not.toContain('"stopped"');
});

test('ten seconds without a database use no retry and lose nothing; a stop meanwhile keeps its grace', async (context) => {
  const database = await ChaosDatabase.start();
  context.onTestFinished(() => database.stop());
  const receiver = await Receiver.start();
  context.onTestFinished(() => receiver.stop());
  const nodes: ChaosNode[] = [];
  for (const name of ['waiting', 'leaving']) {
    const node = await ChaosNode.place(name, database.url, { POSTHORN_GRACE: '4' });
    context.onTestFinished(() => node.end());
    await node.start();
    nodes.push(node);
  }
  const [waiting, leaving] = nodes as [ChaosNode, ChaosNode];
  const credentials = readCredentials(waiting.dataDir);
  const clients = [waiting, leaving].map(({ url }) => clientOf(url, credentials));
  const held: (() => void)[] = [];
  receiver.answerAlways((_request, response) => held.push(() => response.writeHead(200).end()));
  await subscribe(clients[0]!, receiver.url, { eventTypes: ['outage'], endpoint: { http_timeout: 60 } });
  for (const client of clients)
    for (let n = 0; n < 10; n++)
      await client.post('/events/broadcast', { event_type: 'outage', data: { n } });
  await receiver.received(20);
  const outage = database.outage(10_000);
  await eventually(async () => (await fetch(`${waiting.url}/readyz`)).status, 503);
  for (const answer of held) answer();
  receiver.answerAlways(200);
  const refused = await clients[0]!.raw('POST', '/events/broadcast', {
    body: { event_type: 'outage', data: {} },
  });
  expect(refused.status).toBe(503);
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
  const exit = await leaving.program.stop();
  expect(exit.signal).toBe(null);
  await outage;
  await eventually(
    () => database.query<{ open: number }>('select count(*)::int as open from delivery_queue'),
    [{ open: 0 }],
  );
  expect(
    await database.query('select status, num_trials, count(*)::int from event_deliveries group by 1, 2'),
  ).toEqual([{ status: 'Success', num_trials: 1, count: 20 }]);
  // The node that stayed kept its ten outcomes. Those of the node that left during the outage are sent again.
  expect(receiver.requests.length).toBeLessThanOrEqual(30);
});
