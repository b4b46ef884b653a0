import { createHmac } from 'node:crypto';
import { describe, expect, test, vi } from 'vitest';
import { subscriptions } from '../../../src/store/config/subscriptions.ts';
import { PullScene } from '../../pull/consumer.ts';
import { httpSource, startTestApp, subscribe } from '../../support/app.ts';
import type { ApiClient, Json } from '../../support/client.ts';
import { type Received, Receiver } from '../../support/servers/receiver.ts';
import { newestDelivery } from '../../support/settled.ts';
import { shared } from '../../support/shared.ts';

const app = await shared(startTestApp());
const receiver = await shared(Receiver.start());
const { project } = app;

/** Whether a request has the Standard Webhooks signature of its own bytes. */
function isSigned({ headers, body }: Received, secret: string): boolean {
  const signed = Buffer.concat([
    Buffer.from(`${String(headers['webhook-id'])}.${String(headers['webhook-timestamp'])}.`),
    body,
  ]);
  const signature = createHmac('sha256', Buffer.from(secret)).update(signed).digest('base64');
  return String(headers['webhook-signature']).split(' ').includes(`v1,${signature}`);
}

const send = (client: ApiClient, endpoint: Json, event: object): Promise<Json> =>
  client.post('/events', { endpoint_id: endpoint.uid, event_type: 'order.paid', ...event });

describe('an envelope', () => {
  // proves Endpoints: envelope
  test('has the type and time of the event around the exact payload; every attempt is signed and the same', async () => {
    receiver.answerNext(500);
    const { endpoint } = await subscribe(project, `${receiver.url}/wrapped`, {
      endpoint: { envelope: 'standard', secret: 'the secret' },
      subscription: { retry_config: { type: 'linear', interval_seconds: 1, retry_count: 1 } },
    });
    const event = await send(project, endpoint, { event_type: 'order "paid" ü', data: { b: 1, a: [null] } });
    const [first, second] = (await receiver.received(2, '/wrapped')) as [Received, Received];
    expect(first.body.toString()).toBe(
      `{"type":"order \\"paid\\" ü","timestamp":"${event.created_at}","data":{"b":1,"a":[null]}}`,
    );
    expect(second.body).toEqual(first.body);
    for (const request of [first, second]) {
      expect(isSigned(request, 'the secret')).toBe(true);
      expect(request.headers['content-type']).toBe('application/json');
      expect(request.headers['content-length']).toBe(String(request.body.length));
    }
  });

  // proves Projects: envelope
  test('is a setting of the project, which an endpoint may turn off; a function makes its data', async () => {
    const other = await app.newProject({ envelope: 'standard' });
    const as = (path: string, endpoint: object = {}, subscription: object = {}) =>
      subscribe(other, `${receiver.url}${path}`, { endpoint, subscription });
    const form = { content_type: 'application/x-www-form-urlencoded' };
    await as('/by-project', {}, { function: 'function transform(payload) { return { n: payload.n + 1 } }' });
    await as('/off', { envelope: 'none' });
    await as('/form', form);
    await other.post('/events/broadcast', { event_type: 'e', data: { n: 1 } });
    expect((await receiver.received(1, '/by-project'))[0]?.json).toMatchObject({ type: 'e', data: { n: 2 } });
    expect((await receiver.received(1, '/off'))[0]?.body.toString()).toBe('{"n":1}');
    expect((await receiver.received(1, '/form'))[0]?.body.toString()).toBe('n=1');
  });

  // proves Endpoints: envelope_fields
  test('may have names of its own; its id is the webhook-id, of a replay too', async () => {
    const { endpoint } = await subscribe(project, `${receiver.url}/named`, {
      endpoint: {
        secret: 'the secret',
        webhook_id: 'event',
        envelope_fields: { eventId: 'id', kind: 'type', at: 'time', body: 'data', cursor: 'null' },
      },
    });
    const event = await send(project, endpoint, { data: { n: 1.5 } });
    await project.put(`/events/${event.uid}/replay`, undefined, 200);
    const [first, replayed] = (await receiver.received(2, '/named')) as [Received, Received];
    const others = { kind: 'order.paid', at: event.created_at, body: { n: 1.5 }, cursor: null };
    expect(first.json).toEqual({ eventId: event.uid, ...others });
    expect(replayed.json).toEqual({ eventId: replayed.headers['webhook-id'], ...others });
    for (const request of [first, replayed]) expect(isSigned(request, 'the secret')).toBe(true);
  });

  test('is not put around bytes that are no JSON', async () => {
    const source = await httpSource(project);
    await subscribe(project, `${receiver.url}/text`, {
      endpoint: { envelope: 'standard' },
      subscription: { source_id: source.uid },
    });
    const sent = { method: 'POST', headers: { 'content-type': 'text/plain' }, body: 'plain text' };
    await fetch(`${app.url}/ingest/${source.mask_id}`, sent);
    expect((await receiver.received(1, '/text'))[0]?.body.toString()).toBe('plain text');
  });

  test('is in what a consumer pulls, and in a test of the endpoint', async () => {
    const scene = await PullScene.make(project, { endpoint: { envelope: 'standard' } });
    await scene.send(1);
    const [taken] = await scene.pull();
    const pulled = JSON.parse(Buffer.from(taken.body, 'base64').toString()) as Json;
    expect(pulled).toMatchObject({ type: scene.eventType, data: { n: 0 } });
    const endpoint = { url: `${receiver.url}/tried`, envelope: 'standard' };
    await project.post('/endpoints/test', { endpoint, data: { a: 1 } }, 200);
    expect((await receiver.received(1, '/tried'))[0]?.json).toMatchObject({ data: { a: 1 } });
  });
});

describe('webhook-id', () => {
  // proves Endpoints: webhook_id
  test('is the id of the event in every attempt; a replay adds its own, a resend does not', async () => {
    receiver.answerNext(500);
    const { endpoint } = await subscribe(project, `${receiver.url}/ids`, {
      endpoint: { webhook_id: 'event', secret: 's' },
      subscription: { retry_config: { type: 'linear', interval_seconds: 1, retry_count: 1 } },
    });
    const event = await send(project, endpoint, { data: {} });
    await receiver.received(2, '/ids');
    const first = await newestDelivery(project, `endpointId=${endpoint.uid}`, 'Success');
    await project.put(`/events/${event.uid}/replay`, undefined, 200);
    await receiver.received(3, '/ids');
    const replayed = await newestDelivery(project, `endpointId=${endpoint.uid}`, 'Success');
    expect(replayed.uid).not.toBe(first.uid);
    await project.post('/eventdeliveries/forceresend', { ids: [replayed.uid] }, 200);
    const requests = await receiver.received(4, '/ids');
    const suffixed = `${event.uid}_${replayed.uid}`;
    expect(requests.map(({ headers }) => headers['webhook-id'])).toEqual([
      event.uid,
      event.uid,
      suffixed,
      suffixed,
    ]);
    expect(requests.every((request) => isSigned(request, 's'))).toBe(true);
  });

  test('as the id of the event is refused while two subscriptions may match the same event', async () => {
    const { endpoint, subscription } = await subscribe(project, receiver.url, { eventTypes: ['order.*'] });
    const add = (fields: object, expected: number) =>
      project.post('/subscriptions', { name: 's', endpoint_id: endpoint.uid, ...fields }, expected);
    const types = (...event_types: string[]) => ({ filter_config: { event_types } });
    const second = await add(types('order.paid'), 201);
    const one = `/endpoints/${endpoint.uid}`;
    const refused = await project.call('PUT', one, { body: { webhook_id: 'event' }, expected: 400 });
    expect(refused.message).toContain('webhook_id: the subscriptions');
    expect(refused.message).toContain(second.uid);
    expect((await project.get(one)).webhook_id).toBe('delivery');

    await project.put(`/subscriptions/${second.uid}`, types('user.made', 'invoice.*'));
    await project.put(one, { webhook_id: 'event' });
    for (const overlapping of [types('order.paid'), types('*'), types('ord*'), types('invoice.late'), {}])
      expect((await add(overlapping, 400)).message).toContain('may match the same event');
    await project.put(`/subscriptions/${subscription.uid}`, types('user.*'), 400);
    await add(types('user.made2', 'orders'), 201);
    const bulk = [{ event_type: 'user.made', body: {} }];
    await project.post(`/subscriptions/${subscription.uid}/filters/bulk`, bulk, 400);
    const dynamic = { url: endpoint.url, event_type: 'e', data: {}, event_types: ['*'] };
    expect((await project.post('/events/dynamic', dynamic, 400)).message).toContain('same event');
    expect((await project.get(`/subscriptions?endpointId=${endpoint.uid}`)).content).toHaveLength(3);
  });

  test('as the id of the event may have one subscription per source', async () => {
    const { uid: source_id } = await httpSource(project);
    const { uid: other } = await httpSource(project);
    const fields = { name: 'by source', url: receiver.url, webhook_id: 'event' };
    const of = (...subscriptions: object[]) => ({ ...fields, subscriptions });
    await project.post('/endpoints', of({ source_id }, { source_id: other }));
    for (const pair of [of({ source_id }, {}), of({ source_id }, { source_id })]) {
      const refused = await project.post('/endpoints', pair, 400);
      expect(refused.message).toContain('subscriptions.1.filter_config.event_types');
    }
  });

  test('as the id of the event: the subscriptions of a new endpoint are compared once', async () => {
    const compared = vi.spyOn(subscriptions, 'allOf');
    const many = Array.from({ length: 20 }, (_, n) => ({ filter_config: { event_types: [`once.${n}`] } }));
    const fields = { name: 'once', url: receiver.url, webhook_id: 'event', subscriptions: many };
    try {
      await project.post('/endpoints', fields);
      expect(compared).toHaveBeenCalledTimes(1);
    } finally {
      compared.mockRestore();
    }
  });
});

// proves Endpoints: max_body_bytes
test('a body that is larger than the endpoint takes is not sent, envelope included, and ends with the reason', async () => {
  const { endpoint } = await subscribe(project, `${receiver.url}/small`, {
    endpoint: { max_body_bytes: 100, envelope: 'standard' },
  });
  const envelope = '{"type":"order.paid","timestamp":"2026-01-31T15:04:05.123Z","data":""}'.length;
  await send(project, endpoint, { data: 'x'.repeat(100 - envelope) });
  expect((await receiver.received(1, '/small'))[0]?.body.length).toBe(100);
  await send(project, endpoint, { data: 'x'.repeat(101 - envelope) });
  const failed = await newestDelivery(project, `endpointId=${endpoint.uid}`, 'Failure');
  expect(failed).toMatchObject({ endpoint_id: endpoint.uid, metadata: { num_trials: 0 } });
  expect(failed.description).toContain('101 bytes');
  expect(receiver.at('/small').length).toBe(1);
});
