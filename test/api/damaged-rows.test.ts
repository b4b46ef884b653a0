import { afterAll, beforeAll, expect, test } from 'vitest';
import { startTestApp, subscribe, type TestApp } from '../support/app.ts';
import type { Json } from '../support/client.ts';
import { eventually } from '../support/eventually.ts';
import { Receiver } from '../support/receiver.ts';

/** A stored row that cannot be shown fails alone: lists go on without it and name it. */
let service: TestApp;
let receiver: Receiver;
let endpoint: Json;

beforeAll(async () => {
  service = await startTestApp();
  receiver = await Receiver.start();
  ({ endpoint } = await subscribe(service.project, receiver.url));
});

afterAll(async () => {
  await service?.stop();
  await receiver?.stop();
});

const send = (fields: object = {}) =>
  service.project.post('/events', { endpoint_id: endpoint.uid, event_type: 'a', data: {}, ...fields });

async function list(path: string): Promise<Json> {
  const response = await service.project.raw('GET', path);
  expect([path, response.status]).toEqual([path, 200]);
  return response.json();
}

/** The list shows `shown`, not `damaged`, and names it; reading it alone is a clear error. */
async function failsAlone(path: string, damaged: string, code: string): Promise<void> {
  const answer = await list(path);
  const items: Json[] = Array.isArray(answer.data) ? answer.data : answer.data.content;
  expect(items.length).toBeGreaterThan(0);
  expect(items.map(({ uid }) => uid)).not.toContain(damaged);
  expect(answer.warnings).toEqual([expect.stringContaining(damaged)]);
  const [before] = path.split('?');
  expect((await service.project.get(`${before}/${damaged}`, 500)).code).toBe(code);
}

test.each(["'infinity'", "'-infinity'", "'0001-06-01 00:00:00 BC'", "'10000-01-01'"])(
  'an event acknowledged at %s fails alone, and so does its delivery',
  async (time) => {
    await send();
    const { uid } = await send();
    const [delivery] = await eventually(
      async () => (await service.project.get(`/eventdeliveries?eventId=${uid}`)).content,
      ([one]) => one?.status === 'Success',
    );
    await service.database.query(`update events set acknowledged_at = ${time} where id = $1`, [uid]);
    await failsAlone('/events', uid, 'row_damaged');
    await failsAlone('/eventdeliveries', delivery.uid, 'row_damaged');
    await service.database.query('update events set acknowledged_at = now() where id = $1', [uid]);
    expect((await list('/events')).warnings).toBeUndefined();
  },
);

test('a delivery of such an event is sent, retried and counted, and the node lives on', async () => {
  receiver.answerNext(500);
  const { uid } = await send({ event_type: 'retried' });
  await service.database.query("update events set acknowledged_at = '0001-06-01 BC' where id = $1", [uid]);
  const statusOf = () =>
    service.database.query('select status from event_deliveries where event_id = $1', [uid]);
  await eventually(statusOf, ([row]) => row?.['status'] === 'Retry');
  await service.database.query('update delivery_queue set due_at = now() where event_id = $1', [uid]);
  await eventually(statusOf, ([row]) => row?.['status'] === 'Success', 40_000);
  expect((await fetch(`${service.url}/readyz`)).status).toBe(200);
  await service.database.query('update events set acknowledged_at = now() where id = $1', [uid]);
});

test('damaged JSON of an event or an attempt fails alone', async () => {
  await send();
  const { uid } = await send({ custom_headers: { a: 'secret-value' } });
  await service.database.query('update events set headers = \'{"a": secret-value\' where id = $1', [uid]);
  await failsAlone('/events', uid, 'row_damaged');
  expect(JSON.stringify((await list('/events')).warnings)).not.toContain('secret-value');
  await service.database.query('update events set headers = null where id = $1', [uid]);
});

test('an endpoint whose secret cannot be opened fails alone; events of the others go on', async () => {
  const broken = await subscribe(service.project, receiver.url, { endpoint: { owner_id: 'o' } });
  const link = await service.project.post('/portal-links', { name: 'l', owner_id: 'o' });
  const { uid } = broken.endpoint;
  await service.database.query("update endpoints set sealed = '\\x00' where id = $1", [uid]);
  const other = await service.addNode();
  const path = `${other.url}/api/v1/projects/${service.projectId}`;
  const call = (method: string, url: string, body?: object) =>
    fetch(`${path}${url}`, {
      method,
      headers: { authorization: service.project.key, 'content-type': 'application/json' },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
  await failsAlone('/endpoints', uid, 'secret_unreadable');
  for (const url of ['/subscriptions', '/portal-links', `/portal-links/${link.uid}`])
    expect([url, (await call('GET', url)).status]).toEqual([url, 200]);
  const body = { endpoint_id: endpoint.uid, event_type: 'others', data: {} };
  const made = (await (await call('POST', '/events', body)).json()) as Json;
  await eventually(
    async () => (await service.project.get(`/eventdeliveries?eventId=${made.data.uid}`)).content,
    ([one]) => one?.status === 'Success',
  );
  const held = (await (await call('POST', '/events', { ...body, endpoint_id: uid })).json()) as Json;
  const [waiting] = await eventually(
    async () => (await service.project.get(`/eventdeliveries?eventId=${held.data.uid}`)).content,
    ([one]) => one?.description.includes('cannot be opened'),
  );
  expect(waiting).toMatchObject({
    status: 'Scheduled',
    metadata: { num_trials: 0 },
    endpoint_metadata: null,
  });
  await service.database.query('delete from endpoints where id = $1', [uid]);
});

test.each([
  ['sources', { name: 's', type: 'http', verifier: { type: 'noop' } }],
  ['portal-links', { name: 'p', owner_id: 'p' }],
] as const)('of %s, one whose secret cannot be opened fails alone', async (name, body) => {
  await service.project.post(`/${name}`, body);
  const { uid } = await service.project.post(`/${name}`, { ...body, name: 'damaged' });
  const [table, column] = name === 'sources' ? ['sources', 'sealed'] : ['portal_links', 'sealed_token'];
  await service.database.query(`update ${table} set ${column} = '\\x00' where id = $1`, [uid]);
  await failsAlone(`/${name}`, uid, 'secret_unreadable');
});

test('of subscriptions, keys and event types, one with a time that is none fails alone', async () => {
  const { subscription } = await subscribe(service.project, receiver.url);
  await service.database.query("update subscriptions set updated_at = 'infinity' where id = $1", [
    subscription.uid,
  ]);
  await failsAlone('/subscriptions', subscription.uid, 'row_damaged');
  const { uid } = await service.project.post('/keys', { name: 'k' });
  await service.project.post('/keys', { name: 'k2' });
  await service.database.query("update api_keys set last_used_at = '-infinity' where id = $1", [uid]);
  const keys = await list('/keys');
  expect(keys.data.map((key: Json) => key.uid)).not.toContain(uid);
  expect(keys.warnings).toEqual([expect.stringContaining(uid)]);
});
