import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { cp } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { subscribe } from '../support/app.ts';
import { ApiClient } from '../support/client.ts';
import { EventStream } from '../support/event-stream.ts';
import { atLeast, eventually } from '../support/eventually.ts';
import { clientOf, Program, readCredentials } from '../support/program.ts';
import { temporaryFolder } from '../support/samples/temporary-folder.ts';
import { Receiver } from '../support/servers/receiver.ts';
import { serve } from '../support/servers/serve.ts';
import {
  cookieOf,
  PASSWORD,
  SessionClient,
  setUpSecondFactor,
  signIn,
  tokenOf,
  use,
} from '../support/session-client.ts';
import { linesOf, refusal, run, tablesOf } from './command.ts';

/** Backups of the embedded database under a node at work. */
const SECRET = 'an endpoint secret nobody else may read';
const PAYLOAD = { text: 'tab\t, line\n, \\. and \u0000 and 💌', number: 1.5 };

const folder = temporaryFolder(afterAll);
let dataDir: string;
let node: Program;
let client: ApiClient;
let receiver: Receiver;
let pausedEndpoint: string;
let file: string;
let fileWithKeys: string;
/** The cookie of a session that began before the backup. */
let cookie: string;
/** Numbers of the events that had been answered before the backup began, and of all in the end. */
let before: number;
let accepted: number;

beforeAll(async () => {
  dataDir = join(folder, 'data');
  node = new Program({ args: ['serve'], env: { POSTHORN_PORT: '0', POSTHORN_DATA_DIR: dataDir } });
  const url = await node.ready();
  client = clientOf(url, readCredentials(dataDir));
  receiver = await Receiver.start();
  await subscribe(client, receiver.url, { endpoint: { secret: SECRET } });
  const { endpoint } = await subscribe(client, `${receiver.url}/held`, { eventTypes: ['held'] });
  await client.put(`/endpoints/${endpoint.uid}/pause`);
  pausedEndpoint = endpoint.uid;
  await client.post('/events/broadcast', { event_type: 'held', data: PAYLOAD });
  const kafka = { brokers: ['127.0.0.1:1'], topic_name: 't' };
  const pub_sub = { type: 'kafka', workers: 1, kafka };
  await client.post('/sources', { name: 'orders', type: 'pub_sub', is_disabled: true, pub_sub });

  const instance = new ApiClient(url, readCredentials(dataDir).instance_key);
  const { link } = await instance.post('/api/v1/people', { email: 'ann@example.com' });
  const used = await use(url, { token: tokenOf(link), password: PASSWORD });
  cookie = cookieOf(used);
  await setUpSecondFactor(new SessionClient(url, cookie));
  const signedIn = await instance.post('/api/v1/sign-in-links', { email: 'ann@example.com' });
  expect(signedIn.link).toContain('#link=');

  const events = new EventStream(client);
  await receiver.received(50);
  before = events.accepted;
  file = join(folder, 'first.backup.gz');
  await runToEnd(['backup', file]);
  await receiver.received(before + 50);
  accepted = await events.stop();

  fileWithKeys = join(folder, 'with-keys.backup.gz');
  await runToEnd(['backup', fileWithKeys, '--with-keys']);
  // A first start and two commands, each a process of its own.
});

afterAll(async () => {
  await node.end();
  await receiver.stop();
});

async function runToEnd(args: string[]): Promise<void> {
  const command = new Program({ args, env: { POSTHORN_DATA_DIR: dataDir } });
  expect((await command.ended).code, command.stderr).toBe(0);
}

/** A restored data directory. */
async function restored(backup: string, options: { withKey: boolean }): Promise<string> {
  const target = join(temporaryFolder(), 'data');
  if (options.withKey) {
    mkdirSync(target);
    for (const name of ['secret.key', 'credentials.json']) await cp(join(dataDir, name), join(target, name));
  }
  const said = await run(['restore', backup], { POSTHORN_DATA_DIR: target });
  expect(said).toMatch(/^Restored \d+ rows, as they were at \d{4}-.*Z\. Open deliveries are sent/);
  expect(said).toMatch(/may have acknowledged messages .*:\n  orders \(/);
  return target;
}

const numbersIn = (events: string[]): number[] =>
  events
    .map((row) => row.split('\t'))
    .filter(([, , type]) => type === 'numbered')
    .map((columns) => columns.find((column) => column.startsWith('\\\\x7b226e756d626572')) ?? '')
    .map((hex) => (JSON.parse(Buffer.from(hex.slice(3), 'hex').toString()) as { number: number }).number)
    .toSorted((a, b) => a - b);

describe('a backup written while events arrive', () => {
  test('contains every event answered before it began, without a gap', () => {
    const numbers = numbersIn(tablesOf(file)['events'] ?? []);
    expect(numbers.length).toBeGreaterThanOrEqual(before);
    expect(numbers.length).toBeLessThanOrEqual(accepted);
    expect(numbers).toEqual(Array.from(numbers, (_, i) => i));
  });

  test('is of one moment: a delivery for each event, a queue row for each open delivery and no other', () => {
    const tables = tablesOf(file);
    const ids = (rows: string[] = []) => new Set(rows.map((row) => row.split('\t')[0]));
    const deliveries = (tables['event_deliveries'] ?? []).map((row) => {
      const columns = row.split('\t');
      return { id: columns[9], event: columns[11], status: columns[14] ?? '' };
    });
    expect(new Set(deliveries.map(({ event }) => event))).toEqual(ids(tables['events']));
    const open = deliveries.filter(({ status }) => ['Scheduled', 'Retry'].includes(status));
    expect(ids(tables['delivery_queue'])).toEqual(new Set(open.map(({ id }) => id)));
    expect(open.length).toBeGreaterThan(0);
  });

  test('is readable by its owner only and leaves no other file behind', () => {
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(readdirSync(folder).toSorted()).toEqual(['data', 'first.backup.gz', 'with-keys.backup.gz']);
  });

  test('contains no secret in clear, and the keys only on request', () => {
    const secretKey = readFileSync(join(dataDir, 'secret.key'), 'utf8');
    const { api_key, instance_key } = readCredentials(dataDir);
    const [without, withKeys] = [linesOf(file).join('\n'), linesOf(fileWithKeys).join('\n')];
    expect(without).toContain('"key_fingerprint":"');
    for (const secret of [secretKey, api_key, instance_key]) {
      expect(without).not.toContain(secret);
      expect(withKeys).toContain(secret);
    }
    for (const text of [without, withKeys]) expect(text).not.toContain(SECRET);
  });

  test('into a directory gets a timestamped name, and names the key that a restore needs', async () => {
    const directory = temporaryFolder();
    const said = await run(['backup', directory], { POSTHORN_DATA_DIR: dataDir });
    const [name = '', ...others] = readdirSync(directory);
    expect([name, others]).toEqual([expect.stringMatching(/^posthorn-\d{8}T\d{6}Z\.backup\.gz$/), []]);
    expect(said).toContain(`Wrote ${join(directory, name)} (`);
    expect(said).toContain(
      `The file does not contain the secret key. A restore also needs secret.key in ${dataDir}`,
    );
  });
});

// A restore makes a whole cluster, which takes a while on a busy machine.
describe('a restore', { timeout: 120_000 }, () => {
  test('restores every row of every table, as a backup of the stopped database shows', async () => {
    const target = await restored(file, { withKey: true });
    const again = join(temporaryFolder(), 'again.gz');
    await run(['backup', again], { POSTHORN_DATA_DIR: target });
    const [were, are] = [tablesOf(file), tablesOf(again)];
    expect(Object.keys(were).length).toBeGreaterThan(20);
    // A session or a link may have ended since.
    expect([were['sessions']?.length, were['sign_in_links']?.length]).toEqual([1, 1]);
    expect(are).toEqual({ ...were, sessions: [], sign_in_links: [] });
    const header = (path: string) => JSON.parse(linesOf(path)[0] ?? '') as Record<string, unknown>;
    const { created_at: _, ...rest } = header(file);
    expect(header(again)).toMatchObject(rest);
    // Started for the backup, and stopped again.
    expect(readdirSync(join(target, 'postgres'))).not.toContain('postmaster.pid');
  });

  test('creates only the database and the keys, and a start then sends open deliveries', async () => {
    const target = await restored(fileWithKeys, { withKey: false });
    const names = readdirSync(target).filter((name) => !name.startsWith('lock'));
    expect(names.toSorted()).toEqual(['credentials.json', 'postgres', 'secret.key']);
    for (const name of ['credentials.json', 'secret.key']) {
      expect(readFileSync(join(target, name))).toEqual(readFileSync(join(dataDir, name)));
      expect(statSync(join(target, name)).mode & 0o777).toBe(0o600);
    }

    const url = await serve({ POSTHORN_DATA_DIR: target }).ready();
    const api = clientOf(url, readCredentials(dataDir));
    // The session is over. The account has its password and its second factor.
    expect((await new SessionClient(`${url}/auth`, cookie).raw('GET', '/me')).status).toBe(401);
    const asked = await signIn(url, { email: 'ann@example.com', password: PASSWORD });
    expect(((await asked.json()) as { code: string }).code).toBe('code_required');
    const { content } = await api.get('/endpoints');
    const secrets = content.flatMap((endpoint: { secrets: { value: string }[] }) => endpoint.secrets);
    expect(secrets.map(({ value }: { value: string }) => value)).toContain(SECRET);
    await api.put(`/endpoints/${pausedEndpoint}/pause`);
    const held = await eventually(async () => receiver.requests.filter(({ path }) => path === '/held'), {
      length: atLeast(1),
    });
    expect(held.map(({ json }) => json)).toEqual([PAYLOAD]);
  });
});

test('a backup never replaces a file', async () => {
  const taken = join(temporaryFolder(), 'taken');
  writeFileSync(taken, 'mine');
  expect(await refusal(['backup', taken], { POSTHORN_DATA_DIR: dataDir })).toBe(
    `${taken} already exists; name another file`,
  );
  expect(readFileSync(taken, 'utf8')).toBe('mine');
});
