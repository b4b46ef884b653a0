import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { ChaosDatabase } from '../chaos/chaos-database.ts';
import { ChaosNode } from '../chaos/chaos-node.ts';
import { seeded } from '../chaos/fault-schedule.ts';
import { ApiClient, type Json } from '../support/client.ts';
import { eventually } from '../support/eventually.ts';
import { readCredentials } from '../support/program.ts';
import { Receiver } from '../support/servers/receiver.ts';

/**
 * Order by key on three nodes, while people pause, cancel, resend and skip, events expire, nodes are killed and the
 * database goes away. In each key first successes are in the order of acceptance, and nothing is lost.
 */
const SEED = 11;
const KEYS = ['a', 'b', 'c', 'd'];
const FAILS = 0.2;

interface World {
  database: ChaosDatabase;
  nodes: ChaosNode[];
  receiver: Receiver;
  /** First successes by key: the numbers of their events, in order. */
  successes: Map<string, number[]>;
  random: () => number;
  projectId: string;
  key: string;
}

async function inWorld(work: (world: World) => Promise<void>): Promise<void> {
  const database = await ChaosDatabase.start();
  const nodes = await Promise.all(['one', 'two', 'three'].map((name) => ChaosNode.place(name, database.url)));
  const receiver = await Receiver.start();
  try {
    for (const node of nodes) await node.start();
    const { project_id, api_key } = readCredentials((nodes[0] as ChaosNode).dataDir);
    const random = seeded(SEED);
    await work({
      database,
      nodes,
      receiver,
      successes: new Map(),
      random,
      projectId: project_id,
      key: api_key,
    });
  } finally {
    for (const node of nodes) await node.end();
    await receiver.stop();
    await database.stop();
  }
}

const clientOf = ({ projectId, key }: World, { url }: ChaosNode): ApiClient =>
  new ApiClient(`${url}/api/v1/projects/${projectId}`, key);

/** A call that a fault may fail. Undefined: it failed, and may or may not have been done. */
const attempt = (call: Promise<Json>): Promise<Json> => call.catch(() => undefined);

async function subscribed(world: World, ordering: object): Promise<void> {
  const { receiver, successes, random } = world;
  // Without order, an answer may come later than that of the next event.
  const slowestMs = 'key' in ordering ? 20 : 200;
  receiver.answerAlways(({ json }, response) => {
    setTimeout(() => {
      if (response.destroyed) return;
      if (random() < FAILS) return response.writeHead(500).end();
      const seen = successes.get(json.key) ?? [];
      if (!seen.includes(json.n)) successes.set(json.key, [...seen, json.n]);
      return response.writeHead(200).end();
    }, random() * slowestMs);
  });
  const client = clientOf(world, world.nodes[0] as ChaosNode);
  const endpoint = await client.post('/endpoints', { name: 'ordered', url: receiver.url, http_timeout: 5 });
  await client.post('/subscriptions', {
    name: 'ordered',
    endpoint_id: endpoint.uid,
    retry_config: { type: 'linear', interval_seconds: 1, retry_count: 0 },
    ordering,
  });
}

/** Sends the events of one key, one call after another. Returns the numbers of those that were accepted. */
async function sendKey(world: World, key: string, over: AbortSignal): Promise<number[]> {
  const accepted: number[] = [];
  for (let n = 0; !over.aborted; n++) {
    const node = world.nodes[Math.floor(world.random() * 3)] as ChaosNode;
    const expires = world.random() < 0.05 ? { ttl_seconds: 1 } : {};
    const body = { event_type: 'ordered', data: { key, n }, ...expires };
    if ((await attempt(clientOf(world, node).post('/events/broadcast', body))) !== undefined)
      accepted.push(n);
    await sleep(20 + world.random() * 60);
  }
  return accepted;
}

/** Acts as the people of the project do. */
async function operate(world: World, over: AbortSignal): Promise<void> {
  for (let turns = 0; !over.aborted; ) {
    const client = clientOf(world, world.nodes[Math.floor(world.random() * 3)] as ChaosNode);
    const dice = world.random();
    if (dice < 0.2) {
      const endpoint = (await attempt(client.get('/endpoints')))?.content[0];
      if (endpoint !== undefined) await attempt(client.put(`/endpoints/${endpoint.uid}/pause`));
    } else if (dice < 0.4) {
      const page = await attempt(client.get('/eventdeliveries?status=Scheduled&perPage=3'));
      for (const { uid } of page?.content ?? [])
        await attempt(client.post(`/eventdeliveries/cancel?deliveryId=${uid}`, undefined, 200));
    } else if ((await unhold(client, turns % 2 === 1)).ended > 0) turns += 1;
    await sleep(150);
  }
}

/** Ends holds: the head is resent, or skipped. */
async function unhold(client: ApiClient, isSkipped: boolean): Promise<{ held: number; ended: number }> {
  const held: Json[] = (await attempt(client.get('/ordering-keys?held=true')))?.content ?? [];
  let ended = 0;
  for (const { uid, head_id } of held) {
    const answer = await attempt(
      isSkipped
        ? client.post('/ordering-keys/skip', { ids: [uid] }, 200)
        : client.put(`/eventdeliveries/${head_id}/resend`, undefined, 200),
    );
    if (answer !== undefined) ended += 1;
  }
  return { held: held.length, ended };
}

async function breakThings({ nodes, database, random }: World): Promise<void> {
  for (const fault of ['kill', 'terminate', 'outage', 'kill'] as const) {
    await sleep(1_500);
    const node = nodes[Math.floor(random() * 3)] as ChaosNode;
    if (fault === 'terminate') await database.terminateConnections();
    if (fault === 'outage') await database.outage(500);
    if (fault !== 'kill') continue;
    await node.program.kill();
    await node.start();
  }
}

async function drain(world: World): Promise<void> {
  world.receiver.answerAlways(({ json }, response) => {
    const seen = world.successes.get(json.key) ?? [];
    if (!seen.includes(json.n)) world.successes.set(json.key, [...seen, json.n]);
    response.writeHead(200).end();
  });
  const client = clientOf(world, world.nodes[0] as ChaosNode);
  const [endpoint] = (await client.get('/endpoints')).content;
  if (endpoint.status === 'paused') await client.put(`/endpoints/${endpoint.uid}/pause`);
  await eventually(
    async () => {
      const { held } = await unhold(client, false);
      const [open] = await world.database.query<{ count: number }>(
        'select count(*)::int as count from delivery_queue where kind = 0',
      );
      return held + (open?.count ?? 0);
    },
    0,
    60_000,
  );
}

const isSorted = (numbers: readonly number[]) => numbers.every((n, at) => at === 0 || numbers[at - 1]! < n);

async function outOfOrder(world: World, ordering: object, faults: () => Promise<void>): Promise<string[]> {
  await subscribed(world, ordering);
  const over = new AbortController();
  const sending = KEYS.map((key) => sendKey(world, key, over.signal));
  const operating = operate(world, over.signal);
  await faults().finally(() => over.abort());
  const accepted = await Promise.all(sending);
  await operating;
  await drain(world);
  expect(accepted.flat().length).toBeGreaterThan(50);
  const lost = await world.database.query(
    "select id from event_deliveries where status not in ('Success', 'Failure', 'Discarded')",
  );
  const stuck = await world.database.query('select * from ordered_deliveries');
  expect([lost, stuck]).toEqual([[], []]);
  const [stored] = await world.database.query<{ count: number }>('select count(*)::int as count from events');
  expect(stored?.count).toBeGreaterThanOrEqual(accepted.flat().length);
  return KEYS.filter((key) => !isSorted(world.successes.get(key) ?? []));
}

test('each key keeps its order, whatever people and faults do', () =>
  inWorld(async (world) => {
    const ordering = { key: '$.body.key', on_failure: 'hold' };
    const broken = await outOfOrder(world, ordering, () => breakThings(world));
    const [done] = await world.database.query(
      `select bool_or(cancelled_at is not null) as cancelled, bool_or(description like 'Expired%') as expired,
         bool_or(budget_from > 0) as resent, bool_or(status = 'Failure') as skipped from event_deliveries`,
    );
    expect(done).toEqual({ cancelled: true, expired: true, resent: true, skipped: true });
    expect({ broken, successes: Object.fromEntries(world.successes), seed: SEED }).toMatchObject({
      broken: [],
    });
  }));

test('without order by key the same load is delivered out of order', () =>
  inWorld(async (world) => {
    const enough = () => world.receiver.received(200).then(() => {});
    expect(await outOfOrder(world, {}, enough)).not.toEqual([]);
  }));
