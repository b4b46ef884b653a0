import type { FastifyReply, FastifyRequest } from 'fastify';
import { expect, test } from 'vitest';
import { handleError } from '../../../src/api/http/error-handler.ts';
import { startTestApp, subscribe } from '../../support/app.ts';
import { ApiClient, type Json } from '../../support/client.ts';
import { eventually } from '../../support/eventually.ts';
import { Receiver } from '../../support/servers/receiver.ts';
import { deliveryOf } from '../../support/settled.ts';
import { shared } from '../../support/shared.ts';

/** A stored row that cannot be shown fails alone: lists go on without it and name it. */
const service = await shared(startTestApp());
const receiver = await shared(Receiver.start());

const { endpoint } = await subscribe(service.project, receiver.url);

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
    const delivery = await deliveryOf(service.project, { uid });
    await service.database.query(`update events set acknowledged_at = ${time} where id = $1`, [uid]);
    await failsAlone('/events', uid, 'row_damaged');
    await failsAlone('/eventdeliveries', delivery.uid, 'row_damaged');
    await service.database.query('update events set acknowledged_at = now() where id = $1', [uid]);
    expect((await list('/events')).warnings).toBeUndefined();
  },
);

test('a delivery of such an event is sent, retried and counted, and the node keeps running', async () => {
  receiver.answerNext(500);
  const { uid } = await send({ event_type: 'retried' });
  await service.database.query("update events set acknowledged_at = '0001-06-01 BC' where id = $1", [uid]);
  const statusOf = () =>
    service.database.query('select status from event_deliveries where event_id = $1', [uid]);
  await eventually(statusOf, [{ status: 'Retry' }]);
  await service.database.query('update delivery_queue set due_at = now() where event_id = $1', [uid]);
  await eventually(statusOf, [{ status: 'Success' }]);
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

test('an endpoint whose secret cannot be opened fails alone; other endpoints keep working', async () => {
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
  await deliveryOf(service.project, made.data);
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

// differs Requests and answers: A list names a row that cannot be shown in `warnings`. One damaged row would
//   fail every list.
test('of subscriptions, keys and event types, one with an invalid time fails alone', async () => {
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

test('a project whose secret cannot be opened fails only where the secret is needed', async () => {
  const hook = await Receiver.start();
  const meta = (secret: string) => ({
    config: { meta_event: { is_enabled: true, url: `${hook.url}/meta`, event_type: ['endpoint.*'], secret } },
  });
  await service.project.put('', meta('a secret for meta events'));
  const own = await subscribe(service.project, `${hook.url}/hook`, { eventTypes: ['damaged'] });
  await hook.received(1);
  await service.database.query("update projects set sealed = '\\x00' where id = $1", [service.projectId]);
  const other = await service.addNode();
  const url = `${other.url}/api/v1/projects/${service.projectId}`;
  const project = new ApiClient(url, service.project.key);
  expect((await project.get('', 500)).code).toBe('secret_unreadable');
  const named = await new ApiClient(`${other.url}/api/v1`, service.instance.key).raw('GET', '/projects');
  expect([named.status, ((await named.json()) as Json).warnings]).toEqual([
    200,
    [expect.stringContaining(service.projectId)],
  ]);
  for (const path of ['/endpoints', '/subscriptions', '/events', '/sources']) await project.get(path);
  const event = await project.post('/events/broadcast', { event_type: 'damaged', data: {} });
  await deliveryOf(project, event);
  // The meta event of this change waits, and says why.
  await project.put(`/endpoints/${own.endpoint.uid}`, { description: 'changed' });
  const waiting = () =>
    service.database.query(
      "select description from meta_events where event_type = 'endpoint.updated' and description like '%cannot be opened%'",
    );
  await eventually(waiting, { length: 1 });
  expect((await project.put('', { name: 'renamed' }, 500)).code).toBe('secret_unreadable');
  await project.put('', meta('another secret for meta events'));
  expect((await project.get('')).config.meta_event.secret).toBe('another secret for meta events');
  await hook.stop();
});

test('an endpoint whose secret cannot be opened can be deleted', async () => {
  const { endpoint: damaged } = await subscribe(service.project, receiver.url);
  await service.database.query("update endpoints set sealed = '\\x00' where id = $1", [damaged.uid]);
  await service.project.delete(`/endpoints/${damaged.uid}`);
});

test('a SyntaxError that no stored row caused is an error of ours', async () => {
  const request = { log: { error: () => {} }, id: 'r1', routeOptions: {} } as unknown as FastifyRequest;
  const answers: Json[] = [];
  const reply = { code: () => reply, send: (answer: Json) => answers.push(answer) };
  handleError(new SyntaxError('Unexpected token'), request, reply as unknown as FastifyReply);
  expect(answers.map(({ code }) => code)).toEqual(['internal']);
});
