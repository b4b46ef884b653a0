import { beforeAll, describe, expect, test } from 'vitest';
import type { ConfigChange, ConfigChanges } from '../../../src/control/config-changes.ts';
import { firstIdAt } from '../../../src/domain/ids.ts';
import { deleteSubscriptions } from '../../../src/store/changes/subscription-writes.ts';
import type { Queryable } from '../../../src/store/database/database.ts';
import { startTestApp, subscribe } from '../../support/app.ts';
import { ApiClient, type Json } from '../../support/client.ts';
import { eventually } from '../../support/eventually.ts';
import { Receiver } from '../../support/servers/receiver.ts';
import { completedJob } from '../../support/settled.ts';
import { shared } from '../../support/shared.ts';

const app = await shared(startTestApp());
const receiver = await shared(Receiver.start());
let keyId: string;
let count = 0;

beforeAll(async () => {
  [{ uid: keyId }] = await app.project.get('/keys');
});

const list = async (query = '', client = app.project): Promise<Json[]> =>
  (await client.get(`/audit?perPage=1000${query}`)).content;

/** A project of its own, with its key. */
async function newProject(): Promise<{ id: string; client: ApiClient; keyId: string }> {
  count += 1;
  const made = await app.instance.post('/projects', { name: `audit ${count}`, type: 'outgoing' });
  const { uid } = made.project;
  const client = new ApiClient(`${app.url}/api/v1/projects/${uid}`, made.api_key.key);
  return { id: uid, client, keyId: made.api_key.uid };
}

test('the actor of the first start is the service, and the instance key belongs to no project', async () => {
  const entries = await list('&sort=ASC', app.instance);
  const service = { type: 'instance', uid: null, credential: null, address: null, via: null };
  expect(entries.slice(0, 3).map(({ action, actor, project_id }) => ({ action, actor, project_id }))).toEqual(
    [
      { action: 'project.created', actor: service, project_id: app.projectId },
      { action: 'key.created', actor: service, project_id: app.projectId },
      { action: 'key.created', actor: service, project_id: null },
    ],
  );
});

test.each([
  ['j%C3%B6rg', { type: 'cli', uid: 'jörg', credential: /^\w{26}$/, address: '127.0.0.1', via: null }],
  ['%', 'instance_key'],
  ['%00', 'instance_key'],
  ['x'.repeat(257), 'instance_key'],
])('the instance key may name the user of a command: %s', async (name, expected) => {
  const { id, client } = await newProject();
  const headers = { 'X-Posthorn-Cli-User': name };
  const body = { name: 'by command' };
  const instance = new ApiClient(client.base, app.instance.key);
  const made = await instance.call('POST', '/keys', { body, headers, expected: 201 });
  const [entry] = await list(`&projectId=${id}&resourceId=${made.uid}`, app.instance);
  if (typeof expected === 'string') expect(entry?.actor.type).toBe(expected);
  else expect(entry?.actor).toEqual({ ...expected, credential: expect.stringMatching(expected.credential) });
  await client.call('POST', '/keys', { body, headers, expected: 201 });
  const actors = (await list('&action=key.created', client)).map(({ actor }) => actor.type);
  expect(actors[0]).toBe('api_key');
});

test('no caller can say by a header that a tool of an assistant made its call', async () => {
  const { client, keyId } = await newProject();
  const headers = { 'X-Posthorn-Via': 'mcp/retry_write' };
  const made = await client.call('POST', '/keys', { body: { name: 'k' }, headers, expected: 201 });
  const [entry] = await list(`&resourceId=${made.uid}`, client);
  expect(entry?.actor).toMatchObject({ type: 'api_key', uid: keyId, via: null });
});

test('an endpoint disabled by the service is recorded with the service as actor and the reason', async () => {
  const gone = await Receiver.start();
  gone.answerAlways(410);
  const { endpoint } = await subscribe(app.project, gone.url, { eventTypes: ['gone'] });
  await app.project.post('/events/broadcast', { event_type: 'gone', data: {} });
  const [entry] = await eventually(() => list(`&action=endpoint.disabled&resourceId=${endpoint.uid}`), {
    length: 1,
  });
  expect(entry).toMatchObject({
    actor: { type: 'instance', uid: null },
    before: { status: 'active' },
    after: { status: 'inactive', reason: 'it answered 410 Gone' },
  });
  await gone.stop();
});

test('the actor of an onboarding is the caller who started it', async () => {
  const { client, keyId: starter } = await newProject();
  const items = Array.from({ length: 60 }, (_, n) => ({ name: `e${n}`, url: receiver.url }));
  const job = await client.post('/onboard', { items }, 202);
  await completedJob(client, job);
  for (const action of ['endpoint.created', 'subscription.created']) {
    const made = await list(`&action=${action}&actorId=${starter}`, client);
    expect(made.length).toBe(60);
    expect(new Set(made.map(({ resource }) => resource.uid)).size).toBe(60);
  }
});

describe('no entry is left by', () => {
  const entriesOf = async (work: () => Promise<unknown>): Promise<Json[]> => {
    const [{ uid: last }] = await list('', app.instance);
    await work();
    return (await list('', app.instance)).filter(({ uid }) => uid > last);
  };

  test('changes that are refused', async () => {
    const owned = await app.project.post('/endpoints', { name: 'a', url: receiver.url, owner_id: 'a' });
    const free = await app.project.post('/endpoints', { name: 'b', url: receiver.url });
    const other = await newProject();
    const made = await entriesOf(async () => {
      await app.project.put('/endpoints/none', { name: 'n', url: receiver.url }, 404);
      await app.project.put(`/endpoints/${free.uid}`, { name: 'n', url: 'ftp://nowhere' }, 400);
      await app.project.post(`/endpoints/${free.uid}/activate`, undefined, 400);
      // Refused in the middle: the first endpoint had been given away already.
      const endpoints = [owned.uid, free.uid];
      await app.project.post('/portal-links', { name: 'l', owner_id: 'b', endpoints }, 400);
      await other.client.put('', { name: 'default' }, 409);
      await app.project.delete('/keys/none', 404);
      await app.project.put('/jobs/none/cancel', undefined, 404);
      await app.project.post('/onboard', { items: [{ name: '', url: '' }] }, 400);
    });
    expect(made).toEqual([]);
    expect((await app.project.get(`/endpoints/${free.uid}`)).owner_id).toBe('');
  });

  test('plain events, and by calls that only test something', async () => {
    const url = `${receiver.url}/tried`;
    const { endpoint } = await subscribe(app.project, url, { endpoint: { owner_id: 'o' } });
    const made = await entriesOf(async () => {
      const event = { event_type: 'x', data: {} };
      await app.project.post('/events/broadcast', event);
      await app.project.post('/events/fanout', { ...event, owner_id: 'o' });
      await app.project.post('/events', { ...event, endpoint_id: endpoint.uid });
      await app.project.post('/events/dynamic', { ...event, url });
      await app.project.post(`/endpoints/${endpoint.uid}/test`, undefined, 200);
      await app.project.post('/onboard?dry_run=true', { items: [{ name: 'n', url: receiver.url }] }, 200);
    });
    expect(made).toEqual([]);
  });
});

test('a statement that changes config does not take a transaction that is no change of config', () => {
  const save = (tx: Queryable, change: Pick<ConfigChange, keyof ConfigChange>) => [
    // @ts-expect-error: a transaction has no version
    () => deleteSubscriptions(tx, { column: 'id', value: '' }),
    // @ts-expect-error: an object of the same form was not made by changeConfig
    () => deleteSubscriptions(change, { column: 'id', value: '' }),
  ];
  expect(save).toBeTypeOf('function');
});

test('a change of config without an audit entry does not compile', () => {
  const change = (changes: ConfigChanges) =>
    // @ts-expect-error: `audit` is missing
    changes.change({ projectId: '', actor: { type: 'instance', id: null } }, async () => ({ result: 1 }));
  expect(change).toBeTypeOf('function');
});

test('entries are removed by the upkeep of a node once they are older than the retention', async () => {
  const store = (ageDays: number) =>
    app.database.query(
      `insert into audit_entries (id, project_id, actor_type, action, resource_type, resource_id)
       values ($1, $2, 'instance', 'key.created', 'key', 'aged')`,
      [firstIdAt(Date.now() - ageDays * 86_400_000), app.projectId],
    );
  await store(20);
  await store(5);
  expect((await list('&resourceId=aged')).length).toBe(2);
  await app.addNode({ POSTHORN_RETENTION_HOURS: '240' });
  const [kept] = await eventually(() => list('&resourceId=aged'), { length: 1 });
  expect(Date.parse(kept.created_at)).toBeGreaterThan(Date.now() - 10 * 86_400_000);
});

describe('the log', () => {
  test('of a project is closed to other projects, to portals and without a key', async () => {
    const [a, b] = [await newProject(), await newProject()];
    await a.client.post('/keys', { name: 'of A' });
    await new ApiClient(a.client.base, b.client.key).get('/audit', 403);
    await new ApiClient(a.client.base, 'CO.no.key').get('/audit', 401);
    const seen = await list('', b.client);
    expect(seen.length).toBe(2);
    expect(seen.every(({ project_id }) => project_id === b.id)).toBe(true);
    const { uid } = (await list('&action=key.created', a.client))[0];
    expect(
      await list(`&next_page_cursor=${uid}&sort=ASC`, b.client).then((rows) => rows.map((r) => r.project_id)),
    ).not.toContain(a.id);
    const { token } = await a.client.post('/portal-links', {
      name: 'l',
      owner_id: 'o',
      can_manage_endpoint: true,
    });
    await new ApiClient(a.client.base, token).get('/audit', 403);
    await new ApiClient(`${app.url}/portal-api`, token).get('/audit', 404);
    await new ApiClient(`${app.url}/api/v1`, token).get('/audit', 403);
  });

  test('of the instance is for its key alone, and knows deleted projects too', async () => {
    const { id, client, keyId: deleter } = await newProject();
    await new ApiClient(`${app.url}/api/v1`, client.key).get('/audit', 403);
    await client.delete('');
    await app.instance.get(`/projects/${id}/audit`, 404);
    const [entry, ...rest] = await list(`&projectId=${id}`, app.instance);
    expect(entry).toMatchObject({ action: 'project.deleted', actor: { type: 'api_key', uid: deleter } });
    expect(rest.map(({ action, actor }) => [action, actor.type])).toEqual([
      ['key.created', 'instance_key'],
      ['project.created', 'instance_key'],
    ]);
  });

  test('comes in pages, the latest first, and back again', async () => {
    const { client } = await newProject();
    for (let n = 0; n < 5; n += 1) await client.post('/keys', { name: `k${n}` });
    const all = await list('', client);
    expect(all.length).toBe(7);
    expect(all.every(({ uid }, n) => n === 0 || uid < all[n - 1].uid)).toBe(true);
    expect(all[0]).toMatchObject({ after: { name: 'k4' }, created_at: expect.stringMatching(/Z$/) });
    const first = await client.get('/audit?perPage=3');
    const second = await client.get(`/audit?perPage=3&next_page_cursor=${first.pagination.next_page_cursor}`);
    const third = await client.get(`/audit?perPage=3&next_page_cursor=${second.pagination.next_page_cursor}`);
    expect([...first.content, ...second.content, ...third.content]).toEqual(all);
    expect(third.pagination.has_next_page).toBe(false);
    const back = `/audit?perPage=3&direction=prev&prev_page_cursor=${second.pagination.prev_page_cursor}`;
    expect((await client.get(back)).content).toEqual(first.content);
  });

  test('is filtered by dates, actor, action and resource', async () => {
    const { id, client, keyId: own } = await newProject();
    const key = await client.post('/keys', { name: 'k' });
    await client.delete(`/keys/${key.uid}`);
    const actions = async (query: string) => (await list(query, client)).map(({ action }) => action);
    expect(await actions(`&resourceId=${key.uid}`)).toEqual(['key.revoked', 'key.created']);
    expect(await actions('&action=key.revoked')).toEqual(['key.revoked']);
    expect(await actions(`&actorId=${own}`)).toEqual(['key.revoked', 'key.created']);
    expect(await actions('&actorType=instance_key')).toEqual(['key.created', 'project.created']);
    expect(await actions('&actorType=portal_link')).toEqual([]);
    const { created_at: at } = (await list('&action=key.revoked', client))[0];
    expect(await actions(`&startDate=${at}`)).toContain('key.revoked');
    expect(await actions('&endDate=2001-01-01T00:00:00')).toEqual([]);
    expect(await actions('&startDate=2999-01-01T00:00:00')).toEqual([]);
    expect((await list(`&projectId=${id}&action=project.created`, app.instance)).length).toBe(1);
  });

  test.each(['action=endpoint.update', 'actorType=me', 'startDate=yesterday'])(
    'refuses %s',
    async (query) => {
      expect((await app.project.get(`/audit?${query}`, 400)).code).toBe('bad_query');
      expect((await app.instance.get(`/audit?${query}`, 400)).code).toBe('bad_query');
    },
  );

  test('names the key of each of two who change the same endpoint', async () => {
    const endpoint = await app.project.post('/endpoints', { name: 'n', url: receiver.url });
    const second = await app.project.post('/keys', { name: 'second' });
    await new ApiClient(app.project.base, second.key).put(`/endpoints/${endpoint.uid}/pause`);
    await app.instance.put(`/projects/${app.projectId}/endpoints/${endpoint.uid}/pause`);
    const entries = await list(`&resourceId=${endpoint.uid}`);
    expect(entries.map(({ action, actor }) => [action, actor.type])).toEqual([
      ['endpoint.activated', 'instance_key'],
      ['endpoint.paused', 'api_key'],
      ['endpoint.created', 'api_key'],
    ]);
    expect(entries.map(({ actor }) => actor.uid).slice(1)).toEqual([second.uid, keyId]);
  });

  test('distinguishes deactivating a subscription from activating it', async () => {
    const { subscription } = await subscribe(app.project, receiver.url);
    for (let n = 0; n < 2; n += 1) await app.project.put(`/subscriptions/${subscription.uid}/toggle_status`);
    const entries = await list(`&resourceId=${subscription.uid}`);
    expect(entries.map(({ action, after }) => [action, after.status])).toEqual([
      ['subscription.activated', 'active'],
      ['subscription.deactivated', 'inactive'],
      ['subscription.created', 'active'],
    ]);
  });

  test('keeps texts of any kind, and a thousand changes of one call', async () => {
    const { client } = await newProject();
    const name = 'é🦉"\\{},null';
    const filter = { body: { a: '\u0000\ud800' } };
    const { subscription } = await subscribe(client, receiver.url, {
      subscription: { name, filter_config: { event_types: ['*'], filter } },
    });
    const [entry] = await list(`&resourceId=${subscription.uid}`, client);
    expect(entry.after).toMatchObject({ name, filter });
    const filters = Array.from({ length: 999 }, (_, n) => ({ event_type: `type.${n}.*` }));
    const made = await client.post(`/subscriptions/${subscription.uid}/filters/bulk`, filters);
    const entries = await list('&action=filter.created&sort=ASC', client);
    expect(entries.map(({ resource }) => resource.uid)).toEqual(made.map(({ uid }: Json) => uid));
  });

  test('has an entry for each of many changes at once, and no more', async () => {
    const { client } = await newProject();
    const { uid } = await client.post('/endpoints', { name: 'n', url: receiver.url });
    await Promise.all(Array.from({ length: 10 }, () => client.put(`/endpoints/${uid}/pause`)));
    const entries = await list(`&resourceId=${uid}&sort=ASC`, client);
    expect(entries.length).toBe(11);
    const { status } = await client.get(`/endpoints/${uid}`);
    expect(status).toBe('active');
    expect(entries.filter(({ action }) => action === 'endpoint.paused').length).toBe(5);
  });
});
