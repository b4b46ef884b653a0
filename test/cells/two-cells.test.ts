import { once } from 'node:events';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { WebSocket } from 'ws';
import { httpSource, portalOf, subscribe } from '../support/app.ts';
import { ApiClient, type Json } from '../support/client.ts';
import { asAdmin } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { Receiver } from '../support/servers/receiver.ts';
import { member } from '../support/session-client.ts';
import { startTwoCells, type TwoCells } from './service.ts';

let cells: TwoCells;
let receiver: Receiver;
let first: ApiClient;
let second: ApiClient;
const endpoints = new Map<ApiClient, string>();

beforeAll(async () => {
  [cells, receiver] = await Promise.all([startTwoCells(), Receiver.start()]);
  first = await cells.projectIn('1');
  second = await cells.projectIn('2');
  for (const project of [first, second]) {
    const { endpoint } = await subscribe(project, `${receiver.url}/${project.projectId}`);
    endpoints.set(project, endpoint.uid);
  }
});

afterAll(async () => {
  await cells.stop();
  await receiver.stop();
});

const send = (project: ApiClient, expected = 201) =>
  project.post('/events', { event_type: 'a', data: { n: 1 }, endpoint_id: endpoints.get(project) }, expected);
const arrived = (project: ApiClient) =>
  receiver.requests.filter(({ path }) => path === `/${project.projectId}`).length;

async function delivers(project: ApiClient): Promise<void> {
  const before = arrived(project);
  await send(project);
  await eventually(() => arrived(project), before + 1);
}

const at = (node: { url: string }, project: ApiClient) =>
  new ApiClient(project.base.replace(cells.node.url, node.url), project.key);

describe('a node that serves two cells', () => {
  test('makes each project in the cell that is named, or in the one with the fewest', async () => {
    expect(await cells.second.query('select id from projects')).toEqual([{ id: second.projectId }]);
    const { project } = await cells.instance.post('/projects', { name: 'anywhere', type: 'outgoing' });
    const inSecond = await cells.second.query('select id from projects where id = $1', [project.uid]);
    expect(inSecond).toHaveLength(1);
    const refused = await cells.instance.post('/projects', { name: 'x', type: 'outgoing', cell: '3' }, 400);
    expect(refused.fields).toEqual([{ field: 'cell', problem: 'must be one of 1, 2' }]);
    const taken = await cells.instance.post(
      '/projects',
      { name: 'anywhere', type: 'outgoing', cell: '1' },
      409,
    );
    expect(taken.code).toBe('name_taken');
    const { name } = await first.get('');
    await first.put('', { name: 'anywhere' }, 409);
    expect((await first.get('')).name).toBe(name);
    await first.put('', { name });
    const repeated = {
      body: { name: 'twice', type: 'outgoing' },
      expected: 201,
      headers: { 'idempotency-key': 'twice' },
    };
    const once = await cells.instance.call('POST', '/projects', repeated);
    expect(await cells.instance.call('POST', '/projects', repeated)).toEqual(once);
  });

  test('delivers for both, and lists what is in both', async () => {
    await delivers(first);
    await delivers(second);
    const listed: Json[] = await cells.instance.get('/projects');
    const ids = listed.map(({ uid }) => uid);
    expect(ids).toEqual(expect.arrayContaining([first.projectId, second.projectId]));
    expect(ids).toEqual(ids.toSorted((a, b) => (a < b ? 1 : -1)));
    const nodes: Json[] = await cells.instance.get('/nodes');
    expect(new Set(nodes.map(({ cell }) => cell))).toEqual(new Set(['1', '2']));
  });

  test('a key opens its own project only, in any cell', async () => {
    expect((await new ApiClient(`${cells.node.url}/api/v1`, second.key).get('/projects'))[0].uid).toBe(
      second.projectId,
    );
    await new ApiClient(first.base, second.key).get('/endpoints', 401);
    await new ApiClient(second.base, first.key).get('/endpoints', 401);
    // Neither is asked for in a statement that others share.
    await new ApiClient(`${cells.node.url}/api/v1/projects/%00`, cells.instance.key).get('/endpoints', 400);
    expect((await fetch(`${cells.node.url}/portal?project=%00`)).status).toBe(200);
    await new ApiClient(second.base, 'CO.invented.key').get('/endpoints', 401);
    await new ApiClient(`${cells.node.url}/api/v1/projects/01UNKNOWN`, cells.instance.key).get(
      '/endpoints',
      404,
    );
  });

  test('people sign in at home and work in every cell', async () => {
    const person = await member({ ...cells.home, ...cells, url: cells.node.url } as never, 'admin', second);
    expect((await person.client.get('/endpoints')).content).toHaveLength(1);
    const me = await person.auth.get('/me');
    expect(me.projects).toMatchObject([{ uid: second.projectId, role: 'admin' }]);
    expect(await person.client.get('/people')).toMatchObject([{ email: person.email }]);
    expect(await person.client.at(first.base).get('/endpoints', 403)).toMatchObject({ status: false });
  });

  test('ingest URLs and portal links lead to the cell of their project', async () => {
    const source = await httpSource(second);
    const portal = await portalOf(second, 'owner');
    expect((await portal.get('/endpoints')).content).toEqual([]);
    await new ApiClient(`${cells.node.url}/portal-api`, 'invented').get('/endpoints', 401);
    const sent = await fetch(`${cells.node.url}/ingest/${source.mask_id}`, { method: 'POST', body: '{}' });
    expect(sent.status).toBe(200);
    const unknown = await fetch(`${cells.node.url}/ingest/unknown`, { method: 'POST', body: '{}' });
    expect(unknown.status).toBe(404);
    const page = await fetch(`${cells.node.url}/portal?project=${second.projectId}`);
    expect(page.status).toBe(200);
  });

  test('programs listen for projects of every cell', async () => {
    const listening = new WebSocket(`${second.base.replace('http', 'ws')}/listen`, {
      headers: { authorization: `Bearer ${second.key}` },
    });
    await once(listening, 'open');
    listening.close();
    const refused = new WebSocket(`${second.base.replace('http', 'ws')}/listen`);
    const [error] = (await once(refused, 'error').catch((reason: Error) => [reason])) as [Error];
    expect(error.message).toContain('401');
  });

  test('health and metrics name the cells', async () => {
    const ready = (await (await fetch(`${cells.node.url}/readyz?verbose`)).json()) as Json;
    expect(ready.data).toEqual([
      { name: 'cell 1', is_ready: true },
      { name: 'cell 2', is_ready: true },
    ]);
    const page = await (await fetch(`${cells.node.url}/metrics`)).text();
    expect(page).toContain('posthorn_database_up{cell="1"} 1');
    expect(page).toContain('posthorn_database_up{cell="2"} 1');
    expect(page.match(/# TYPE posthorn_database_up /g)).toHaveLength(1);
    // The window of a process is divided among its cells.
    expect(page).toContain('posthorn_window_size{cell="2"} 1500');
  });

  // proves Instance: POSTHORN_CELLS
  test('a node delivers only for the cells of its setting, and takes calls for all', async () => {
    const node = await cells.addNode({ POSTHORN_CELLS: '2', POSTHORN_ROLES: 'api,deliver' });
    const roles = (database: { query(text: string): Promise<object[]> }) =>
      database.query("select roles from nodes where roles in ('api', 'api,deliver')");
    expect(await roles(cells.home.database)).toEqual([{ roles: 'api' }]);
    expect(await roles(cells.second)).toEqual([{ roles: 'api,deliver' }]);
    await at(node, first).get('/endpoints');
    await node.stop();
    await expect(cells.addNode({ POSTHORN_CELLS: '2,9' })).rejects.toThrow(
      'POSTHORN_CELLS names 9, and the cells are 1, 2',
    );
  });
});

describe('a cell that is away', () => {
  test('is one too whose address leads to the database of another cell', async () => {
    await cells.second.query('update cell_identity set cell_id = 9');
    const late = await cells.addNode();
    const ready = (await (await fetch(`${late.url}/readyz?verbose`)).json()) as Json;
    expect(ready.data[1]).toEqual({ name: 'cell 2', is_ready: false, reason: 'unusable' });
    await at(late, second).get('/endpoints', 503);
    await cells.second.query('update cell_identity set cell_id = 2');
    await late.stop();
  });

  test('costs only its own projects', async () => {
    cells.relays.second.cut();
    const late = await cells.addNode();
    await eventually(() => at(late, second).raw('GET', '/endpoints'), { status: 503 });
    expect((await at(late, second).raw('GET', '/endpoints')).headers.get('retry-after')).toBe('1');
    await delivers(first);
    const answer = await new ApiClient(`${late.url}/api/v1`, cells.instance.key).raw('GET', '/projects');
    const { data, warnings } = (await answer.json()) as Json;
    expect(data.map(({ uid }: Json) => uid)).toContain(first.projectId);
    expect(warnings).toEqual(['Cell 2 cannot be reached: what it has is missing.']);
    const ready = (await (await fetch(`${late.url}/readyz?verbose`)).json()) as Json;
    expect(ready.data).toEqual([
      { name: 'cell 1', is_ready: true },
      { name: 'cell 2', is_ready: false, reason: 'unreachable' },
    ]);
    cells.relays.second.mend();
    await eventually(() => at(late, second).raw('GET', '/endpoints'), { status: 200 });
    await delivers(second);
    await late.stop();
  });

  test('a home that is away stops people and the instance key, and nothing else, also on a node that starts then', async () => {
    cells.relays.home.cut();
    await cells.instance.get('/projects', 503);
    await new ApiClient(second.base, cells.instance.key).get('/endpoints', 503);
    await delivers(second);
    const late = await cells.addNode();
    await at(late, second).get('/endpoints');
    expect(await at(late, first).get('/endpoints', 503)).toMatchObject({ code: 'cell_unavailable' });
    expect(
      await new ApiClient(`${late.url}/auth`, '').post(
        '/sign-in',
        { email: 'a@example.com', password: 'b' },
        503,
      ),
    ).toMatchObject({ code: 'home_unavailable' });
    cells.relays.home.mend();
    await eventually(() => at(late, first).raw('GET', '/endpoints'), { status: 200 });
    await delivers(first);
  });

  test('is one too that refuses the sign-in, and is named in lists', async () => {
    const { name } = cells.second;
    await asAdmin(`alter database ${name} allow_connections false`);
    await cells.second.query(
      'select pg_terminate_backend(pid) from pg_stat_activity where datname = $1 and pid <> pg_backend_pid()',
      [name],
    );
    await eventually(() => second.raw('GET', '/endpoints'), { status: 503 });
    const answer = await cells.instance.raw('GET', '/projects');
    const { status, data, warnings } = (await answer.json()) as Json;
    expect([status, warnings]).toEqual([true, ['Cell 2 cannot be reached: what it has is missing.']]);
    expect(data.map(({ uid }: Json) => uid)).toContain(first.projectId);
    expect(await second.get('/endpoints', 503)).toMatchObject({ reason: 'refused' });
    const ready = (await (await fetch(`${cells.node.url}/readyz?verbose`)).json()) as Json;
    expect(ready.data[1]).toEqual({ name: 'cell 2', is_ready: false, reason: 'refused' });
    await asAdmin(`alter database ${name} allow_connections true`);
    await delivers(second);
  });
});
