import { beforeAll, expect, test } from 'vitest';
import { verifyWebhook } from '../../../client/src/posthorn.ts';
import { portalOf, startTestApp, subscribe } from '../../support/app.ts';
import { ApiClient, type Json } from '../../support/client.ts';
import { eventually } from '../../support/eventually.ts';
import { Receiver } from '../../support/servers/receiver.ts';
import { shared } from '../../support/shared.ts';

/** A test of an endpoint before it is saved, the built-in receiver, saved views and the list of nodes. */
const app = await shared(startTestApp());
const receiver = await shared(Receiver.start());
const SECRET = 'a secret of sixteen characters or more';
let project: ApiClient;

receiver.answerAlways(({ path }, response) => {
  response.writeHead(path === '/broken' ? 500 : 200, { 'x-answer': 'yes' }).end(`answer of ${path}`);
});

beforeAll(async () => {
  project = await app.newProject();
});

const tryIt = (body: object, expected = 200, client = project): Promise<Json> =>
  client.post('/endpoints/test', body, expected);

test('an endpoint that is not saved gets a signed request, and the answer is shown', async () => {
  const attempt = await tryIt({
    endpoint: {
      url: `${receiver.url}/unsaved`,
      secret: SECRET,
      authentication: { type: 'api_key', api_key: { header_name: 'X-Token', header_value: 'hush-hush' } },
    },
    data: { big: 12345678901234567890n.toString(), nested: ['ü'] },
  });
  expect(attempt).toMatchObject({
    status: true,
    http_status: '200 OK',
    outcome: 'http_200',
    response_data: 'answer of /unsaved',
    msg_id: '',
  });
  expect(attempt.response_http_header['x-answer']).toBe('yes');
  expect(attempt.request_http_header['X-Token']).toBe('***');
  const [request] = await receiver.received(1);
  expect(request?.headers).toMatchObject({ 'x-posthorn-test': 'true', 'x-token': 'hush-hush' });
  expect(request?.body.toString()).toBe('{"big":"12345678901234567890","nested":["ü"]}');
  await verifyWebhook(
    { headers: request?.headers as Record<string, string>, body: request?.body ?? '' },
    SECRET,
  );
  expect((await project.get('/endpoints')).content).toEqual([]);
  expect((await project.get('/events')).content).toEqual([]);
  expect((await project.get('/eventdeliveries')).content).toEqual([]);
});

test('a saved endpoint is tried with changes that are not saved', async () => {
  const { endpoint } = await subscribe(project, `${receiver.url}/saved`, { endpoint: { secret: SECRET } });
  const saved = await tryIt({ endpoint_id: endpoint.uid });
  expect(saved).toMatchObject({ url: `${receiver.url}/saved`, endpoint_id: endpoint.uid, status: true });
  const changed = await tryIt({ endpoint_id: endpoint.uid, endpoint: { url: `${receiver.url}/broken` } });
  expect(changed).toMatchObject({ status: false, http_status: '500 Internal Server Error' });
  expect((await project.get(`/endpoints/${endpoint.uid}`)).url).toBe(`${receiver.url}/saved`);
  const refused = await tryIt({ endpoint: { url: 'http://127.0.0.1:1/' } });
  expect(refused).toMatchObject({ status: false, http_status: '', outcome: 'connection_refused' });
  expect(refused.error).not.toBe('');
  expect((await project.get('/eventdeliveries')).content).toEqual([]);
});

test('a test that cannot be sent is refused with the field', async () => {
  for (const body of [
    {},
    { endpoint: {} },
    { endpoint: { url: 'ftp://a' } },
    { endpoint: { url: 'http://user:pass@a/' } },
  ])
    expect((await tryIt(body, 400)).message).toContain('url');
  await tryIt({ endpoint_id: '01ARZ3NDEKTSV4RRFFQ69G5FAV' }, 404);
  const small = await app.newProject({ max_payload_read_size: 100 });
  await tryIt({ endpoint: { url: receiver.url }, data: 'x'.repeat(200) }, 413, small);
});

test('a portal needs the right to manage endpoints, and tests only its own', async () => {
  const { endpoint } = await subscribe(project, receiver.url, { endpoint: { owner_id: 'another' } });
  const viewer = await portalOf(project, 'acme');
  await tryIt({ endpoint: { url: receiver.url } }, 403, viewer);
  const manager = await portalOf(project, 'acme', { can_manage_endpoint: true });
  expect(await tryIt({ endpoint: { url: receiver.url } }, 200, manager)).toMatchObject({ status: true });
  await tryIt({ endpoint_id: endpoint.uid }, 404, manager);
  const narrow = await portalOf(project, 'acme', { can_manage_endpoint: true, event_types: ['a'] });
  await tryIt({ endpoint: { url: receiver.url } }, 403, narrow);
  expect(await tryIt({ endpoint: { url: receiver.url }, event_type: 'a' }, 200, narrow)).toMatchObject({
    status: true,
  });
});

test('the built-in receiver takes deliveries under the strictest egress rule, and shows them', async () => {
  const strict = await startTestApp({ POSTHORN_EGRESS: 'public' });
  try {
    const { url, requests } = await strict.project.get('/receiver');
    expect(requests).toEqual([]);
    const { endpoint } = await subscribe(strict.project, url, {
      endpoint: { rate_limit: 100, rate_limit_duration: 1 },
    });
    const event = await strict.project.post('/events/broadcast', {
      event_type: 'first',
      data: { hello: 'Zoë' },
    });
    const seen = await eventually(() => strict.project.get('/receiver'), { requests: { length: 1 } });
    expect(seen.requests[0]).toMatchObject({
      event_id: event.uid,
      event_type: 'first',
      endpoint_id: endpoint.uid,
      body: '{"hello":"Zoë"}',
      headers: { 'Content-Type': 'application/json' },
    });
    const [delivery] = (await strict.project.get('/eventdeliveries')).content;
    expect(delivery).toMatchObject({ status: 'Success', last_outcome: 'http_200' });
    const broken = await strict.project.post(
      '/endpoints/test',
      { endpoint: { url: `${url}status/503` } },
      200,
    );
    expect(broken).toMatchObject({ status: false, http_status: '503', ip_address: '' });
    const other = await strict.newProject();
    expect((await other.get('/receiver')).requests).toEqual([]);
  } finally {
    await strict.stop();
  }
});

test('views are saved, replaced and deleted, for one project', async () => {
  const [one, other] = [await app.newProject(), await app.newProject()];
  const view = { page: 'deliveries', name: 'Failing', query: 'status=Failure&startDate=2h' };
  const saved = await one.post('/views', view);
  expect(saved).toMatchObject(view);
  const replaced = await one.post('/views', { ...view, query: 'status=Retry' });
  expect(replaced).toMatchObject({ uid: saved.uid, query: 'status=Retry' });
  await one.post('/views', { ...view, page: 'events', query: '' });
  expect((await one.get('/views')).map(({ page, query }: Json) => [page, query])).toEqual([
    ['deliveries', 'status=Retry'],
    ['events', ''],
  ]);
  expect(await other.get('/views')).toEqual([]);
  await other.delete(`/views/${saved.uid}`, 404);
  await one.delete(`/views/${saved.uid}`);
  await one.delete(`/views/${saved.uid}`, 404);
  expect(await one.get('/views')).toHaveLength(1);
  for (const bad of [
    {},
    { ...view, name: '' },
    { ...view, name: 'x'.repeat(101) },
    { ...view, query: 'x'.repeat(4001) },
  ])
    expect((await one.post('/views', bad, 400)).code).toBe('validation_failed');
});

test('a project has at most 500 views', async () => {
  const full = await app.newProject();
  await app.database.query(
    `insert into views (id, project_id, page, name, query)
     select 'view ' || $1 || n, $1, 'events', n::text, '' from generate_series(1, 500) n`,
    [full.projectId],
  );
  expect((await full.post('/views', { page: 'events', name: 'one more', query: '' }, 400)).message).toContain(
    '500',
  );
  await full.post('/views', { page: 'events', name: '1', query: 'replaced' });
});

test('the nodes are listed for the instance key only', async () => {
  const nodes = await app.instance.get('/nodes');
  expect(nodes).toHaveLength(1);
  expect(nodes[0]).toMatchObject({ uid: app.app.engine.nodeId, is_alive: true });
  expect(nodes[0].roles).toContain('deliver');
  await app.database.query("update nodes set beat_at = now() - interval '11 seconds'");
  const silent = await app.instance.get('/nodes');
  // Its next beat may have come in between.
  expect(silent).toHaveLength(1);
  const root = new ApiClient(`${app.url}/api/v1`, project.key);
  expect((await root.get('/nodes', 403)).code).toBe('instance_key_required');
});
