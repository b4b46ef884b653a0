import { expect } from 'vitest';
import { httpSource, subscribe, type TestApp } from '../support/app.ts';
import type { ApiClient, Json } from '../support/client.ts';
import { eventually } from '../support/eventually.ts';
import type { Receiver } from '../support/servers/receiver.ts';
import { deliveryOf } from '../support/settled.ts';

/** A project with rows of every kind: config, history, and deliveries that wait for all sorts of things. */
export interface Everything {
  project: ApiClient;
  endpoint: Json;
  subscription: Json;
  source: Json;
  link: Json;
  pulled: Json;
}

const LATER = { type: 'linear', duration: '300s', retry_count: 20 };

/** Deliveries to `/failing` fail. */
export async function everything(app: TestApp, receiver: Receiver): Promise<Everything> {
  receiver.answerAlways(({ path }, response) => {
    response.writeHead(path === '/failing' ? 503 : 200).end('ok');
  });
  const project = await app.newProject({
    meta_event: { is_enabled: true, url: `${receiver.url}/meta`, secret: 's', event_type: ['*'] },
  });
  const at = (path: string, type: string, fields: object = {}) =>
    subscribe(project, `${receiver.url}${path}`, { eventTypes: [type], ...fields });
  const send = (event_type: string, fields: object = {}) =>
    project.post('/events/broadcast', { event_type, data: { n: 1 }, ...fields });

  const { endpoint, subscription } = await at('/ok', 'ok', { endpoint: { owner_id: 'customer' } });
  const ended = [];
  for (const n of [1, 2, 3]) ended.push(await send('ok', { data: { n }, idempotency_key: `key ${n}` }));
  for (const event of ended) await deliveryOf(project, event);
  await at('/failing', 'failing', {
    subscription: { retry_config: LATER, alert_config: { count: 50, threshold: '1h' } },
  });
  for (let n = 0; n < 3; n += 1) await deliveryOf(project, await send('failing'), 'Retry');
  await hold({ project, at, send });
  const pulled = await pull(project);
  const source = await httpSource(project);
  await fetch(source.url, {
    method: 'POST',
    body: '{"a":1}',
    headers: { 'content-type': 'application/json' },
  });
  return { project, endpoint, subscription, source, pulled, link: await configure(project) };
}

async function hold(by: {
  project: ApiClient;
  at(path: string, type: string, fields?: object): ReturnType<typeof subscribe>;
  send(type: string, fields?: object): Promise<Json>;
}): Promise<void> {
  const { project, at, send } = by;
  const paused = await at('/paused', 'paused');
  await project.put(`/endpoints/${paused.endpoint.uid}/pause`);
  await send('paused');
  const expiring = { expires_at: new Date(Date.now() + 3_600_000).toISOString() };
  await send('paused', expiring);
  await at('/later', 'later');
  await send('later', { deliver_at: new Date(Date.now() + 3_600_000).toISOString() });
  const limited = { rate_limit: 1, rate_limit_duration: 3_600 };
  const { endpoint } = await at('/limited', 'limited', { endpoint: limited });
  for (let n = 0; n < 3; n += 1) await send('limited');
  await eventually(() => project.get(`/eventdeliveries?endpointId=${endpoint.uid}&status=Success`), {
    content: { length: 1 },
  });
  const ordering = { key: '$.body.account', on_failure: 'hold' };
  await at('/failing', 'ordered', { subscription: { ordering, retry_config: LATER } });
  for (let n = 0; n < 3; n += 1) await send('ordered', { data: { account: 'a', n } });
  await batch(by);
}

/** One batch that is tried later, and deliveries that wait for more of them. */
async function batch({ project, at, send }: Parameters<typeof hold>[0]): Promise<void> {
  const full = { batch: { max: 2, max_wait_seconds: 300 }, retry_config: LATER };
  await at('/failing', 'batched', { subscription: full });
  for (const event of [await send('batched'), await send('batched')])
    await deliveryOf(project, event, 'Retry');
  await at('/ok', 'gathered', { subscription: { batch: { max: 100, max_wait_seconds: 300 } } });
  await send('gathered');
}

/** One delivery with a consumer, one that waits for it. */
async function pull(project: ApiClient): Promise<Json> {
  const endpoint = await project.post('/endpoints', { name: 'pulled', delivery: 'pull' });
  for (let n = 0; n < 2; n += 1)
    await project.post('/events', { endpoint_id: endpoint.uid, event_type: 'pulled', data: { n } });
  const body = { max: 1, wait_seconds: 30, lease_seconds: 1_800 };
  const { deliveries } = await project.post(`/endpoints/${endpoint.uid}/pull`, body, 200);
  expect(deliveries).toHaveLength(1);
  return { endpoint, delivery: deliveries[0] };
}

async function configure(project: ApiClient): Promise<Json> {
  await project.post('/views', { page: 'events', name: 'orders', query: 'query=order' });
  await project.post('/keys', { name: 'reader', role: 'viewer' });
  await project.call('POST', '/event-types', {
    body: { name: 'order.paid' },
    expected: 201,
    headers: { 'idempotency-key': 'once' },
  });
  const link = await project.post('/portal-links', {
    name: 'shop',
    owner_id: 'customer',
    auth_type: 'refresh_token',
  });
  await project.get(`/portal-links/${link.uid}/refresh_token`);
  return link;
}
