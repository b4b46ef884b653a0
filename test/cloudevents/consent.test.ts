import type { ServerResponse } from 'node:http';
import { expect, test } from 'vitest';
import { portalOf, startTestApp } from '../support/app.ts';
import { ApiClient, type Json } from '../support/client.ts';
import { eventually } from '../support/eventually.ts';
import { type Received, Receiver } from '../support/servers/receiver.ts';
import { shared } from '../support/shared.ts';

const app = await shared(startTestApp());
const receiver = await shared(Receiver.start());
const ORIGIN = 'hooks.example.com';

/** The answers to OPTIONS, by path. Others get none of these headers. */
const answers: Record<string, Record<string, string>> = {
  '/any': { 'webhook-allowed-origin': '*' },
  '/ours': { 'webhook-allowed-origin': 'Hooks.Example.com', 'webhook-allowed-rate': '120' },
  '/free': { 'webhook-allowed-origin': ORIGIN, 'webhook-allowed-rate': '*' },
  '/other': { 'webhook-allowed-origin': 'other.example.com' },
};
receiver.answerAlways((request: Received, response: ServerResponse) => {
  const isAsked = request.method === 'OPTIONS';
  response.writeHead(isAsked && request.path === '/error' ? 405 : 200, isAsked ? answers[request.path] : {});
  response.end();
});

const at = (path: string) => `${receiver.url}${path}`;
const asked = (path: string) => receiver.at(path).filter(({ method }) => method === 'OPTIONS');

// proves Projects: webhook_origin
test('a new address is asked for its consent, and refused without one', async () => {
  const project = await app.newProject({ webhook_origin: ORIGIN });
  const make = (path: string, expected = 201, more: object = {}): Promise<Json> =>
    project.post('/endpoints', { name: 'n', url: at(path), ...more }, expected);
  expect(await make('/any')).toMatchObject({ rate_limit: 0 });
  expect(asked('/any').map(({ headers, body }) => [headers['webhook-request-origin'], body.length])).toEqual([
    [ORIGIN, 0],
  ]);
  expect(await make('/free')).toMatchObject({ rate_limit: 0 });
  expect(await make('/ours')).toMatchObject({ rate_limit: 120, rate_limit_duration: 60 });
  expect(await make('/ours', 201, { rate_limit: 3, rate_limit_duration: 1 })).toMatchObject({
    rate_limit: 3,
  });
  for (const [path, why] of [
    ['/none', 'the answer to OPTIONS has no WebHook-Allowed-Origin'],
    ['/other', 'the answer to OPTIONS allows another origin'],
    ['/error', 'OPTIONS was answered with 405'],
  ] as const)
    expect((await make(path, 400)).message).toBe(`url: must allow webhooks of ${ORIGIN}: ${why}`);
  const closed = await project.post('/endpoints', { name: 'n', url: 'http://127.0.0.1:9/' }, 400);
  expect(closed.message).toContain(`url: must allow webhooks of ${ORIGIN}: OPTIONS failed`);
  expect(await make('/none', 201, { delivery: 'pull', url: '' })).toMatchObject({ delivery: 'pull' });
  expect((await project.get('/endpoints')).content).toHaveLength(5);
});

test('a changed address is asked too, an unchanged one is not', async () => {
  const project = await app.newProject({ webhook_origin: ORIGIN });
  const endpoint = await project.post('/endpoints', { name: 'n', url: at('/any'), owner_id: 'ann' });
  const change = (fields: object, expected = 202) =>
    project.put(`/endpoints/${endpoint.uid}`, fields, expected);
  const before = asked('/any').length;
  await change({ name: 'next', url: at('/any') });
  await change({ description: 'none' });
  expect(asked('/any')).toHaveLength(before);
  expect((await change({ url: at('/none') }, 400)).message).toContain('must allow webhooks');
  expect(await change({ url: at('/ours') })).toMatchObject({ url: at('/ours'), rate_limit: 120 });
  const portal = await portalOf(project, 'ann', { can_manage_endpoint: true });
  await portal.put(`/endpoints/${endpoint.uid}`, { url: at('/other') }, 400);
  expect((await project.get(`/endpoints/${endpoint.uid}`)).url).toBe(at('/ours'));
});

test('a dynamic event to a new address needs its consent, and deliveries carry the origin', async () => {
  const project = await app.newProject({ webhook_origin: ORIGIN });
  const send = (path: string, expected = 201) =>
    project.post('/events/dynamic', { url: at(path), event_type: 'a', data: { n: 1 } }, expected);
  const refused = await send('/none');
  expect(refused).toMatchObject({
    status: 'Failure',
    failure_reason: expect.stringContaining('has no WebHook-Allowed-Origin'),
  });
  expect((await project.get('/endpoints')).content).toEqual([]);
  const sent = await send('/ours');
  expect(sent.status).toBe('Success');
  expect(await project.get(`/endpoints/${sent.endpoints[0]}`)).toMatchObject({ rate_limit: 120 });
  const isDelivered = () => receiver.at('/ours').find(({ method }) => method === 'POST');
  const delivered = await eventually(isDelivered, (one) => one !== undefined);
  expect(delivered?.headers['webhook-request-origin']).toBe(ORIGIN);
  const count = asked('/ours').length;
  await send('/ours');
  expect(asked('/ours')).toHaveLength(count);
  await project.put('', { config: { verify_dynamic_events: true } });
  expect((await send('/none', 400)).message).toContain('has no WebHook-Allowed-Origin');
});

test('nothing is asked in a dry run, nor for an endpoint that the caller may not change', async () => {
  const project = await app.newProject({ webhook_origin: ORIGIN });
  const fields = { name: 'n', url: at('/dry') };
  const headers = { 'x-posthorn-dry-run': 'true' };
  await project.call('POST', '/endpoints', { body: fields, headers, expected: 201 });
  const endpoint = await project.post('/endpoints', { name: 'n', url: at('/any'), owner_id: 'ann' });
  await project.call('PUT', `/endpoints/${endpoint.uid}`, { body: fields, headers, expected: 202 });
  await project.put('/endpoints/01ARZ3NDEKTSV4RRFFQ69G5FAV', fields, 404);
  const link = { name: 'bob', owner_id: 'bob', can_manage_endpoint: true };
  const { token } = await project.post('/portal-links', link);
  await new ApiClient(`${app.url}/portal-api`, token).put(`/endpoints/${endpoint.uid}`, fields, 404);
  expect(asked('/dry')).toEqual([]);
  await project.put(`/endpoints/${endpoint.uid}`, fields, 400);
  expect(asked('/dry')).toHaveLength(1);
});

test('a batch asks ten new addresses, each once, and refuses the rest', async () => {
  const project = await app.newProject({ webhook_origin: ORIGIN });
  const event = (path: string, secret: string) => ({
    kind: 'dynamic',
    url: at(path),
    secret,
    event_type: 'a',
    data: {},
  });
  const paths = Array.from({ length: 12 }, (_, n) => `/batch/${n}`);
  const events = paths.flatMap((path) => [event(path, 'one'), event(path, 'two')]);
  const { results } = await project.post('/events/batch', { events }, 200);
  expect(paths.map((path) => asked(path).length)).toEqual([...Array(10).fill(1), 0, 0]);
  expect(results.slice(0, 20).map(({ status }: Json) => status)).toEqual(Array(20).fill('stored'));
  for (const { status, message } of results.slice(20))
    expect([status, message]).toEqual(['refused', expect.stringContaining('too many new URLs')]);
});

test('without the setting, and in projects of version 0.1.0, no address is asked', async () => {
  const project = await app.newProject();
  await app.database.query(`update projects set config = config - 'webhook_origin' where id = $1`, [
    project.projectId,
  ]);
  await project.post('/endpoints', { name: 'n', url: at('/silent') });
  expect(asked('/silent')).toEqual([]);
  await project.put('', { config: { webhook_origin: ORIGIN } });
  expect((await project.get('')).config.webhook_origin).toBe(ORIGIN);
  await project.post('/endpoints', { name: 'n', url: at('/silent') }, 400);
  expect(asked('/silent')).toHaveLength(1);
  for (const webhook_origin of ['https://a.example', 'a b', 'x'.repeat(254)])
    await project.put('', { config: { webhook_origin } }, 400);
});
