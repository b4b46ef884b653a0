import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import type { App } from '../../src/start/app.ts';
import { startNode, subscribe } from '../support/app.ts';
import { ApiClient, type Json } from '../support/client.ts';
import { eventually } from '../support/eventually.ts';
import { Load } from '../support/load.ts';
import { linesOf } from '../support/log-lines.ts';
import { temporaryFolder } from '../support/samples/temporary-folder.ts';
import { Receiver } from '../support/servers/receiver.ts';
import { StandbyPair } from './standby-pair.ts';

/** Events before the fault, and after the move. */
const BEFORE = 100;
const AFTER = 100;
const SENDERS = 8;

interface Scene {
  pair: StandbyPair;
  node: App;
  client: ApiClient;
  receiver: Receiver;
  lines(): Json[];
  addNode(): Promise<App>;
}

async function startScene(): Promise<Scene> {
  const pair = await StandbyPair.start();
  onTestFinished(() => pair.stop());
  const dataDir = temporaryFolder();
  const receiver = await Receiver.start();
  onTestFinished(() => receiver.stop());
  const { log, lines } = linesOf('info');
  const env = { DATABASE_URL: pair.url, POSTHORN_DATA_DIR: dataDir, POSTHORN_GRACE: '2' };
  const addNode = async () => {
    const node = await startNode(env, log);
    onTestFinished(() => node.stop());
    return node;
  };
  const node = await addNode();
  const { project_id, api_key } = JSON.parse(
    await readFile(join(dataDir, 'credentials.json'), 'utf8'),
  ) as Json;
  const client = new ApiClient(`${node.url}/api/v1/projects/${project_id}`, api_key);
  await subscribe(client, receiver.url, {
    subscription: { retry_config: { type: 'linear', duration: '1s', retry_count: 5 } },
  });
  return { pair, node, client, receiver, lines, addNode };
}

const storedAt = async (server: StandbyPair['primary']) =>
  (await server.query<{ id: string }>('select id from events')).map(({ id }) => id);

/** Events are sent until the fault, through it, and after the promotion. Returns the ids that were accepted. */
async function loadThrough(
  { pair, client }: Scene,
  name: string,
  fault: () => Promise<void> | void,
): Promise<Set<string>> {
  const load = new Load([client], Number.POSITIVE_INFINITY, SENDERS);
  await load.reached(BEFORE);
  const faultAt = performance.now();
  await fault();
  const before = load.accepted.size;
  await pair.promote();
  const promotedAt = performance.now();
  await load.reached(before + SENDERS + 1);
  const now = performance.now();
  console.log(
    `${name}: accepted again ${Math.round(now - promotedAt)} ms after the promotion, ${Math.round(now - faultAt)} ms after the fault`,
  );
  await load.reached(before + AFTER);
  await load.stop();
  return load.accepted;
}

async function expectNothingLost({ pair, receiver }: Scene, accepted: Set<string>): Promise<void> {
  const stored = new Set(await storedAt(pair.standby));
  expect([...accepted].filter((id) => !stored.has(id))).toEqual([]);
  await eventually(() => pair.standby.query('select delivery_id from delivery_queue'), { length: 0 });
  const states = await pair.standby.query('select status, count(*)::int from event_deliveries group by 1');
  expect(states).toEqual([{ status: 'Success', count: stored.size }]);
  expect(new Set(receiver.requests.map(({ headers }) => headers['webhook-id'])).size).toBe(stored.size);
}

/** The old primary takes writes again and is the first of the hosts. No node uses it. */
async function expectOldUnused({ pair, lines, addNode }: Scene): Promise<void> {
  await eventually(
    () => lines(),
    (all) => all.some(({ msg }) => /an old primary of the database takes writes/.test(msg as string)),
  );
  const [state] = await pair.primary.query('select pg_is_in_recovery() as is_standby');
  expect(state).toEqual({ is_standby: false });
  const old = await storedAt(pair.primary);
  const later = await addNode();
  const server = 'select (pg_walfile_name(pg_current_wal_lsn()) like $1) as is_new';
  expect(await later.db.query(server, ['00000002%'])).toEqual([{ is_new: true }]);
  // Nodes look at it, and have no other connection to it. Commits that were cut off wait for the standby, unanswered.
  await eventually(
    () =>
      pair.primary.query<{ query: string }>(
        `select query from pg_stat_activity where backend_type = 'client backend' and pid <> pg_backend_pid()
           and wait_event is distinct from 'SyncRep'`,
      ),
    (open) => open.every(({ query }) => query.includes('pg_control_system')),
  );
  expect(await storedAt(pair.primary)).toEqual(old);
}

test('the primary is killed: the node moves to the promoted standby, and nothing accepted is lost', async () => {
  const scene = await startScene();
  const accepted = await loadThrough(scene, 'killed', () => scene.pair.primary.kill());
  await expectNothingLost(scene, accepted);
  const moved = scene.lines().filter(({ msg }) => msg === 'the database has moved to another server');
  expect(moved).toMatchObject([{ timeline: 2 }]);
});

test('the primary freezes and comes back: its connections are cut, and nothing accepted is lost', async () => {
  const scene = await startScene();
  const accepted = await loadThrough(scene, 'frozen', () => scene.pair.primary.freeze());
  scene.pair.primary.thaw();
  await expectOldUnused(scene);
  await expectNothingLost(scene, accepted);
});

test('the primary is cut off and comes back: nothing accepted is lost, and no write goes to it', async () => {
  const scene = await startScene();
  const accepted = await loadThrough(scene, 'cut off', () => scene.pair.relay.freeze());
  scene.pair.relay.thaw();
  await expectOldUnused(scene);
  await expectNothingLost(scene, accepted);
});
