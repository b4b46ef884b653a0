import { describe, expect, test } from 'vitest';
import { startTestApp } from '../support/app.ts';
import { ApiClient, type Json } from '../support/client.ts';
import { eventually } from '../support/eventually.ts';
import { shared } from '../support/shared.ts';
import { storedRows } from '../support/stored-rows.ts';

const app = await shared(startTestApp());

const other: { project: Json; api_key: Json } = await app.instance.post('/projects', {
  name: 'other',
  type: 'outgoing',
});

const endpoint = JSON.stringify({ name: 'e', url: 'http://127.0.0.1:1' });

/** Tries to make an endpoint with this Authorization header. */
async function attempt(authorization: string | null, project = app.projectId) {
  const response = await fetch(`${app.url}/api/v1/projects/${project}/endpoints`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...(authorization !== null && { authorization }) },
    body: endpoint,
  });
  const answer = (await response.json()) as Json;
  return { status: response.status, code: answer.code, answer };
}

describe('a call', () => {
  test.each(['KEY', 'Bearer KEY', 'bearer  KEY', ' KEY '])('with the key as %j is accepted', async (form) => {
    expect((await attempt(form.replace('KEY', app.project.key))).status).toBe(201);
  });

  test.each([null, '', ' ', 'Bearer', 'Bearer ', 'Basic dXNlcjpwYXNz', 'Bearer one two'])(
    'with Authorization %j needs a key: 401, and nothing is stored',
    async (authorization) => {
      const before = await storedRows(app.database);
      const { status, answer } = await attempt(authorization);
      expect(status).toBe(401);
      expect(answer).toEqual({ status: false, code: 'unauthenticated', message: expect.any(String) });
      expect(await storedRows(app.database)).toEqual(before);
    },
  );

  test('with a key that is unknown, altered, of another case or only part of one is refused', async () => {
    const { key } = app.project;
    const flipped = key.slice(0, -1) + (key.endsWith('a') ? 'b' : 'a');
    const before = await storedRows(app.database);
    for (const wrong of [
      'CO.x.y',
      flipped,
      key.toLowerCase(),
      key.slice(0, 40),
      `${key}x`,
      key.split('.')[2]!,
    ]) {
      const { status, code, answer } = await attempt(`Bearer ${wrong}`);
      expect([status, code]).toEqual([401, 'key_rejected']);
      expect(answer.message).not.toContain(wrong);
    }
    expect(await storedRows(app.database)).toEqual(before);
  });

  test("with another project's key is refused, whether that project exists or not", async () => {
    const before = await storedRows(app.database);
    for (const project of [app.projectId, 'nonsense', '01AAAAAAAAAAAAAAAAAAAAAAAA']) {
      const { status, code } = await attempt(other.api_key.key, project);
      expect([status, code]).toEqual([403, 'project_forbidden']);
    }
    expect(await storedRows(app.database)).toEqual(before);
  });

  test('with the instance key may use every project, and gets 404 for one that does not exist', async () => {
    expect((await attempt(app.instance.key, other.project.uid)).status).toBe(201);
    const { status, code } = await attempt(app.instance.key, 'nonsense');
    expect([status, code]).toEqual([404, 'project_not_found']);
  });

  test('is authenticated before its body is parsed', async () => {
    const call = (headers: Record<string, string>, body: string) =>
      fetch(`${app.url}/api/v1/projects/${app.projectId}/endpoints`, { method: 'POST', headers, body });
    expect((await call({ 'content-type': 'application/json' }, '{"bad')).status).toBe(401);
    expect((await call({ 'content-type': 'text/plain', authorization: 'no' }, 'x')).status).toBe(401);
  });
});

describe('a key', () => {
  const keyClient = async (input: object) => {
    const made = await app.project.post('/keys', input);
    return { made, client: new ApiClient(app.project.base, made.key) };
  };
  const untilRefused = (client: ApiClient) =>
    eventually(async () => (await client.raw('GET', '/endpoints')).status, 401);

  test('that was revoked stops working and leaves the list; revoking it twice is 404', async () => {
    const { made, client } = await keyClient({ name: 'short-lived' });
    await client.get('/endpoints');
    await app.project.delete(`/keys/${made.uid}`);
    await untilRefused(client);
    const names = (await app.project.get('/keys')).map((key: Json) => key.name);
    expect(names).not.toContain('short-lived');
    await app.project.delete(`/keys/${made.uid}`, 404);
  });

  // differs Access: A project has any number of keys, which may expire. The instance key creates projects. No
  //   organisation owns keys.
  test('with an expiry stops working then', async () => {
    const { client } = await keyClient({
      name: 'ends',
      expires_at: new Date(Date.now() + 3_000).toISOString(),
    });
    await client.get('/endpoints');
    await untilRefused(client);
  });

  test.each(['2001-01-01T00:00:00Z', 'tomorrow', '', 17, '2016-12-31T23:59:60Z'])(
    'cannot be created with the expiry %j',
    async (expires_at) => {
      const before = await storedRows(app.database);
      const answer = await app.project.post('/keys', { name: 'bad', expires_at }, 400);
      expect(answer.message).toMatch(/^expires_at: /);
      expect(await storedRows(app.database)).toEqual(before);
    },
  );

  test('is shown once, and its use is recorded', async () => {
    const { made, client } = await keyClient({ name: 'shown once' });
    expect(made.key).toMatch(/^CO\.\w{16}\.\w{64}$/);
    expect(made.last_used_at).toBeNull();
    await client.get('/endpoints');
    const listed = (await app.project.get('/keys')).find((key: Json) => key.uid === made.uid);
    expect(listed).not.toHaveProperty('key');
    expect(listed).toMatchObject({ mask: made.key.split('.')[1], role: { project: app.projectId } });
    expect(Date.parse(listed.last_used_at)).toBeGreaterThan(Date.now() - 60_000);
    const stored = await app.database.query('select encode(hash, $1) as hash from api_keys', ['escape']);
    expect(JSON.stringify(stored)).not.toContain(made.key);
  });

  test("of one project can neither list, create nor revoke another's", async () => {
    const stranger = new ApiClient(app.project.base, other.api_key.key);
    const [own] = await app.project.get('/keys');
    await stranger.get('/keys', 403);
    await stranger.post('/keys', { name: 'x' }, 403);
    await stranger.delete(`/keys/${own.uid}`, 403);
    const atHome = new ApiClient(`${app.url}/api/v1/projects/${other.project.uid}`, other.api_key.key);
    await atHome.delete(`/keys/${own.uid}`, 404);
    await app.project.get('/endpoints');
  });
});
