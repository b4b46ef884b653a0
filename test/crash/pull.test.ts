import { readFileSync } from 'node:fs';
import { expect, type TestContext, test } from 'vitest';
import { storeDeliveries } from '../pull/store-deliveries.ts';
import type { ApiClient, Json } from '../support/client.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { atLeast, eventually } from '../support/eventually.ts';
import { clientOf, freePort, type Program, readCredentials } from '../support/program.ts';
import { temporaryFolder } from '../support/samples/temporary-folder.ts';
import { serveOn } from '../support/servers/serve.ts';
import { HeldByDevices } from './held-by-devices.ts';

const DELIVERIES = 10_000;
const KILL_NODE_AT = 4_000;
const LEASE_SECONDS = 2;
const CALM_AT = 8_000;

async function startNode({ onTestFinished }: TestContext, database: TestDatabase, port = 0) {
  const dataDir = temporaryFolder();
  const env = { POSTHORN_DATA_DIR: dataDir, POSTHORN_PORT: String(port) };
  const program = serveOn(database.url, env, onTestFinished);
  return { program, url: await program.ready(), dataDir };
}

/**
 * A consumer that loses part of what it takes: it reports most deliveries, some as failures, and dies with the rest in
 * every `diesEvery`th round, until `isCalm`. Then another takes its place.
 */
class Consumer {
  readonly #clients: readonly ApiClient[];
  readonly #path: string;
  readonly #diesEvery: number;
  #rounds = 0;
  isCalm = false;
  /** Successes that were recorded, by delivery. */
  readonly recorded = new Map<string, number>();

  constructor(clients: readonly ApiClient[], endpoint: Json, diesEvery: number) {
    this.#clients = clients;
    this.#path = `/endpoints/${endpoint.uid}/pull`;
    this.#diesEvery = diesEvery;
  }

  async run(isOver: () => boolean): Promise<void> {
    while (!isOver()) {
      const client = this.#clients[this.#rounds % this.#clients.length] as ApiClient;
      this.#rounds += 1;
      // A node that was killed refuses the connection: the next round asks the other one.
      await this.#round(client).catch((error: unknown) => {
        if (!(error instanceof TypeError)) throw error;
      });
    }
  }

  async #round(client: ApiClient): Promise<void> {
    const take = { max: 100, wait_seconds: 1, lease_seconds: LEASE_SECONDS };
    const { deliveries } = await client.post(this.#path, take, 200);
    const dies = !this.isCalm && this.#rounds % this.#diesEvery === 0;
    if (deliveries.length === 0 || dies) return;
    const results = deliveries.map(({ uid, lease }: Json, n: number) =>
      n % 50 === 7 ? { uid, lease, ok: false, reason: 'it failed' } : { uid, lease, ok: true },
    );
    const answer = await client.post(`${this.#path}/results`, { results }, 200);
    for (const [n, { uid, state }] of answer.results.entries())
      if (state === 'recorded' && results[n].ok) this.recorded.set(uid, (this.recorded.get(uid) ?? 0) + 1);
  }
}

const memoryOf = (program: Program): number =>
  Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${program.pid}/status`, 'utf8'))?.[1]);

test('three consumers that die, on two nodes of which one is killed, lose none of 10,000 deliveries; devices get theirs again', async (context) => {
  const database = await createTestDatabase();
  context.onTestFinished(() => database.stop());
  const first = await startNode(context, database);
  const port = await freePort();
  const second = await startNode(context, database, port);
  const credentials = readCredentials(first.dataDir);
  const client = clientOf(first.url, credentials);
  const clients = [clientOf(second.url, credentials), client];
  const endpoint = await client.post('/endpoints', { name: 'pulled', delivery: 'pull' });
  await storeDeliveries(database, {
    projectId: credentials.project_id,
    endpointId: endpoint.uid,
    count: DELIVERIES,
    payload: { text: 'x'.repeat(4_000) },
  });
  const devices = await HeldByDevices.connect(context, { killed: clients[0] as ApiClient, other: client });
  const atStart = memoryOf(first.program);

  const count = async (where: string): Promise<number> => {
    const [row] = await database.query(`select count(*)::int as n from event_deliveries where ${where}`);
    return Number(row?.['n']);
  };
  let isOver = false;
  const consumers = [5, 7, 9].map((diesEvery) => new Consumer(clients, endpoint, diesEvery));
  const running = Promise.all(consumers.map((consumer) => consumer.run(() => isOver)));
  await eventually(() => count("status = 'Success' and event_type = 'many'"), atLeast(KILL_NODE_AT));
  await devices.hold();
  await second.program.kill();
  const devicesDone = devices.comeBack(database, () => startNode(context, database, port));
  await eventually(() => count("status = 'Success' and event_type = 'many'"), atLeast(CALM_AT));
  for (const consumer of consumers) consumer.isCalm = true;
  await eventually(() => count("status = 'Success' and event_type = 'many'"), DELIVERIES);
  isOver = true;
  await running;
  await devicesDone;

  const all = consumers.flatMap(({ recorded }) => [...recorded]);
  // A killed node may have recorded results whose answers were lost. No result counted twice.
  expect(all.length).toBeGreaterThan(DELIVERIES - 300);
  expect(new Set(all.map(([uid]) => uid)).size).toBe(all.length);
  expect(all.every(([, times]) => times === 1)).toBe(true);
  const [counted] = await database.query(
    `select count(*)::int as n, count(distinct delivery_id)::int as deliveries from attempts
     where succeeded and not is_stale`,
  );
  const succeeded = DELIVERIES + devices.deliveries;
  expect(counted).toEqual({ n: succeeded, deliveries: succeeded });
  expect(await database.query('select count(*)::int as n from delivery_queue')).toEqual([{ n: 0 }]);
  expect(memoryOf(first.program) / atStart).toBeLessThan(3);
});
