import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { KeptApp } from '../../src/start/kept-app.ts';
import { SECRET_KEY, startNode, subscribe } from '../support/app.ts';
import { ApiClient, type Json } from '../support/client.ts';
import { runPosthorn } from '../support/command.ts';
import { atLeast, eventually, some } from '../support/eventually.ts';
import { linesOf } from '../support/log-lines.ts';
import { freePort } from '../support/program.ts';
import { temporaryFolder } from '../support/samples/temporary-folder.ts';
import { Receiver } from '../support/servers/receiver.ts';
import { StandbyPair } from './standby-pair.ts';

/** A primary that was replaced and comes back as the only one, in the order of the tests. */
const WAIT_SECONDS = 1;
const ALONE = /^the only primary of the database is older than one seen/;
const ACCEPTED = /^an old primary of the database was accepted/;

let pair: StandbyPair;
const dataDir = temporaryFolder(afterAll);
let receiver: Receiver;
let url: string;
let env: Record<string, string>;
let client: ApiClient;
let instance: ApiClient;
const { log, lines } = linesOf('info');

beforeAll(async () => {
  // The old primary goes on alone: only the nodes can keep their writes from it.
  pair = await StandbyPair.start({ isSynchronous: false });
  receiver = await Receiver.start();
  const port = String(await freePort());
  env = {
    DATABASE_URL: pair.url,
    POSTHORN_DATA_DIR: dataDir,
    POSTHORN_SECRET_KEY: SECRET_KEY,
    POSTHORN_PORT: port,
    POSTHORN_TIMELINE_WAIT: String(WAIT_SECONDS),
  };
  const app = await KeptApp.start(() => startNode(env, log), log);
  ({ url } = app);
  const credentials = JSON.parse(await readFile(join(dataDir, 'credentials.json'), 'utf8')) as Json;
  client = new ApiClient(`${url}/api/v1/projects/${credentials.project_id}`, credentials.api_key);
  instance = new ApiClient(`${url}/api/v1`, credentials.instance_key);
  await subscribe(client, receiver.url, { eventTypes: ['kept'] });
  return async () => {
    await app.stop();
    await receiver.stop();
    await pair.stop();
  };
});

const logged = (message: RegExp) => lines().filter(({ msg }) => message.test(msg as string));
const ready = async () => (await fetch(`${url}/readyz`).catch(() => null))?.status;
const isReady = () => eventually(ready, 200);
const accept = (settings: Record<string, string> = {}, ...args: string[]) =>
  runPosthorn(['nodes', 'accept-primary', ...args], { env: { ...env, ...settings } });
const send = (type: string) => client.post('/events/broadcast', { event_type: type, data: {} });
const deliveriesOf = async (eventId: string) =>
  (await client.get(`/eventdeliveries?eventId=${eventId}`)).content as Json[];
const storedAt = async (server: StandbyPair['primary']) =>
  (await server.query<{ id: string }>('select id from events order by id')).map(({ id }) => id);
const acceptedAt = async () =>
  Number(
    /^posthorn_old_primary_accepted_timestamp_seconds (\S+)$/m.exec(
      await (await fetch(`${url}/metrics`)).text(),
    )?.[1],
  );

/** The standby takes over. An event and a subscription of this time are only there. */
async function failOver(): Promise<void> {
  const moves = logged(/^the database has moved to another server$/).length;
  pair.relay.cut();
  await pair.promote();
  await eventually(() => logged(/^the database has moved to another server$/).length, atLeast(moves + 1));
  await isReady();
  await subscribe(client, receiver.url, { eventTypes: ['lost'] });
  const count = receiver.requests.length;
  await send('lost');
  await eventually(() => receiver.requests.length, atLeast(count + 1));
}

/** The node goes on with what the old primary has, and with nothing that it knew besides. */
async function expectBegun(entries: number): Promise<void> {
  await eventually(() => logged(ACCEPTED).length, entries);
  await isReady();
  expect(logged(ACCEPTED).at(-1)).toMatchObject({
    level: 50,
    before: { timeline: 2, lsn: expect.stringMatching(/^[0-9A-F]+\/[0-9A-F]+$/) },
    after: { timeline: 1 },
  });
  const { content } = await eventually(
    () => instance.get('/audit?action=primary.accepted&actorType=instance'),
    { content: { length: entries } },
  );
  expect(content[0]).toMatchObject({ before: { timeline: 2 }, after: { timeline: 1 } });
  const [sent, unmatched] = await Promise.all([send('kept'), send('lost')]);
  await eventually(() => deliveriesOf(sent.uid), [{ status: 'Success' }]);
  expect(await deliveriesOf(unmatched.uid)).toEqual([]);
  expect((await client.get('/subscriptions')).content).toHaveLength(1);
  expect(await storedAt(pair.primary)).toContain(unmatched.uid);
  expect(await acceptedAt()).toBeGreaterThan(Date.now() / 1000 - 600);
}

test('accept-primary refuses a primary in use, a standby, a database without looks and an unknown cell', async () => {
  const both = await accept();
  expect([both.code, both.stderr]).toEqual([
    1,
    expect.stringMatching(
      /^posthorn: 1 nodes use the primary at 127\.0\.0\.1:\d+: there is nothing to accept/,
    ),
  ]);
  const standby = await accept({ DATABASE_URL: `${pair.standby.url}&target_session_attrs=read-write` });
  expect([standby.code, standby.stderr]).toEqual([1, expect.stringMatching(/is a standby/)]);
  const one = await accept({ DATABASE_URL: pair.standby.url });
  expect([one.code, one.stderr]).toEqual([1, expect.stringMatching(/there is nothing to accept/)]);
  const cell = await accept({}, '--cell', '2');
  expect([cell.code, cell.stderr]).toEqual([1, expect.stringMatching(/there are no cells/)]);
  expect(await acceptedAt()).toBe(0);
});

// proves Instance: POSTHORN_TIMELINE_WAIT
test('while the newer primary is only cut off the nodes wait, and accept-primary makes them go on', async () => {
  await failOver();
  onTestFinished(() => pair.standby.thaw());
  pair.standby.freeze();
  pair.relay.mend();
  await eventually(() => logged(ALONE).length, 1);
  await pause(WAIT_SECONDS * 3_000);
  expect([await ready(), logged(ACCEPTED), await storedAt(pair.primary)]).toEqual([503, [], []]);
  expect(logged(ALONE)).toMatchObject([{ timeline: 1, newest: 2 }]);

  await pair.primary.query("update nodes set beat_at = beat_at - interval '1 minute'");
  const accepted = await accept();
  expect([accepted.code, accepted.stdout, accepted.stderr]).toEqual([
    0,
    expect.stringMatching(/^Accepted 127\.0\.0\.1:\d+ \(timeline 1\)\./),
    '',
  ]);
  await expectBegun(1);
  const { content } = await instance.get('/audit?action=primary.accepted&actorType=cli');
  expect(content).toMatchObject([{ before: null, after: { timeline: 1 } }]);

  // The newer one comes back as a primary, which is not used again.
  pair.standby.thaw();
  const before = await storedAt(pair.standby);
  await eventually(() => logged(/^an old primary of the database takes writes/), some({ timeline: 2 }));
  await send('kept');
  expect(await storedAt(pair.standby)).toEqual(before);
});

test('an old primary that every server follows is used after the wait, by the nodes themselves', async () => {
  await pair.comeBack();
  await isReady();
  await failOver();
  await pair.standby.stop();
  pair.relay.mend();
  expect(await pair.primary.query('select pg_is_in_recovery() as is_standby')).toEqual([
    { is_standby: false },
  ]);
  await pair.comeBack();
  await expectBegun(2);
});
