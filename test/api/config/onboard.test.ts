import { beforeEach, expect, test } from 'vitest';
import { startTestApp } from '../../support/app.ts';
import type { ApiClient, Json } from '../../support/client.ts';
import { Receiver } from '../../support/servers/receiver.ts';
import { endedJob } from '../../support/settled.ts';
import { shared } from '../../support/shared.ts';

const app = await shared(startTestApp());
const receiver = await shared(Receiver.start());
let project: ApiClient;

beforeEach(async () => {
  project = await app.newProject();
});

async function upload(csv: string, query = ''): Promise<Response> {
  const form = new FormData();
  form.set('file', new Blob([csv], { type: 'text/csv' }), 'endpoints.csv');
  return fetch(`${project.base}/onboard${query}`, {
    method: 'POST',
    headers: { authorization: project.key },
    body: form,
  });
}

test('items become endpoints with subscriptions and credentials, which the job stores sealed and then deletes', async () => {
  const items = Array.from({ length: 120 }, (_, n) => ({
    name: `endpoint ${n}`,
    url: `${receiver.url}/${n}`,
    event_type: n === 0 ? 'only.first' : '',
    ...(n === 0 && { auth_username: 'ann', auth_password: 'very secret' }),
  }));
  const job = await project.post('/onboard', { items }, 202);
  expect(job).toMatchObject({ type: 'onboard', total: 120, batch_count: 3, total_items: 120 });
  expect(job.message).toContain(job.uid);
  const rows = await app.database.query(
    'select input, encode(sealed, $2) as sealed from jobs where id = $1',
    [job.uid, 'escape'],
  );
  expect(JSON.stringify(rows)).not.toContain('very secret');
  expect(await endedJob(project, job)).toMatchObject({ status: 'completed', done: 120, failed: 0 });
  const [forgotten] = await app.database.query('select sealed from jobs where id = $1', [job.uid]);
  expect(forgotten).toEqual({ sealed: null });
  const { content: endpoints } = await project.get('/endpoints?perPage=1000&sort=ASC');
  expect(endpoints.map((endpoint: Json) => endpoint.name)).toEqual(items.map((item) => item.name));
  expect(endpoints[0].authentication).toEqual({
    type: 'basic_auth',
    basic_auth: { username: 'ann', password: 'very secret' },
  });
  const { content: subscriptions } = await project.get('/subscriptions?perPage=1000&sort=ASC');
  expect(subscriptions).toHaveLength(120);
  expect(subscriptions[0].filter_config.event_types).toEqual(['only.first']);
  expect(subscriptions[1].filter_config.event_types).toEqual(['*']);
  const event = await project.post('/events/broadcast', { event_type: 'x', data: {} });
  expect(event.endpoints).toHaveLength(119);
});

test('a CSV file works like JSON', async () => {
  const csv = `\ufeffname,url,event_type,auth_username,auth_password\r\n"Zoë, Inc",${receiver.url}/zoe,a.b,u,"p,""w"""\r\nplain,${receiver.url}/plain\r\n`;
  const answer = await upload(csv);
  expect(answer.status).toBe(202);
  const job = ((await answer.json()) as Json).data;
  await endedJob(project, job);
  const { content } = await project.get('/endpoints?sort=ASC');
  expect(content.map((endpoint: Json) => endpoint.name)).toEqual(['Zoë, Inc', 'plain']);
  expect(content[0].authentication.basic_auth).toEqual({ username: 'u', password: 'p,"w"' });
  expect(content[1].authentication).toBeNull();
});

test('every bad row is named, and the good ones create nothing', async () => {
  const items = [
    { name: 'good', url: `${receiver.url}/good` },
    { name: '', url: 'nonsense' },
    { name: 'x', url: 'http://169.254.169.254/' },
    { url: `${receiver.url}/y`, auth_username: 'only' },
  ];
  const answer = await project.post('/onboard', { items }, 400);
  expect(answer.code).toBe('validation_failed');
  expect(answer.data).toMatchObject({ total_rows: 4, valid_count: 1 });
  expect(answer.data.errors.map((error: Json) => [error.row, error.field])).toEqual([
    [2, 'name'],
    [2, 'url'],
    [3, 'url'],
    [4, 'name'],
    [4, 'auth_username/auth_password'],
  ]);
  const checked = await project.post('/onboard?dry_run=true', { items }, 200);
  expect(checked).toEqual(answer.data);
  expect(await project.post('/onboard?dry_run=true', { items: items.slice(0, 1) }, 200)).toEqual({
    total_rows: 1,
    valid_count: 1,
    errors: [],
  });
  expect((await project.get('/jobs')).content).toEqual([]);
  expect((await project.get('/endpoints')).content).toEqual([]);
});

test('empty, too many, malformed and other types are refused', async () => {
  const item = { name: 'a', url: receiver.url };
  expect((await project.post('/onboard', { items: [] }, 400)).message).toContain('items');
  expect(
    (await project.post('/onboard', { items: Array.from({ length: 1001 }, () => item) }, 400)).message,
  ).toContain('1000');
  await project.post('/onboard', { items: [{ name: 7, url: receiver.url }] }, 400);
  await project.post('/onboard', {}, 400);
  const misspelt = (await (await upload(`name,url,event_typ\na,${receiver.url},x\n`)).json()) as Json;
  expect(misspelt.message).toBe('file: unknown column event_typ; did you mean event_type?');
  for (const query of ['dry_run=1', 'dryrun=true'])
    await project.post(`/onboard?${query}`, { items: [item] }, 400);
  const typo = { ...item, event_typ: 'x' };
  expect((await project.post('/onboard', { items: [typo] }, 400)).message).toBe(
    'unknown field items.0.event_typ; did you mean items.0.event_type?',
  );
  for (const csv of ['', 'url\nx', 'name,url\n"never ends']) expect((await upload(csv)).status).toBe(400);
  const text = await project.raw('POST', '/onboard', {
    body: 'name,url',
    headers: { 'content-type': 'text/csv' },
  });
  expect(text.status).toBe(415);
  const bare = await project.raw('POST', '/onboard', {
    body: 'x',
    headers: { 'content-type': 'multipart/form-data' },
  });
  expect(bare.status).toBe(400);
});

test('a problem of a CSV file names the line, and one item is in the singular', async () => {
  const csv = `name,url\na,${receiver.url}/a\n\nb,${receiver.url}/b\nc,\n`;
  const answer = (await (await upload(csv)).json()) as Json;
  expect(answer.message).toBe('1 of 3 items is not valid; line 5: url is required');
  expect(answer.data.errors).toEqual([{ row: 3, line: 5, field: 'url', message: 'is required' }]);
  const items = [{ url: `${receiver.url}/a` }, { name: 'b' }];
  const json = await app.project.post('/onboard', { items }, 400);
  expect(json.message).toBe('2 of 2 items are not valid; row 1: name is required');
});
