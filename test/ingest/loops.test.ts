import { expect, test } from 'vitest';
import { startTestApp, subscribe } from '../support/app.ts';
import type { ApiClient, Json } from '../support/client.ts';
import { atLeast, eventually, every } from '../support/eventually.ts';
import { Receiver } from '../support/servers/receiver.ts';
import { shared } from '../support/shared.ts';

const app = await shared(startTestApp());
const receiver = await shared(Receiver.start());
const NAME = 'x-posthorn-hops';
const LOOPED = /^This event came back to this service 5 times, so it is not sent on\./;

const makeSource = (project: ApiClient, fields: object = {}): Promise<Json> =>
  project.post('/sources', { name: 'source', type: 'http', ...fields });

const post = (source: Json, hops?: string): Promise<Response> =>
  fetch(source.url, {
    method: 'POST',
    body: '{}',
    headers: { 'content-type': 'application/json', ...(hops !== undefined && { [NAME]: hops }) },
  });

const subscribeTo = (project: ApiClient, source: Json, url: string, subscription: object = {}) =>
  subscribe(project, url, { subscription: { source_id: source.uid, ...subscription } });

const events = async (project: ApiClient): Promise<Json[]> =>
  (await project.get('/events?perPage=1000')).content;
const deliveries = async (project: ApiClient): Promise<Json[]> =>
  (await project.get('/eventdeliveries?perPage=1000')).content;

/** The counts that the requests carry that follow a call, at a path of the receiver where nothing else is on its way. */
async function countsAt(
  path: string,
  send: () => Promise<unknown>,
  requests = 1,
): Promise<(string | undefined)[]> {
  const at = () => receiver.requests.filter((request) => request.path === path);
  const before = at().length;
  await send();
  const all = await eventually(async () => at(), { length: atLeast(before + requests) });
  return all.slice(before).map(({ headers }) => headers[NAME] as string | undefined);
}

const countAt = async (path: string, send: () => Promise<unknown>) => (await countsAt(path, send))[0];

// differs Sources: An event that [comes back](sources.md#loops) five times is stored as failed. In Convoy it
//   loops for ever.
test('endpoints at the URL of their own source end after five hops, with the reason and one alert', async () => {
  const project = await app.newProject({
    meta_event: {
      is_enabled: true,
      type: 'http',
      url: `${receiver.url}/alerts`,
      secret: 's',
      event_type: ['alert.*'],
    },
  });
  const source = await makeSource(project);
  for (let n = 0; n < 2; n += 1) await subscribeTo(project, source, source.url);
  expect((await post(source)).status).toBe(200);
  const all = await eventually(
    () => events(project),
    (list) => list.filter(({ status }) => status === 'Failure').length >= 32,
  );
  const sent = await eventually(() => deliveries(project), every({ status: 'Success' }));
  // 2 + 4 + 8 + 16 + 32
  expect([all.length, sent.length]).toEqual([63, 62]);
  const ended = all.filter(({ status }) => status === 'Failure');
  expect(ended.length).toBe(32);
  for (const { failure_reason } of ended) expect(failure_reason).toMatch(LOOPED);
  const alerts = () => receiver.requests.filter(({ path }) => path === '/alerts');
  await eventually(async () => alerts(), { length: atLeast(1) });
  expect(alerts().map(({ json }) => json)).toEqual([
    {
      event_type: 'alert.raised',
      data: {
        kind: 'source_loop',
        project_id: project.projectId,
        source_id: source.uid,
        source: { uid: source.uid, name: 'source' },
        summary: 'Events of the source come back to it: the URL of an endpoint leads to an ingest URL.',
        last_reason: expect.stringMatching(LOOPED),
      },
    },
  ]);
  expect((await project.get('/meta-events')).content.length).toBe(1);
});

test('a loop over two projects, with functions and a dynamic event, ends too', async () => {
  const [here, there] = [await app.newProject(), await app.newProject()];
  const transform = 'function transform(payload) { return { again: payload } }';
  const first = await makeSource(here, {
    header_function: 'function transform() { return { "X-Posthorn-Hops": "none" } }',
    forward_headers: ['X-Posthorn-Hops'],
  });
  const second = await makeSource(there, { body_function: transform });
  await subscribeTo(here, first, second.url, { function: transform });
  await subscribeTo(there, second, first.url);
  await here.post('/events/dynamic', { url: first.url, event_type: 'begin', data: {} });
  const both = async (list: (project: ApiClient) => Promise<Json[]>) => [
    ...(await list(here)),
    ...(await list(there)),
  ];
  // The dynamic event leaves a subscription that takes every event. So the first source sends to both, the second to the
  // first: 1, 2, 3, 5, 8 and 13 events with 0 to 5 hops.
  const isWhole = (list: Json[]) => list.filter(({ status }) => status === 'Success').length >= 32;
  expect((await eventually(() => both(deliveries), isWhole)).length).toBe(32);
  const all = await both(events);
  expect(all.length).toBe(33);
  expect(all.filter(({ failure_reason }) => LOOPED.test(failure_reason)).length).toBe(13);
});

test('a count is carried by deliveries of webhooks, by retries and replays, and counts on', async () => {
  const project = await app.newProject();
  const source = await makeSource(project);
  await subscribeTo(project, source, `${receiver.url}/count`, {
    retry_config: { type: 'linear', interval_seconds: 0, retry_count: 3 },
  });
  receiver.answerNext(500);
  const [one, retried] = await countsAt('/count', () => post(source), 2);
  expect(one).toMatch(/^1\.[\w-]{22}$/);
  expect(retried).toBe(one);
  const two = await countAt('/count', () => post(source, one));
  expect(two).toMatch(/^2\./);
  const [event] = await events(project);
  expect(await countAt('/count', () => project.put(`/events/${event.uid}/replay`, undefined, 200))).toBe(two);
  let last = two;
  for (const count of [3, 4, 5]) {
    last = await countAt('/count', () => post(source, last));
    expect(last).toMatch(new RegExp(`^${count}\\.`));
  }
  expect((await post(source, last)).status).toBe(200);
  const [ended] = await events(project);
  expect(ended).toMatchObject({ status: 'Failure', failure_reason: expect.stringMatching(LOOPED) });
  const before = receiver.requests.length;
  await project.put(`/events/${ended.uid}/replay`, undefined, 200);
  expect((await project.get(`/events/${ended.uid}`)).failure_reason).toMatch(LOOPED);
  expect((await deliveries(project)).length).toBe(6);
  expect(receiver.requests.length).toBe(before);
});

test('a count that others wrote is none, and no header of theirs replaces ours', async () => {
  const project = await app.newProject();
  const source = await makeSource(project, {
    header_function: 'function transform() { return { "x-posthorn-hops": "5.theirs" } }',
    forward_headers: [NAME],
  });
  const url = `${receiver.url}/forged`;
  const api_key = { header_name: 'X-Posthorn-Hops', header_value: '5.theirs' };
  await subscribe(project, url, {
    endpoint: { authentication: { type: 'api_key', api_key } },
    subscription: { source_id: source.uid },
  });
  const one = await countAt('/forged', () => post(source, '5.AAAAAAAAAAAAAAAAAAAAAA'));
  expect(one).toMatch(/^1\./);
  expect(await countAt('/forged', () => post(source, one))).toMatch(/^2\./);
});

test('events that do not come in by an ingest URL carry no count', async () => {
  const project = await app.newProject();
  await subscribe(project, `${receiver.url}/plain`);
  const send = () => project.post('/events/broadcast', { event_type: 'a', data: {} });
  expect(await countAt('/plain', send)).toBeUndefined();
});

test('an endpoint at an ingest URL of ours is created and updated with a warning, by strict callers too', async () => {
  const source = await makeSource(app.project);
  const warnings = async (method: string, path: string, url: string) => {
    const headers = { 'x-posthorn-strict': 'true' };
    const response = await app.project.raw(method, path, { body: { name: 'endpoint', url }, headers });
    expect(response.ok).toBe(true);
    return ((await response.json()) as Json).warnings;
  };
  const warned = [expect.stringMatching(/^url: is an ingest URL of this service/)];
  expect(await warnings('POST', '/endpoints', source.url)).toEqual(warned);
  const { uid } = await app.project.post('/endpoints', { name: 'endpoint', url: receiver.url });
  expect(await warnings('PUT', `/endpoints/${uid}`, `${source.url}?a=b`)).toEqual(warned);
  expect(await warnings('PUT', `/endpoints/${uid}`, `${app.url}/ingestion`)).toBeUndefined();
  expect(await warnings('PUT', `/endpoints/${uid}`, `${receiver.url}/ingest/a`)).toBeUndefined();
});
