import { once } from 'node:events';
import { connect } from 'node:net';
import { afterAll, expect, test } from 'vitest';
import { Posthorn, PosthornPortal, type StreamMessage } from '../../../client/src/posthorn.ts';
import { IdFactory } from '../../../src/domain/ids.ts';
import { startTestApp, subscribe } from '../../support/app.ts';
import { ApiClient, type Json } from '../../support/client.ts';
import { atLeast, containing, eventually, happened, some } from '../../support/eventually.ts';
import { Receiver } from '../../support/servers/receiver.ts';
import { shared } from '../../support/shared.ts';

/** The stream of a project: new rows at once, none skipped, an end with the right to see them. */
const app = await shared(startTestApp());
const receiver = await shared(Receiver.start());
const running = new AbortController();
afterAll(() => running.abort());

interface Followed {
  messages: StreamMessage[];
  ended: Promise<unknown>;
}

function follow(client: Posthorn | PosthornPortal, signal = running.signal): Followed {
  const messages: StreamMessage[] = [];
  const ended = (async () => {
    for await (const message of client.stream({ signal })) {
      messages.push(message);
      happened();
    }
  })().catch((error: unknown) => error);
  return { messages, ended };
}

const posthorn = (client: ApiClient, url = app.url) =>
  new Posthorn({ url, key: client.key, project: client.projectId });
const rows = ({ messages }: Followed, kind: string): Json[] =>
  messages.flatMap((message) => (message.kind === kind && 'data' in message ? [message.data] : []));
const send = (client: ApiClient, eventType = 'a') =>
  client.post('/events/broadcast', { event_type: eventType, data: {} });

/** A stream by hand: its status, what it has sent so far, and its end. */
async function raw(client: ApiClient, headers: Record<string, string> = {}) {
  const stop = new AbortController();
  const response = await fetch(`${client.base}/stream`, {
    headers: { authorization: `Bearer ${client.key}`, ...headers },
    signal: stop.signal,
  });
  const seen = { text: '' };
  const ended = (async () => {
    for await (const chunk of response.body ?? []) {
      seen.text += Buffer.from(chunk).toString();
      happened();
    }
  })().catch(() => {});
  const says = (part: string) => eventually(() => seen.text, containing(part));
  return { response, seen, says, ended, stop: () => stop.abort() };
}

test('new events and deliveries appear, and a delivery again when its state changes', async () => {
  const project = await app.newProject();
  const { endpoint } = await subscribe(project, receiver.url);
  const followed = follow(posthorn(project));
  const event = await send(project);
  await eventually(async () => rows(followed, 'event_delivery'), some({ status: 'Success' }));
  expect(rows(followed, 'event')[0]).toMatchObject({
    uid: event.uid,
    event_type: 'a',
    status: 'Success',
    endpoints: [endpoint.uid],
    created_at: event.created_at,
  });
  const last = rows(followed, 'event_delivery').at(-1);
  expect(last).toMatchObject({
    event_id: event.uid,
    endpoint_id: endpoint.uid,
    last_outcome: 'http_200',
    num_trials: 1,
  });
});

test('a row with an earlier id than the last one is not skipped', async () => {
  const project = await app.newProject();
  const first = await send(project);
  const followed = follow(posthorn(project));
  const isSeen = (uid: string) =>
    eventually(async () => rows(followed, 'event').map((row) => row.uid), containing(uid));
  // The first read of a stream and the next poll may show the same row. From here on there are polls only.
  await isSeen(first.uid);
  const later = await send(project);
  await isSeen(later.uid);
  // As if its commit had taken long: its id is of the same time and smaller.
  const earlier = `${later.uid.slice(0, 10)}0000000000000000`;
  await app.database.query(
    `insert into events (id, project_id, event_type, status, is_duplicate, endpoints, payload, acknowledged_at)
     values ($1, $2, 'late', 'Success', false, '{}', '{}', now())`,
    [earlier, project.projectId],
  );
  await isSeen(earlier);
  expect(rows(followed, 'event').filter((row) => row.uid === later.uid)).toHaveLength(1);
});

test('a reconnect goes back 10 s before the last id, and a long absence says that rows are missing', async () => {
  const project = await app.newProject();
  const event = await send(project);
  const resumed = await raw(project, { 'last-event-id': event.uid });
  await resumed.says(event.uid);
  expect(resumed.seen.text).not.toContain('event: reset');
  expect(resumed.seen.text).toMatch(new RegExp(`id: ${event.uid}\ndata: `));
  resumed.stop();
  const old = await raw(project, { 'last-event-id': '01ARZ3NDEKTSV4RRFFQ69G5FAV' });
  await old.says('event: reset');
  old.stop();
  const strange = await raw(project, { 'last-event-id': 'x\u00e9' });
  expect(strange.response.status).toBe(200);
  strange.stop();
});

test('a stream shows nothing of another project, and a portal its own endpoints only', async () => {
  const [project, other] = [await app.newProject(), await app.newProject()];
  const mine = await subscribe(project, receiver.url, {
    eventTypes: ['mine'],
    endpoint: { owner_id: 'acme' },
  });
  await subscribe(project, receiver.url, { eventTypes: ['theirs'], endpoint: { owner_id: 'other' } });
  const { token } = await project.post('/portal-links', { name: 'acme', owner_id: 'acme' });
  const portal = follow(new PosthornPortal({ url: app.url, token }));
  const whole = follow(posthorn(project));
  await send(other);
  await send(project, 'theirs');
  const event = await send(project, 'mine');
  await eventually(
    async () => [...rows(portal, 'event_delivery'), ...rows(whole, 'event_delivery')],
    (seen) => seen.filter((row) => row.event_id === event.uid && row.status === 'Success').length === 2,
  );
  expect(new Set(rows(portal, 'event').map((row) => row.event_type))).toEqual(new Set(['mine']));
  expect(new Set(rows(portal, 'event_delivery').map((row) => row.endpoint_id))).toEqual(
    new Set([mine.endpoint.uid]),
  );
  expect(new Set(rows(whole, 'event').map((row) => row.event_type))).toEqual(new Set(['mine', 'theirs']));
});

test('a stream ends when its key is revoked, and a key of another project opens none', async () => {
  const [project, other] = [await app.newProject(), await app.newProject()];
  const keys = await app.instance.get(`/projects/${project.projectId}/keys`);
  const followed = follow(posthorn(project));
  const open = await raw(project);
  await open.says(': posthorn');
  await app.instance.delete(`/projects/${project.projectId}/keys/${keys[0].uid}`);
  expect(await followed.ended).toMatchObject({ code: 'key_rejected' });
  await open.ended;
  expect(open.seen.text).toContain('event: end\n');
  const foreign = await fetch(`${other.base}/stream`, {
    headers: { authorization: `Bearer ${app.project.key}` },
  });
  expect(foreign.status).toBe(403);
  expect((await fetch(`${other.base}/stream`)).status).toBe(401);
  await new ApiClient(`${app.url}/portal-api`, 'no-token').get('/stream', 401);
});

test('a caller that does not read is cut off, and others go on', async () => {
  const project = await app.newProject();
  const followed = follow(posthorn(project));
  const { hostname, port, pathname } = new URL(`${project.base}/stream`);
  const socket = connect(Number(port), hostname);
  let bytes = 0;
  socket.on('error', () => {});
  const closed = new Promise((resolve) => socket.on('close', resolve));
  socket.write(`GET ${pathname} HTTP/1.1\r\nhost: a\r\nauthorization: Bearer ${project.key}\r\n\r\n`);
  await once(socket, 'readable');
  const ids = new IdFactory(Date.now);
  // 10 MB in each second, which is more than the sockets hold.
  for (let batch = 1; batch <= 3; batch++) {
    await app.database.query(
      `insert into events (id, project_id, event_type, status, is_duplicate, endpoints, payload, acknowledged_at)
       select id, $1, repeat('x', 20000), 'Success', false, '{}', '{}', now() from unnest($2::text[]) id`,
      [project.projectId, Array.from({ length: 500 }, () => ids.next())],
    );
    await eventually(async () => rows(followed, 'event').length, atLeast(batch * 500));
  }
  socket.on('data', (chunk: Buffer) => (bytes += chunk.length));
  await closed;
  expect(bytes).toBeLessThan(30_000_000);
  await send(project, 'after');
  await eventually(async () => rows(followed, 'event'), some({ event_type: 'after' }));
});

test('there are at most 50 streams of a project', async () => {
  const project = await app.newProject();
  const streams = await Promise.all(Array.from({ length: 50 }, () => raw(project)));
  expect(streams.map(({ response }) => response.status)).toEqual(Array(50).fill(200));
  const refused = await raw(project);
  expect(refused.response.status).toBe(429);
  expect(refused.response.headers.get('retry-after')).toBe('10');
  streams[0]?.stop();
  await eventually(async () => {
    const again = await raw(project);
    const { status } = again.response;
    again.stop();
    return status;
  }, 200);
  for (const { stop } of streams) stop();
});

test('a node that stops ends its streams', async () => {
  const node = await app.addNode();
  const project = await app.newProject();
  const open = await raw(
    Object.assign(Object.create(project) as ApiClient, { base: project.base.replace(app.url, node.url) }),
  );
  expect(open.response.status).toBe(200);
  await node.stop();
  await open.ended;
});
