import { describe, expect, test } from 'vitest';
import { startTestApp } from '../../support/app.ts';
import { ApiClient, type Json } from '../../support/client.ts';
import { eventually } from '../../support/eventually.ts';
import { shared } from '../../support/shared.ts';

const app = await shared(startTestApp());
const url = 'http://127.0.0.1:9/';

const endpoint = (fields: object = {}): Promise<Json> =>
  app.project.post('/endpoints', { name: 'endpoint', url, ...fields });
const link = (fields: object = {}): Promise<Json> =>
  app.project.post('/portal-links', { name: 'link', owner_id: 'owner', ...fields });
const portal = (token: string): ApiClient => new ApiClient(`${app.url}/portal-api`, token);

describe('a portal link', () => {
  // differs Access: A portal link's `url` is `{public url}/portal?project={id}#token=...`. The token is in no
  //   log.
  test('has every field of the interface, arrays never null', async () => {
    const made = await link({ owner_id: 'new customer' });
    expect(made).toEqual({
      uid: expect.stringMatching(/^\w{26}$/),
      project_id: app.projectId,
      name: 'link',
      owner_id: 'new customer',
      can_manage_endpoint: false,
      can_create_events: false,
      can_retry: true,
      can_see_secrets: null,
      can_edit_functions: null,
      can_use_brokers: false,
      event_types: [],
      endpoints: [],
      endpoint_count: 0,
      endpoints_metadata: [],
      token: expect.stringMatching(/^[A-Za-z0-9]{24}$/),
      auth_type: 'static_token',
      auth_key: '',
      url: `${app.url}/portal?project=${app.projectId}#token=${made.token}`,
      expires_at: null,
      created_at: expect.any(String),
      updated_at: expect.any(String),
      deleted_at: null,
    });
    expect(await app.project.get(`/portal-links/${made.uid}`)).toEqual(made);
  });

  // proves Portal links: endpoints
  test('assigns endpoints without an owner to its owner and shows all endpoints of the owner', async () => {
    const [free, owned] = [await endpoint(), await endpoint({ owner_id: 'acme' })];
    const made = await link({ owner_id: 'acme', endpoints: [free.uid, owned.uid, free.uid] });
    expect(made.endpoints).toEqual([free.uid, owned.uid]);
    expect(made.endpoint_count).toBe(2);
    expect(made.endpoints_metadata.map((each: Json) => each.uid)).toEqual([free.uid, owned.uid]);
    expect((await app.project.get(`/endpoints/${free.uid}`)).owner_id).toBe('acme');
  });

  test('refuses endpoints of another owner and ones that do not exist, and then changes nothing', async () => {
    const [free, taken] = [await endpoint(), await endpoint({ owner_id: 'someone' })];
    const refused = await app.project.post(
      '/portal-links',
      { name: 'x', owner_id: 'other', endpoints: [free.uid, taken.uid] },
      400,
    );
    expect(refused.message).toContain(`${taken.uid} already belongs to owner someone`);
    expect((await app.project.get(`/endpoints/${free.uid}`)).owner_id).toBe('');
    const unknown = await app.project.post(
      '/portal-links',
      { name: 'x', owner_id: 'other', endpoints: ['nope'] },
      400,
    );
    expect(unknown.code).toBe('not_in_project');
  });

  test.each([
    [{ owner_id: 'o' }, 'name'],
    [{ name: 'n' }, 'owner_id'],
    [{ name: 'n', owner_id: '' }, 'owner_id'],
    [{ name: 'n', owner_id: 'o', auth_type: 'other' }, 'auth_type'],
    [{ name: 'n', owner_id: 'o', expires_at: '2001-01-01T00:00:00Z' }, 'expires_at'],
    [{ name: 'n', owner_id: 'o', endpoints: [''] }, 'endpoints.0'],
  ])('is refused when %j', async (body, field) => {
    expect((await app.project.post('/portal-links', body, 400)).message).toContain(field);
  });

  test('is updated, and keeps fields that are not named', async () => {
    const made = await link({ owner_id: 'upd', auth_type: 'refresh_token', can_manage_endpoint: true });
    const changed = await app.project.put(`/portal-links/${made.uid}`, { name: 'renamed' });
    expect(changed).toMatchObject({
      uid: made.uid,
      name: 'renamed',
      owner_id: 'upd',
      auth_type: 'refresh_token',
      can_manage_endpoint: true,
      token: made.token,
    });
    const moved = await app.project.put(`/portal-links/${made.uid}`, { name: 'renamed', owner_id: 'upd2' });
    expect(moved.owner_id).toBe('upd2');
    await app.project.put('/portal-links/unknown', { name: 'x' }, 404);
  });

  test('keeps its expiry in an update without one and loses it by null', async () => {
    const expires_at = new Date(Date.now() + 3_600_000).toISOString();
    const made = await link({ owner_id: 'ends', expires_at });
    expect(made.expires_at).toBe(expires_at);
    expect((await app.project.put(`/portal-links/${made.uid}`, { name: 'x' })).expires_at).toBe(expires_at);
    const changed = await app.project.put(`/portal-links/${made.uid}`, { name: 'x', expires_at: null });
    expect(changed.expires_at).toBeNull();
  });

  // differs Lists: Portal links are filtered by owner, name and `q`. Convoy applies none.
  test('is found by owner, by part of its name, by q and by endpoint', async () => {
    const mine = await endpoint({ owner_id: 'lister' });
    const made = [
      await link({ owner_id: 'lister', name: 'Alpha one' }),
      await link({ owner_id: 'lister', name: 'alphabet' }),
      await link({ owner_id: 'lister', name: 'beta' }),
    ];
    const uids = async (query: string) =>
      (await app.project.get(`/portal-links?${query}`)).content.map((each: Json) => each.uid);
    const [one, two, three] = made.map((each) => each.uid);
    expect(await uids('ownerId=lister')).toEqual([three, two, one]);
    expect(await uids('ownerId=lister&sort=ASC&perPage=2')).toEqual([one, two]);
    expect(await uids('name=ALPHA&ownerId=lister')).toEqual([two, one]);
    expect(await uids('q=bet&ownerId=lister')).toEqual([three, two]);
    expect(await uids(`endpointId=${mine.uid}`)).toEqual([three, two, one]);
    expect(await uids('endpointId=unknown')).toEqual([]);
    const first = await app.project.get('/portal-links?ownerId=lister&perPage=2');
    expect(first.pagination).toMatchObject({ has_next_page: true, next_page_cursor: one });
    expect(await uids(`ownerId=lister&perPage=2&next_page_cursor=${one}`)).toEqual([one]);
  });

  test('of another project is not found', async () => {
    const other = await app.newProject();
    const made = await link();
    await other.get(`/portal-links/${made.uid}`, 404);
    await other.put(`/portal-links/${made.uid}`, { name: 'x' }, 404);
    await other.put(`/portal-links/${made.uid}/revoke`, undefined, 404);
    await other.get(`/portal-links/${made.uid}/refresh_token`, 404);
    expect((await other.get('/portal-links')).content).toEqual([]);
  });

  test('its tokens are not stored in clear and not found without the secret key', async () => {
    const made = await link({ auth_type: 'refresh_token' });
    const rows = await app.database.query(
      "select encode(l.token_hash, 'escape') || encode(l.sealed_token, 'escape') || encode(t.hash, 'escape') as text from portal_links l join portal_tokens t on t.portal_link_id = l.id where l.id = $1",
      [made.uid],
    );
    expect(rows.length).toBeGreaterThan(0);
    for (const row of rows) {
      expect(row['text']).not.toContain(made.token);
      expect(row['text']).not.toContain(made.auth_key);
    }
  });
});

describe('tokens', () => {
  test('a static token opens the portal, with and without Bearer', async () => {
    const made = await link({ owner_id: 'static' });
    expect((await portal(made.token).get('/portal_link')).uid).toBe(made.uid);
    const bare = await fetch(`${app.url}/portal-api/portal_link`, { headers: { authorization: made.token } });
    expect(bare.status).toBe(200);
  });

  // proves Portal links: auth_type
  test('each read of a refresh link creates a new token; all are valid, the static one is not', async () => {
    const made = await link({ owner_id: 'refresher', auth_type: 'refresh_token' });
    const got = await app.project.get(`/portal-links/${made.uid}`);
    const [listed] = (await app.project.get('/portal-links?ownerId=refresher')).content;
    const asked = await app.project.get(`/portal-links/${made.uid}/refresh_token`);
    const tokens = [made.auth_key, got.auth_key, listed.auth_key, asked];
    expect(new Set(tokens).size).toBe(4);
    for (const token of tokens) {
      expect(token).toMatch(/^PRT\.[A-Za-z0-9]{16}\.[A-Za-z0-9]{64}$/);
      await portal(token).get('/portal_link');
    }
    expect(made.url).toBe(`${app.url}/portal?project=${app.projectId}#token=${made.auth_key}`);
    await portal(made.token).get('/portal_link', 401);
  });

  test('a portal caller is shown no token that outlives its own', async () => {
    const made = await link({ owner_id: 'refresher', auth_type: 'refresh_token' });
    const own = await portal(made.auth_key).get('/portal_link');
    expect([own.token, own.auth_key]).toEqual(['', '']);
  });

  test('a static link has no refresh tokens', async () => {
    const made = await link();
    expect((await app.project.get(`/portal-links/${made.uid}/refresh_token`, 400)).code).toBe('wrong_state');
  });

  test('a refresh token expires after an hour, and the next read removes expired ones', async () => {
    const made = await link({ owner_id: 'hour', auth_type: 'refresh_token' });
    const expiry = await app.database.query(
      "select expires_at between now() + interval '59 minutes' and now() + interval '61 minutes' as good from portal_tokens where portal_link_id = $1",
      [made.uid],
    );
    expect(expiry).toEqual([{ good: true }]);
    await app.database.query(
      "update portal_tokens set expires_at = now() - interval '1 second' where portal_link_id = $1",
      [made.uid],
    );
    await portal(made.auth_key).get('/portal_link', 401);
    await app.project.get(`/portal-links/${made.uid}`);
    const left = await app.database.query('select 1 from portal_tokens where portal_link_id = $1', [
      made.uid,
    ]);
    expect(left).toHaveLength(1);
  });

  test('revoking and expiring stop both kinds of token on every node within a second or so', async () => {
    const node = await app.addNode();
    const fixed = await link({ owner_id: 'gone' });
    const fresh = await link({ owner_id: 'gone', auth_type: 'refresh_token' });
    const expiring = await link({
      owner_id: 'gone',
      expires_at: new Date(Date.now() + 3_600_000).toISOString(),
    });
    const tokens = [fixed.token, fresh.auth_key, expiring.token];
    const nodes = [app.url, node.url];
    const status = async (base: string, token: string) =>
      (await fetch(`${base}/portal-api/portal_link`, { headers: { authorization: token } })).status;
    for (const base of nodes) for (const token of tokens) expect(await status(base, token)).toBe(200);
    await app.project.put(`/portal-links/${fixed.uid}/revoke`, undefined, 200);
    await app.project.put(`/portal-links/${fresh.uid}/revoke`, undefined, 200);
    await app.database.query(
      "update portal_links set expires_at = now() - interval '1 second' where id = $1",
      [expiring.uid],
    );
    for (const base of nodes) {
      for (const token of tokens) {
        await eventually(() => status(base, token), 401);
      }
    }
    await app.project.put(`/portal-links/${fixed.uid}/revoke`, undefined, 404);
    await app.project.get(`/portal-links/${fixed.uid}`, 404);
    await node.stop();
  });

  // proves Portal links: expires_at
  test('a link stops working at its expires_at', async () => {
    const short = await link({ owner_id: 'short', expires_at: new Date(Date.now() + 3_000).toISOString() });
    const lasting = await link({ owner_id: 'lasting', expires_at: null });
    const status = async ({ token }: Json) => (await portal(token).raw('GET', '/portal_link')).status;
    await eventually(() => status(short), 401);
    expect(await status(lasting)).toBe(200);
  });

  test('an unknown token is refused', async () => {
    await portal('A'.repeat(24)).get('/portal_link', 401);
    await portal(`PRT.${'A'.repeat(16)}.${'B'.repeat(64)}`).get('/portal_link', 401);
  });

  test('those of a deleted project stop', async () => {
    const other = await app.newProject();
    const made = await other.post('/portal-links', { name: 'x', owner_id: 'o' });
    await app.instance.delete(`/projects/${other.projectId}`);
    await portal(made.token).get('/portal_link', 401);
  });
});
