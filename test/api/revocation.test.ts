import { setTimeout as delay } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { startTestApp } from '../support/app.ts';
import { ApiClient, type Json } from '../support/client.ts';
import { eventually } from '../support/eventually.ts';
import { member } from '../support/session-client.ts';
import { shared } from '../support/shared.ts';
import { slowClock } from '../support/slow-clock.ts';

/** Access that is ended or narrowed ends at once on the node that did it, and on others when they hear of it. */
const service = await shared(startTestApp());

const second = await service.addNode();
const endpoint = await service.project.post('/endpoints', {
  name: 'e',
  url: 'http://127.0.0.1:1',
  owner_id: 'owner',
});

const REMEMBERED_MS = 1_000;

async function statusOf(client: ApiClient, method: string, path: string, body?: unknown): Promise<number> {
  const response = await client.raw(method, path, body === undefined ? {} : { body });
  await response.arrayBuffer();
  return response.status;
}

const withKey = (node: { url: string }, key: string, projectId = service.projectId) =>
  new ApiClient(`${node.url}/api/v1/projects/${projectId}`, key);
const withToken = (node: { url: string }, token: string) => new ApiClient(`${node.url}/portal-api`, token);

const newLink = (fields: object = {}) =>
  service.project.post('/portal-links', { name: 'l', owner_id: 'owner', ...fields });

test('a key that was just used stops with its revocation, for reads and writes', async () => {
  for (let round = 0; round < 5; round++) {
    const { uid, key } = await service.project.post('/keys', { name: 'short-lived' });
    const client = withKey(service, key);
    expect(await statusOf(client, 'GET', '/endpoints')).toBe(200);
    await service.project.delete(`/keys/${uid}`);
    expect(await statusOf(client, 'GET', '/endpoints')).toBe(401);
    expect(await statusOf(client, 'POST', '/event-types', { name: `written.${round}` })).toBe(401);
  }
});

test('lookups that run while a key is revoked are not cached', async () => {
  const { uid, key } = await service.project.post('/keys', { name: 'busy' });
  const client = withKey(service, key);
  const calls = Array.from({ length: 20 }, () => statusOf(client, 'GET', '/endpoints'));
  await service.project.delete(`/keys/${uid}`);
  expect(await statusOf(client, 'GET', '/endpoints')).toBe(401);
  for (const status of await Promise.all(calls)) expect([200, 401]).toContain(status);
  expect(await statusOf(client, 'GET', '/endpoints')).toBe(401);
});

test('a portal token stops with its link, of either kind', async () => {
  const fixed = await newLink();
  const fresh = await newLink({ auth_type: 'refresh_token' });
  for (const [link, token] of [
    [fixed, fixed.token],
    [fresh, fresh.auth_key],
  ] as const) {
    expect(await statusOf(withToken(service, token), 'GET', '/endpoints')).toBe(200);
    await service.project.put(`/portal-links/${link.uid}/revoke`, undefined, 200);
    expect(await statusOf(withToken(service, token), 'GET', '/endpoints')).toBe(401);
  }
});

test('restrictions of a portal link apply at once: rights, owner, kind of token', async () => {
  const link = await newLink({ can_manage_endpoint: true });
  const client = withToken(service, link.token);
  const change = { name: 'changed', url: 'http://127.0.0.1:1', owner_id: 'owner' };
  expect(await statusOf(client, 'PUT', `/endpoints/${endpoint.uid}`, change)).toBe(202);
  await service.project.put(`/portal-links/${link.uid}`, { name: 'l', can_manage_endpoint: false });
  expect(await statusOf(client, 'PUT', `/endpoints/${endpoint.uid}`, change)).toBe(403);
  expect(await statusOf(client, 'GET', `/endpoints/${endpoint.uid}`)).toBe(200);
  await service.project.put(`/portal-links/${link.uid}`, { name: 'l', owner_id: 'other owner' });
  expect(await statusOf(client, 'GET', `/endpoints/${endpoint.uid}`)).toBe(404);
  await service.project.put(`/portal-links/${link.uid}`, { name: 'l', auth_type: 'refresh_token' });
  expect(await statusOf(client, 'GET', '/endpoints')).toBe(401);
});

test('a deleted project is closed at once to its keys, its portals and the instance key', async () => {
  const made = await service.instance.post('/projects', { name: 'to go', type: 'outgoing' });
  const projectId = made.project.uid;
  const client = withKey(service, made.api_key.key, projectId);
  const link = await client.post('/portal-links', { name: 'l', owner_id: 'owner' });
  const portal = withToken(service, link.token);
  expect(await statusOf(client, 'GET', '/endpoints')).toBe(200);
  expect(await statusOf(portal, 'GET', '/endpoints')).toBe(200);
  await service.instance.delete(`/projects/${projectId}`);
  expect(await statusOf(client, 'GET', '/endpoints')).toBe(401);
  expect(await statusOf(portal, 'GET', '/endpoints')).toBe(401);
  expect(await statusOf(service.instance, 'GET', `/projects/${projectId}/endpoints`)).toBe(404);
});

test('other nodes hear of it: they do not wait until a caller is no longer cached', async () => {
  // No entry of the cache expires meanwhile.
  const clock = slowClock();
  onTestFinished(() => clock.end());
  const { uid, key } = await service.project.post('/keys', { name: 'elsewhere' });
  const link = await newLink();
  const byKey = () => statusOf(withKey(second, key), 'GET', '/endpoints');
  const byLink = () => statusOf(withToken(second, link.token), 'GET', '/endpoints');
  expect([await byKey(), await byLink()]).toEqual([200, 200]);
  await service.project.delete(`/keys/${uid}`);
  await eventually(byKey, (status) => status !== 200);
  expect(await byLink()).toBe(200);
  await service.project.put(`/portal-links/${link.uid}/revoke`, undefined, 200);
  await eventually(byLink, (status) => status !== 200);
});

test.each(['key', 'link', 'refresh token'])('a %s that expires stops by the clock', async (kind) => {
  const expiresAt = Date.now() + 3_000;
  const expires_at = new Date(expiresAt).toISOString();
  let client: ApiClient;
  if (kind === 'key') {
    const made = await service.project.post('/keys', { name: 'ends', expires_at });
    client = withKey(second, made.key);
  } else if (kind === 'link') {
    client = withToken(second, (await newLink({ expires_at })).token);
  } else {
    const link = await newLink({ auth_type: 'refresh_token' });
    await service.database.query('update portal_tokens set expires_at = $2 where portal_link_id = $1', [
      link.uid,
      expires_at,
    ]);
    client = withToken(second, link.auth_key);
  }
  expect(await statusOf(client, 'GET', '/endpoints')).toBe(200);
  // The next answer is cached past the end.
  await delay(expiresAt - REMEMBERED_MS / 2 - Date.now());
  let lastGood = 0;
  for (;;) {
    const startedAt = Date.now();
    if ((await statusOf(client, 'GET', '/endpoints')) !== 200) break;
    lastGood = startedAt;
  }
  // The node knows the database's time to within half a round trip.
  expect((lastGood - expiresAt) / REMEMBERED_MS).toBeLessThan(0.25);
});

test('a key belongs to its project: it outlives the role and the account of its maker, and the log finds it', async () => {
  const { uid, client, auth } = await member(service, 'admin');
  const made = await client.post('/keys', { name: 'of a person who leaves' });
  const key = withKey(service, made.key);
  await service.project.put(`/people/${uid}`, { role: 'viewer' });
  expect(await statusOf(key, 'GET', '/keys')).toBe(200);
  await client.post('/keys', { name: 'another' }, 403);
  await service.project.delete(`/people/${uid}`);
  await service.instance.put(`/people/${uid}`, { is_active: false });
  expect(await statusOf(key, 'GET', '/keys')).toBe(200);
  expect(await statusOf(auth, 'GET', '/me')).toBe(401);
  const { content } = await service.project.get(`/audit?action=key.created&actorId=${uid}`);
  expect(content.map(({ resource }: Json) => resource.uid)).toEqual([made.uid]);
  await service.project.delete(`/keys/${made.uid}`);
  expect(await statusOf(key, 'GET', '/keys')).toBe(401);
});
