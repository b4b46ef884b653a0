import { chmod } from 'node:fs/promises';
import { join } from 'node:path';
import pg from 'pg';
import { expect, onTestFinished, test } from 'vitest';
import { idTime } from '../../src/domain/ids.ts';
import { startEmbeddedPostgres } from '../../src/embedded-postgres/embedded-postgres.ts';
import { subscribe } from '../support/app.ts';
import type { ApiClient } from '../support/client.ts';
import { eventually } from '../support/eventually.ts';
import { clientOf, readCredentials } from '../support/program.ts';
import { quietLog } from '../support/quiet-log.ts';
import { temporaryFolder } from '../support/samples/temporary-folder.ts';
import { Receiver } from '../support/servers/receiver.ts';
import { serveOn } from '../support/servers/serve.ts';
import { needs } from '../support/suite/parts.ts';
import { SetClock } from './set-clock.ts';

/** The clock of a node, or of the database, is set forward and back while two nodes work. */
const LIMIT = 10;
const LIMIT_SECONDS = 2;
/** A busy machine reads two clocks so far apart. Two settings differ by more. */
const NEAR_SECONDS = 7;
/** The delay that the scheduler adds on a busy machine. */
const JITTER_MS = 1_000;
/** Requests at each endpoint between two settings of the clock. */
const PROGRESS = 12;

async function setScene() {
  const folder = temporaryFolder();
  // The server may run as another user.
  await chmod(folder, 0o755);
  const [ofNode, ofDatabase] = [new SetClock(join(folder, 'node')), new SetClock(join(folder, 'database'))];
  const server = await startEmbeddedPostgres({
    dataDir: join(folder, 'data'),
    log: quietLog,
    binaries: await ofDatabase.binaries(join(folder, 'postgres')),
  });
  onTestFinished(() => server.stop());
  const { host, port, user, database } = server.connection;
  const url = `postgres://${user}@localhost:${port}/${database}?host=${encodeURIComponent(host)}`;
  const clients: ApiClient[] = [];
  for (const own of [ofNode.env, {}]) {
    const program = serveOn(url, { POSTHORN_DATA_DIR: folder, ...own });
    clients.push(clientOf(await program.ready(), readCredentials(folder)));
  }
  const query = async (text: string) => {
    const client = new pg.Client(server.connection);
    await client.connect();
    const { rows } = await client.query(text);
    await client.end();
    return rows as Record<string, number | string>[];
  };
  return { ofNode, ofDatabase, clients, query };
}

/** An endpoint for each way of a delivery: at once, under a limit, and after a failure. */
async function subscribeAll(client: ApiClient): Promise<Receiver> {
  const receiver = await Receiver.start();
  onTestFinished(() => receiver.stop());
  const failed = new Set<string>();
  receiver.answerAlways(({ path, headers }, response) => {
    const id = String(headers['webhook-id']);
    const isFirst = path === '/retried' && !failed.has(id);
    failed.add(id);
    response.writeHead(isFirst ? 500 : 200).end();
  });
  const retry_config = { type: 'linear', interval_seconds: 1, retry_count: 5 };
  await subscribe(client, `${receiver.url}/plain`, { eventTypes: ['plain'] });
  await subscribe(client, `${receiver.url}/limited`, {
    eventTypes: ['limited'],
    endpoint: { rate_limit: LIMIT, rate_limit_duration: LIMIT_SECONDS },
  });
  await subscribe(client, `${receiver.url}/retried`, {
    eventTypes: ['retried'],
    subscription: { retry_config },
  });
  return receiver;
}

interface Accepted {
  uid: string;
  /** When the answer came, by the right clock. */
  at: number;
}

/** Sends events of each kind to each node until it is stopped. Returns those of each node in order. */
function startLoad(clients: readonly ApiClient[]) {
  const state = { isStopped: false };
  const send = async (client: ApiClient): Promise<Accepted[]> => {
    const accepted: Accepted[] = [];
    for (let n = 0; !state.isStopped; n++) {
      const body = { event_type: ['plain', 'limited', 'retried'][n % 3], data: { n } };
      const { uid } = await client.post('/events/broadcast', body);
      accepted.push({ uid, at: Date.now() });
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    return accepted;
  };
  const done = Promise.all(clients.map(send));
  const stop = async () => {
    state.isStopped = true;
    return done;
  };
  return { stop };
}

async function expectAllDelivered(
  query: (text: string) => Promise<Record<string, number | string>[]>,
  accepted: readonly Accepted[],
): Promise<void> {
  await eventually(() => query('select count(*)::int as open from delivery_queue'), [{ open: 0 }]);
  expect(await query('select status, count(*)::int as count from event_deliveries group by status')).toEqual([
    { status: 'Success', count: accepted.length },
  ]);
  const late = await query('select count(*)::int as count from event_deliveries where num_trials > 2');
  expect(late).toEqual([{ count: 0 }]);
}

/** No more requests arrived within a window of the limit. */
function expectLimited(receiver: Receiver, most: number): void {
  const times = receiver.at('/limited').map(({ at }) => at);
  const gaps = times.slice(most).map((at, n) => at - (times[n] as number));
  expect(Math.min(...gaps)).toBeGreaterThan(LIMIT_SECONDS * 1_000 - JITTER_MS);
}

/** Neither an event nor another row has a time in the future. */
async function expectDatedByDatabase(
  query: (text: string) => Promise<Record<string, number | string>[]>,
  accepted: readonly Accepted[],
): Promise<void> {
  expect(Math.max(...accepted.map(({ uid, at }) => idTime(uid) - at))).toBeLessThanOrEqual(1_000);
  for (const table of ['events', 'event_deliveries', 'attempts', 'audit_entries']) {
    const [row] = await query(`select max(id) as id from ${table}`);
    expect([table, idTime(String(row?.['id'])) <= Date.now()]).toEqual([table, true]);
  }
  const later = 'select count(*)::int as count from attempts where requested_at > clock_timestamp()';
  expect(await query(later)).toEqual([{ count: 0 }]);
}

/** How far the clock of the node and that of the database are ahead of ours, in seconds. */
async function aheadOf(
  whose: 'node' | 'database',
  { clients, query }: Pick<Awaited<ReturnType<typeof setScene>>, 'clients' | 'query'>,
): Promise<number> {
  if (whose === 'node') {
    const { headers } = await (clients[0] as ApiClient).raw('GET', '/events');
    return (Date.parse(headers.get('date') ?? '') - Date.now()) / 1000;
  }
  const [row] = await query('select extract(epoch from clock_timestamp())::float8 as at');
  return Number(row?.['at']) - Date.now() / 1000;
}

async function progress(receiver: Receiver): Promise<void> {
  for (const path of ['/plain', '/limited', '/retried'])
    await receiver.received(receiver.at(path).length + PROGRESS, path);
}

test.each([
  ['node', [3_600, 0, -3_600, 2_592_000, 0]],
  ['database', [3_600, 3_615, 3_600]],
] as const)(
  'the clock of the %s is set forward and back: all is delivered, each failure is tried once more, limits hold or are doubled once, and ids never fall',
  needs('faketime'),
  async (whose, settings) => {
    const scene = await setScene();
    const { ofNode, ofDatabase, clients, query } = scene;
    const receiver = await subscribeAll(clients[0] as ApiClient);
    const load = startLoad(clients);
    await progress(receiver);
    for (const seconds of settings) {
      (whose === 'node' ? ofNode : ofDatabase).set(seconds);
      await eventually(
        () => aheadOf(whose, scene),
        (ahead) => Math.abs(ahead - seconds) < NEAR_SECONDS,
      );
      await progress(receiver);
    }
    const ofNodes = await load.stop();
    const accepted = ofNodes.flat();
    await expectAllDelivered(query, accepted);
    for (const uids of ofNodes.map((own) => own.map(({ uid }) => uid))) expect(uids.toSorted()).toEqual(uids);
    if (whose === 'node') await expectDatedByDatabase(query, accepted);
    // Nodes hand limits over by the clock of the database. When it is set, a window may end early, and the next begins.
    expectLimited(receiver, whose === 'node' ? LIMIT : 2 * LIMIT);
  },
);
