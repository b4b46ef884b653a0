import { createHmac } from 'node:crypto';
import { expect, test } from 'vitest';
import { IdFactory } from '../../src/domain/ids.ts';
import { Database } from '../../src/store/database/database.ts';
import { ensurePartitions } from '../../src/store/upkeep/partitions.ts';
import { startTestApp, subscribe } from '../support/app.ts';
import type { Json } from '../support/client.ts';
import { fetchOpenApi } from '../support/openapi.ts';
import { quietLog } from '../support/quiet-log.ts';
import { Receiver } from '../support/servers/receiver.ts';
import { deliveryOf } from '../support/settled.ts';
import { shared } from '../support/shared.ts';

/** Differences from Convoy that no other test is about. */
const DAY_MS = 86_400_000;
const app = await shared(startTestApp({ POSTHORN_DEFAULTS: 'standard' }));
const receiver = await shared(Receiver.start());

// differs Access: A key works bare and after `Bearer`. Clients send both.
test('a key is accepted bare and after Bearer', async () => {
  for (const authorization of [app.project.key, `Bearer ${app.project.key}`])
    expect((await app.project.raw('GET', '/endpoints', { headers: { authorization } })).status).toBe(200);
});

// differs Requests and answers: An unknown id in the path is 404 everywhere, in the body 400; Convoy says 400 on
//   many calls.
test('an unknown id in a path is 404 for every operation, also where Convoy returns 400', async () => {
  const body = { name: 'n', url: receiver.url };
  for (const [method, path] of [
    ['PUT', '/endpoints/none'],
    ['DELETE', '/endpoints/none'],
    ['PUT', '/endpoints/none/pause'],
    ['POST', '/endpoints/none/activate'],
    ['PUT', '/subscriptions/none'],
    ['PUT', '/subscriptions/none/toggle_status'],
    ['PUT', '/events/none/replay'],
    ['PUT', '/eventdeliveries/none/resend'],
    ['GET', '/eventdeliveries/none/deliveryattempts'],
    ['PUT', '/event-types/none'],
    ['POST', '/event-types/none/deprecate'],
  ] as const)
    await app.project.call(method, path, { body: method === 'GET' ? undefined : body, expected: 404 });
});

// differs Lists: No hidden window of seven days. Lists show everything that is stored.
test('lists go back further than seven days', async () => {
  const at = Date.now() - 20 * DAY_MS;
  const db = new Database({
    connection: { connectionString: app.database.url },
    connections: 1,
    log: quietLog,
  });
  await ensurePartitions(db, at, DAY_MS);
  await db.close();
  const id = new IdFactory(() => at).next();
  await app.database.query(
    `insert into events (id, project_id, event_type, status, is_duplicate, endpoints, payload, acknowledged_at)
     values ($1, $2, 'old', 'Success', false, '{}', '{}', now())`,
    [id, app.projectId],
  );
  const { content } = await app.project.get('/events?perPage=1000');
  expect(content.map((row: Json) => row.uid)).toContain(id);
});

// differs Sending: Endpoint URLs are checked on write, not called; one with a user and password is refused.
//   Credentials belong in `authentication`.
test('a URL with a user and a password in it is refused', async () => {
  const url = 'http://user:secret@127.0.0.1/';
  const answer = await app.project.post('/endpoints', { name: 'n', url }, 400);
  expect(answer.message).toContain('url');
  expect(answer.message).not.toContain('secret@');
});

// differs Sending: Redirects are not followed. They would pass the egress rule.
test('a redirect is not followed and counts as failed', async () => {
  const { endpoint } = await subscribe(app.project, receiver.url, {
    eventTypes: ['moved'],
    subscription: { retry_config: { type: 'linear', duration: '1s', retry_count: 0 } },
  });
  receiver.answerNext((_request, response) => response.writeHead(302, { location: '/elsewhere' }).end());
  const before = receiver.requests.length;
  const event = await app.project.post('/events/broadcast', { event_type: 'moved', data: {} });
  expect((await deliveryOf(app.project, event, 'Failure')).endpoint_id).toBe(endpoint.uid);
  expect(receiver.requests.length).toBe(before + 1);
});

// differs Sending: Deliveries carry [both signatures](verifying.md). Stock libraries verify them.
test('every delivery has the headers of Standard Webhooks and the signature of Convoy', async () => {
  await subscribe(app.project, receiver.url, { eventTypes: ['signed'] });
  const before = receiver.requests.length;
  await app.project.post('/events/broadcast', { event_type: 'signed', data: {} });
  const request = (await receiver.received(before + 1)).at(-1);
  for (const name of ['webhook-id', 'webhook-timestamp', 'webhook-signature', 'x-convoy-signature'])
    expect([name, typeof request?.headers[name]]).toEqual([name, 'string']);
});

// differs Requests and answers: Errors carry a stable `code`; 404, 405, 413, 415 and 429 have the envelope too.
//   Programs read them.
test('errors have a code for programs, and unknown paths and methods the envelope too', async () => {
  expect(await app.project.get('/nowhere', 404)).toMatchObject({ status: false, code: 'route_not_found' });
  const answer = await app.project.call('DELETE', '/events', { expected: 405 });
  expect(answer).toMatchObject({ status: false, code: 'method_not_allowed' });
});

// differs Events and deliveries: A resend to a paused endpoint waits; Convoy refuses it.
test('a resend to a paused endpoint waits until it is unpaused', async () => {
  const { endpoint } = await subscribe(app.project, receiver.url, {
    eventTypes: ['held'],
    subscription: { retry_config: { type: 'linear', duration: '1s', retry_count: 0 } },
  });
  receiver.answerNext(500);
  const event = await app.project.post('/events/broadcast', { event_type: 'held', data: {} });
  const failed = await deliveryOf(app.project, event, 'Failure');
  await app.project.put(`/endpoints/${endpoint.uid}/pause`);
  const held = await app.project.put(`/eventdeliveries/${failed.uid}/resend`, undefined, 200);
  expect(held).toMatchObject({ status: 'Scheduled', description: expect.stringContaining('paused') });
  await app.project.put(`/endpoints/${endpoint.uid}/pause`);
  await deliveryOf(app.project, event);
});

// differs Access: `orgID` is ignored, `organisation_id` is empty: there is one organisation.
test('projects have no organisations: the parameter is ignored, the field empty', async () => {
  const [project] = await app.instance.get('/projects?orgID=any');
  expect(project.organisation_id).toBe('');
  await app.instance.post('/projects?orgID=any', { name: 'one more', type: 'incoming' });
});

// differs Sources: Every hash that is accepted also verifies. In Convoy two of twelve do.
test('every hash name of a verifier works', async () => {
  const document = await fetchOpenApi(app.url);
  const { post } = document.paths['/api/v1/projects/{projectID}/sources'];
  const { verifier } = post.requestBody.content['application/json'].schema.properties;
  // A field that may be null is its type or null.
  const { hmac: hmacSchema } = verifier.anyOf[0].properties;
  const { hash: hashSchema } = hmacSchema.anyOf[0].properties;
  const names: string[] = (hashSchema.anyOf?.[0] ?? hashSchema).enum.filter((name: string) => name !== '');
  expect(names.length).toBeGreaterThan(8);
  for (const hash of names) {
    const hmac = { hash, header: 'x-signature', encoding: 'hex', secret: 'secret' };
    const body = { name: hash, type: 'http', verifier: { type: 'hmac', hmac } };
    const { mask_id } = await app.project.post('/sources', body);
    const signature = createHmac(nodeName(hash), 'secret').update('{}').digest('hex');
    const response = await fetch(`${app.url}/ingest/${mask_id}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-signature': signature },
      body: '{}',
    });
    expect([hash, response.status]).toEqual([hash, 200]);
  }
});

/** SHA3_256 is sha3-256 and SHA512_224 is sha512-224 to Node. */
const nodeName = (hash: string): string => hash.toLowerCase().replace('_', '-');
