import { globSync } from 'node:fs';
import { basename } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import type { App } from '../../src/start/app.ts';
import { migrate } from '../../src/store/upkeep/migrate.ts';
import { resultOf } from '../pull/consumer.ts';
import { subscribe } from '../support/app.ts';
import { ApiClient, type Json } from '../support/client.ts';
import { EventStream, expectArrived } from '../support/event-stream.ts';
import { eventually } from '../support/eventually.ts';
import { clientOf } from '../support/program.ts';
import { quietLog } from '../support/quiet-log.ts';
import { EXPAND, newerMigrations } from '../support/samples/made-up-migrations.ts';
import { Receiver } from '../support/servers/receiver.ts';
import { PASSWORD, signIn } from '../support/session-client.ts';
import { BINARY, EMAIL, EVENT_KEY, OWNER, SOURCE_USER, UNICODE } from './life.ts';
import { OldDatabase } from './old-database.ts';
import { recordRelease } from './record.ts';

/**
 * The database of each release is restored and used by this version. Its nodes have no role janitor, because the rows of
 * an old release are past any retention. The first start applies the migrations that are newer than the release, as any
 * start does: the nodes of this version cannot work before them. A made-up one follows under load.
 */
const SENDING = 'api,ingest,deliver';
const ENDED = new Set(['Success', 'Failure', 'Discarded']);
const RELEASES = globSync('*.backup.gz', { cwd: import.meta.dirname }).map((file) =>
  basename(file, '.backup.gz'),
);

test.each(RELEASES)(
  'a database of %s reads as it did, and works on while it is migrated',
  async (version) => {
    const receiver = await Receiver.start();
    onTestFinished(() => receiver.stop());
    const old = await OldDatabase.restore(version);
    const looking = await old.start('api');
    await expectAnswers(old, looking);
    await expectCredentials(old, looking);
    await redirect(old, looking, receiver.url);
    await looking.stop();

    const nodes = [await old.start(SENDING), await old.start(SENDING)] as const;
    const clients = nodes.map(({ url }) => clientOf(url, old.credentials));
    const [client] = clients as [ApiClient];
    await subscribe(client, `${receiver.url}/numbered`, { eventTypes: ['numbered'] });
    let turn = 0;
    const events = new EventStream({
      post: (path, body) => (clients[(turn += 1) % 2] as ApiClient).post(path, body),
    });
    await events.more(20);
    const directory = newerMigrations({ '9998_expand.sql': EXPAND });
    expect(await migrate(nodes[0].db, quietLog, directory)).toEqual(['9998_expand.sql']);
    await events.more(20);
    await expectTaken(old, nodes[0]);
    await letGo(old, nodes[1]);
    await expectArrived(() => receiver.at('/numbered'), await events.stop());
    await expectSentOn(old, nodes[0]);
    expect(receiver.at('/paused').map(({ json }) => json)).toContainEqual(UNICODE);
    expect(receiver.at('/retrying')).toHaveLength(6);
    expect(receiver.at('/orders')).toEqual([]);
    await expectKept(old, nodes[1]);
  },
);

/** Everything is as the release showed it. Fields that are newer than the release may be there too. */
async function expectAnswers(old: OldDatabase, node: App): Promise<void> {
  const reader = old.reader(node);
  for (const path of Object.keys(old.answers)) await reader.read(path);
  expect(reader.answers).toMatchObject(old.answers);
  const [incoming] = old.all('events').filter(({ item }) => item.source_id !== '');
  expect(Buffer.from(incoming?.item.data, 'base64')).toEqual(BINARY);
}

/** The key of the project, the token of the portal link and the password of the person still open. */
async function expectCredentials(old: OldDatabase, node: App): Promise<void> {
  expect((await clientOf(node.url, old.credentials).get('')).uid).toBe(old.credentials.project_id);
  const [link] = old.all('portal-links');
  const holder = new ApiClient(`${node.url}/portal-api`, link?.item.token);
  const { content } = await holder.get('/endpoints');
  expect(content.map(({ owner_id }: Json) => owner_id)).toEqual([OWNER, OWNER]);
  expect((await signIn(node.url, { email: EMAIL, password: PASSWORD })).status).toBe(200);
}

/** An idempotency key of the release still holds, and its source takes webhooks with the same credentials. */
async function expectTaken(old: OldDatabase, node: App): Promise<void> {
  const [first] = old
    .all('events')
    .filter(({ item }) => item.idempotency_key === EVENT_KEY && !item.is_duplicate_event);
  const again = { event_type: 'shaped', data: {}, idempotency_key: EVENT_KEY };
  const { duplicate_of } = await clientOf(node.url, old.credentials).post('/events/broadcast', again);
  expect(duplicate_of).toBe(first?.item.uid);
  const [source] = old.all('sources').filter(({ item }) => item.type === 'http');
  const url = `${node.url}${new URL(source?.item.url).pathname}`;
  const headers = { authorization: SOURCE_USER, 'content-type': 'application/json' };
  expect((await fetch(url, { method: 'POST', body: '{"number":1}', headers })).status).toBe(200);
  expect((await fetch(url, { method: 'POST', body: '{}' })).status).not.toBe(200);
}

/** The receiver of the release is gone, and another program may have its port. */
async function redirect(old: OldDatabase, node: App, url: string): Promise<void> {
  const instance = old.instance(node);
  for (const { project, item } of old.all('endpoints'))
    if (item.url !== '')
      await instance.put(`${project}/endpoints/${item.uid}`, { url: `${url}${new URL(item.url).pathname}` });
  await instance.put(`/projects/${old.credentials.project_id}`, {
    config: { meta_event: { url: `${url}/meta` } },
  });
}

/** Resumes the paused endpoint, and is the consumer of the other. */
async function letGo(old: OldDatabase, node: App): Promise<void> {
  const instance = old.instance(node);
  for (const { project, item } of old.all('endpoints')) {
    const path = `${project}/endpoints/${item.uid}`;
    if (item.status === 'paused') await instance.put(`${path}/pause`);
    if (item.delivery !== 'pull') continue;
    const { deliveries } = await instance.post(`${path}/pull`, { max: 100, wait_seconds: 30 }, 200);
    await instance.post(
      `${path}/pull/results`,
      { results: deliveries.map((each: Json) => resultOf(each)) },
      200,
    );
  }
}

/** Each delivery that was open has arrived. One of the pull endpoint may still wait: for its consumer or for its next try. */
async function expectSentOn(old: OldDatabase, node: App): Promise<void> {
  const instance = old.instance(node);
  const pulled = old.all('endpoints').flatMap(({ item }) => (item.delivery === 'pull' ? [item.uid] : []));
  for (const { project, item } of old.all('eventdeliveries')) {
    if (ENDED.has(item.status)) continue;
    await eventually(
      () => instance.get(`${project}/eventdeliveries/${item.uid}`),
      ({ status, waiting_for }) =>
        status === 'Success' || (waiting_for !== null && pulled.includes(item.endpoint_id)),
    );
  }
}

/** Events, deliveries that had ended, and attempts are the same after all of this. */
async function expectKept(old: OldDatabase, node: App): Promise<void> {
  const reader = old.reader(node);
  const read = async (path: string): Promise<Json> => {
    await reader.read(path);
    return reader.answers[path];
  };
  for (const { project, item } of old.all('events'))
    expect(await read(`${project}/events/${item.uid}`)).toMatchObject(item);
  for (const { project, item } of old.all('eventdeliveries')) {
    const path = `${project}/eventdeliveries/${item.uid}`;
    const were: Json[] = old.answers[`${path}/deliveryattempts`];
    const are: Json[] = await read(`${path}/deliveryattempts`);
    expect(are.filter(({ uid }) => were.some((attempt) => attempt.uid === uid))).toMatchObject(were);
    if (!ENDED.has(item.status)) continue;
    expect(are).toHaveLength(were.length);
    // The URL of its endpoint is another one now.
    const { endpoint_metadata: _, target_url: __, ...rest } = item;
    expect(await read(path)).toMatchObject(rest);
  }
}

if (process.env['RECORD_RELEASE'] === '1') test('the database of this version is kept', recordRelease);
