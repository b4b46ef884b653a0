import { createHmac, randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { LANE } from '../../src/domain/delivery.ts';
import { startTestApp } from '../support/app.ts';
import { ApiClient, type Json } from '../support/client.ts';
import { refuseWrites } from '../support/database.ts';
import { atLeast, eventually } from '../support/eventually.ts';
import { shared } from '../support/shared.ts';
import { Listener } from './listener.ts';
import { storeDeliveries } from './store-deliveries.ts';

const app = await shared(startTestApp());
const { project } = app;
const other = await app.addNode();
const otherBase = project.base.replace(app.url, other.url);

const newType = () => `listen.${randomUUID()}`;
const send = (eventType: string, data: object = {}): Promise<Json> =>
  project.post('/events/broadcast', { event_type: eventType, data });
const ended = (uid: string, status: string): Promise<Json> =>
  eventually(() => project.get(`/eventdeliveries/${uid}`), { status });

// differs Requests and answers: Devices listen with messages of Posthorn's own. Convoy serves no device any
//   more.
test('a device gets signed deliveries, and the local answer is an attempt', async () => {
  const type = newType();
  const listener = await Listener.start(project, { event_types: [type], host_name: 'first' });
  const ready = listener.of('ready')[0];
  expect(ready.device).toMatchObject({ host_name: 'first', status: 'online', endpoint_id: '' });
  await send(type, { n: 1 });
  const delivery = await listener.first('delivery');
  const body = Buffer.from(delivery.body, 'base64').toString();
  expect(JSON.parse(body)).toEqual({ n: 1 });
  const at = delivery.headers['webhook-timestamp'];
  const key = Buffer.from(ready.standard_webhooks_secret.replace('whsec_', ''), 'base64');
  const signed = createHmac('sha256', key).update(`${delivery.uid}.${at}.${body}`).digest('base64');
  expect(delivery.headers['webhook-signature'].split(' ')).toContain(`v1,${signed}`);
  listener.answer(delivery);
  expect(await listener.first('recorded')).toMatchObject({ uid: delivery.uid, state: 'recorded' });
  expect(await ended(delivery.uid, 'Success')).toMatchObject({
    endpoint_id: '',
    device_id: ready.device.uid,
    device_metadata: { host_name: 'first' },
    cli_metadata: { event_type: type, source_id: '' },
    endpoint_metadata: null,
    last_outcome: 'http_200',
  });
  const [attempt] = await project.get(`/eventdeliveries/${delivery.uid}/deliveryattempts`);
  expect(attempt).toMatchObject({
    url: 'http://localhost:3000/hooks',
    http_status: '200',
    response_data: 'local',
    response_http_header: { 'content-type': 'text/plain' },
  });
  const subscription = await project.get(`/subscriptions/${ready.subscription_id}`);
  expect(subscription).toMatchObject({
    type: 'cli',
    status: 'active',
    device_metadata: { host_name: 'first' },
  });
  // Nothing shows it as an endpoint.
  await project.get(`/endpoints/${ready.device.uid}`, 404);
  const { content } = await project.get('/endpoints?perPage=1000');
  expect(content.map((endpoint: Json) => endpoint.uid)).not.toContain(ready.device.uid);
  await listener.close();
});

test('a local failure ends the delivery', async () => {
  const type = newType();
  const listener = await Listener.start(project, { event_types: [type], host_name: 'failing' });
  await send(type);
  const delivery = await listener.first('delivery');
  listener.answer(delivery, 500);
  expect(await ended(delivery.uid, 'Failure')).toMatchObject({ last_outcome: 'http_500' });
  await listener.close();
});

test('a device on another node gets deliveries, and events for any endpoint', async () => {
  const type = newType();
  const endpoint = await project.post('/endpoints', { name: 'pulled', delivery: 'pull' });
  const listener = await Listener.start(project, { event_types: [type], host_name: 'other' }, otherBase);
  await project.post('/events', { endpoint_id: endpoint.uid, event_type: type, data: {} });
  const delivery = await listener.first('delivery');
  listener.answer(delivery);
  await ended(delivery.uid, 'Success');
  await listener.close();
});

test('a listener that dies leaves its deliveries to the next one, without an attempt', async () => {
  const type = newType();
  const fields = { event_types: [type], host_name: 'dying' };
  const dying = await Listener.start(project, fields);
  await send(type);
  const first = await dying.first('delivery');
  dying.socket.terminate();
  await send(type);
  const next = await Listener.start(project, fields, otherBase);
  const deliveries = await next.count('delivery', 2);
  expect(deliveries.find(({ uid }) => uid === first.uid)).toMatchObject({ attempt: 1 });
  for (const delivery of deliveries) next.answer(delivery);
  await ended(first.uid, 'Success');
  expect(await project.get(`/eventdeliveries/${first.uid}/deliveryattempts`)).toHaveLength(1);
  await next.close();
});

test('two listeners of one device share its deliveries', async () => {
  const type = newType();
  const fields = { event_types: [type], host_name: 'shared', max: 1 };
  const listeners = [await Listener.start(project, fields), await Listener.start(project, fields, otherBase)];
  await Promise.all([send(type), send(type)]);
  // The first one would take both if it answered before the other had one.
  const taken = await Promise.all(listeners.map((listener) => listener.first('delivery')));
  for (const [n, listener] of listeners.entries()) listener.answer(taken[n]);
  const uids = listeners.flatMap((listener) => listener.of('delivery').map(({ uid }) => uid));
  expect(new Set(uids).size).toBe(2);
  for (const uid of uids) await ended(uid, 'Success');
  for (const listener of listeners) await listener.close();
});

test('a slow listener has at most so many deliveries without a result as it asked for', async () => {
  const count = 1_000;
  const max = 100;
  const listener = await Listener.start(project, { event_types: [newType()], host_name: 'slow', max });
  const { device } = listener.of('ready')[0];
  let answered = 0;
  let inFlight = 0;
  // It answers only when it has all that it asked for, and the last ones when no more can come.
  listener.socket.on('message', () => {
    const taken = listener.of('delivery');
    inFlight = Math.max(inFlight, taken.length - listener.of('recorded').length);
    if (taken.length - answered < max && taken.length < count) return;
    for (const delivery of taken.slice(answered)) listener.answer(delivery);
    answered = taken.length;
  });
  await storeDeliveries(app.database, {
    projectId: project.projectId,
    endpointId: device.uid,
    count,
    payload: {},
  });
  await listener.count('recorded', count);
  expect(inFlight).toBe(max);
  expect(new Set(listener.of('delivery').map(({ uid }) => uid)).size).toBe(count);
  await listener.close();
});

test('stored events are matched again for a device that asks for them', async () => {
  const type = newType();
  const early = await send(type, { n: 1 });
  await send(type, { n: 2 });
  const filter = { body: { n: 1 } };
  const fields = { event_types: [type], host_name: 'since', since: '10m', filter };
  const listener = await Listener.start(project, fields);
  expect(listener.of('ready')[0].matched).toBe(1);
  const delivery = await listener.first('delivery');
  expect(delivery.event_id).toBe(early.uid);
  listener.answer(delivery);
  await listener.first('recorded');
  await listener.close();
  const again = await Listener.start(project, fields);
  expect(again.of('ready')[0].matched).toBe(0);
  await again.close();
});

test('a device that is gone for ten minutes is switched off, and deleted after 30 days', async () => {
  const type = newType();
  const listener = await Listener.start(project, { event_types: [type], host_name: 'gone' });
  const { device, subscription_id } = listener.of('ready')[0];
  await listener.close();
  const event = await send(type);
  const [waiting] = (await project.get(`/eventdeliveries?eventId=${event.uid}`)).content;
  const back = (age: string) =>
    app.database.query(`update devices set last_seen_at = now() - interval '${age}' where id = $1`, [
      device.uid,
    ]);
  await back('11 minutes');
  expect(await ended(waiting.uid, 'Discarded')).toMatchObject({ description: 'No device is listening.' });
  expect(await project.get(`/subscriptions/${subscription_id}`)).toMatchObject({
    status: 'inactive',
    device_metadata: { status: 'disabled' },
  });
  await back('31 days');
  await eventually(() => project.raw('GET', `/subscriptions/${subscription_id}`), { status: 404 });
  const { content } = await project.get('/devices');
  expect(content.map(({ uid }: Json) => uid)).not.toContain(device.uid);
  expect(await project.get(`/eventdeliveries/${waiting.uid}`)).toMatchObject({
    device_metadata: { host_name: 'gone' },
  });
});

test('devices of a project that cannot be switched off keep those of no other on', async () => {
  const clients = [await app.newProject(), await app.newProject()];
  for (const client of clients) await (await Listener.start(client, { host_name: 'gone' })).close();
  const ids = clients.map(({ projectId }) => projectId);
  // The one that is found first.
  const [first = ''] = ids.toSorted();
  const allow = await refuseWrites(app.database, 'subscriptions', first);
  await app.database.query(
    "update devices set last_seen_at = now() - interval '11 minutes' where project_id = any($1)",
    [ids],
  );
  const states = () =>
    app.database.query(
      "select project_id from subscriptions where type = 'cli' and status = 'inactive' and project_id = any($1)",
      [ids],
    );
  expect(await eventually(states, { length: atLeast(1) })).toEqual([
    { project_id: ids.find((id) => id !== first) },
  ]);
  await allow();
  await eventually(states, { length: 2 });
});

test('a connection needs a key, a first message that makes sense, and a device', async () => {
  const stranger = new Listener(new ApiClient(project.base, 'wrong'));
  await eventually(async () => stranger.closeCode, 1006);
  await project.get('/listen', 426);
  await project.delete('/devices/none', 404);
  await new ApiClient(project.base, 'wrong').get('/devices', 401);
  const confused = new Listener(project);
  await confused.listen({ event_types: 'no list' });
  expect(await confused.first('error')).toMatchObject({ code: 'validation_failed' });
  await eventually(async () => confused.closeCode, 1008);
  const listener = await Listener.start(project, { host_name: 'deleted' });
  await project.delete(`/devices/${listener.of('ready')[0].device.uid}`);
  await eventually(async () => listener.closeCode, 1001);
});

test('a revoked key ends its connection, and a stop of the node asks to connect again', async () => {
  const made = await app.instance.post(`/projects/${project.projectId}/keys`, { name: 'listen' });
  const client = new ApiClient(project.base, made.key);
  const node = await app.addNode();
  const revoked = await Listener.start(client, { host_name: 'revoked' });
  const stopped = await Listener.start(
    project,
    { host_name: 'stopped' },
    project.base.replace(app.url, node.url),
  );
  await app.instance.delete(`/projects/${project.projectId}/keys/${made.uid}`);
  await node.stop();
  await eventually(async () => stopped.closeCode, 1001);
  await eventually(async () => revoked.closeCode, 1008);
});

/** `count` programs that connect at once with one key, each as a device of its own. */
function connectMany(client: ApiClient, count: number): Listener[] {
  return Array.from({ length: count }, (_, n) => {
    const listener = new Listener(client);
    const message = { type: 'listen', host_name: `host-${n}`, event_types: [newType()] };
    listener.socket.on('open', () => listener.send(message));
    return listener;
  });
}

test('a key has at most 100 connections to a node, and another tenant connects meanwhile', async () => {
  const [attacker, tenant] = [await app.newProject(), await app.newProject()];
  const listeners = connectMany(attacker, 300);
  const neighbour = await Listener.start(tenant, { host_name: 'neighbour' });
  const closed = await eventually(async () => listeners.filter(({ closeCode }) => closeCode !== null), {
    length: 200,
  });
  const message =
    'A key, person or portal link may have at most 100 listening connections on a node at a time; try again in 5 s.';
  for (const { closeCode, messages } of closed)
    expect([closeCode, messages]).toEqual([1013, [{ type: 'error', code: 'too_many', message }]]);
  const connected = listeners.filter((listener) => !closed.includes(listener));
  await Promise.all(connected.map((listener) => listener.first('ready')));
  expect((await attacker.get('/devices?perPage=1000')).content).toHaveLength(100);

  await connected[0]?.close();
  const next = await Listener.start(attacker, { host_name: 'host-0' });
  await Promise.all([neighbour, next, ...connected.slice(1)].map((listener) => listener.close()));
});

test('a key has at most 100 devices, and a new one takes the place of one that was switched off', async () => {
  const client = await app.newProject();
  const first = await Listener.start(client, { host_name: 'first' });
  await app.database.query(
    `insert into devices (id, project_id, host_name, caller_id, subscription_id)
     select d.id || n, d.project_id, 'host-' || n, d.caller_id, d.id || n
     from devices d, generate_series(1, 99) n where d.id = $1`,
    [first.of('ready')[0].device.uid],
  );
  const refused = new Listener(client);
  await refused.listen({ host_name: 'refused' });
  expect(await refused.first('error')).toEqual({
    type: 'error',
    code: 'too_many',
    message: 'A key or person may have at most 100 devices at a time; try again in 600 s.',
  });
  await eventually(async () => refused.closeCode, 1013);
  const names = async () =>
    (await client.get('/devices?perPage=1000')).content.map((device: Json) => device.host_name);
  expect(await names()).not.toContain('refused');
  // A device that the key knows connects all the same.
  await (await Listener.start(client, { host_name: 'first' })).close();

  await app.database.query(
    "update devices set last_seen_at = now() - interval '11 minutes' where project_id = $1 and host_name = 'host-7'",
    [client.projectId],
  );
  const next = await Listener.start(client, { host_name: 'next' });
  expect(await names()).toHaveLength(100);
  expect(await names()).not.toContain('host-7');
  await Promise.all([first.close(), next.close()]);
});

test('a replayed delivery that a device gives back waits in the lane of replays', async () => {
  const client = await app.newProject();
  await client.post('/events/broadcast', { event_type: 'replayed', data: {} });
  const listener = await Listener.start(client, { host_name: 'giving back' });
  await client.post('/events/batchreplay', undefined, 200);
  const { uid } = await listener.first('delivery');
  const lane = async () => {
    const [row] = await app.database.query('select lane from delivery_queue where delivery_id = $1', [uid]);
    return (row as { lane: number }).lane;
  };
  expect(await lane()).toBe(LANE.leased);
  await listener.close();
  expect(await eventually(lane, (now) => now !== LANE.leased)).toBe(LANE.replay);
});
