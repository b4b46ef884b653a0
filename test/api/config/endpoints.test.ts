import { createHmac } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { startTestApp, subscribe } from '../../support/app.ts';
import type { Json } from '../../support/client.ts';
import { eventually } from '../../support/eventually.ts';
import { type Received, Receiver } from '../../support/servers/receiver.ts';
import { deliveryOf } from '../../support/settled.ts';
import { shared } from '../../support/shared.ts';
import { storedRows } from '../../support/stored-rows.ts';

const app = await shared(startTestApp());
const receiver = await shared(Receiver.start());

const minimal = { name: 'minimal', url: 'http://127.0.0.1:1/hook' };
const everything = {
  name: 'whole ünïcode 📯',
  url: 'https://example.org/hook?x=1',
  description: 'takes invoices',
  owner_id: 'owner-1',
  advanced_signatures: false,
  authentication: { type: 'api_key', api_key: { header_name: 'X-Key', header_value: 'open sesame' } },
  content_type: 'application/x-www-form-urlencoded',
  http_timeout: 7,
  final_status_codes: [410, 413],
  rate_limit: 5,
  rate_limit_duration: 9,
  support_email: 'help@example.org',
  slack_webhook_url: 'https://hooks.example.org/slack',
  teams_webhook_url: 'https://hooks.example.org/teams',
  headers: { 'X-Tenant': 'acme tenant' },
  metadata: { plan: 'gold', region: 'eu: west' },
  user_agent: 'Acme/1.0 (webhooks)',
  expires_at: '2199-01-31T15:04:05.000Z',
  envelope: 'standard',
  webhook_id: 'event',
  envelope_fields: { eventId: 'id', payload: 'data' },
  max_body_bytes: 4096,
};

const make = (fields: object = {}): Promise<Json> =>
  app.project.post('/endpoints', { ...minimal, ...fields });
const path = (endpoint: Json, rest = '') => `/endpoints/${endpoint.uid}${rest}`;

describe('an endpoint', () => {
  test('created with the required fields has the documented defaults and its own secret', async () => {
    const endpoint = await make();
    expect(endpoint).toMatchObject({
      ...minimal,
      project_id: app.projectId,
      status: 'active',
      advanced_signatures: true,
      authentication: null,
      content_type: 'application/json',
      cloudevents: '',
      http_timeout: 0,
      final_status_codes: [],
      rate_limit: 0,
      rate_limit_duration: 0,
      description: '',
      owner_id: '',
      events: 0,
      failure_rate: 0,
      deleted_at: null,
    });
    expect(endpoint.secrets).toEqual([
      expect.objectContaining({
        value: expect.stringMatching(/^.{25}$/),
        expires_at: null,
        deleted_at: null,
      }),
    ]);
    const { value } = endpoint.secrets[0];
    expect(endpoint.standard_webhooks_secret).toBe(`whsec_${Buffer.from(value).toString('base64')}`);
    expect((await make()).secrets[0].value).not.toBe(value);
  });

  test('keeps every given field, and is the same by id and in the list', async () => {
    const endpoint = await make({ ...everything, secret: 'my own' });
    expect(endpoint).toMatchObject({ ...everything, secrets: [{ value: 'my own' }] });
    expect(await app.project.get(path(endpoint))).toEqual(endpoint);
    const { content } = await app.project.get('/endpoints?q=ÜNÏCODE&ownerId=owner-1');
    expect(content).toEqual([endpoint]);
    expect((await app.project.get('/endpoints?ownerId=owner-2')).content).toEqual([]);
  });

  // proves Endpoints: metadata
  test('is found by its metadata, each text of it', async () => {
    const metadata = { plan: 'gold', found: 'by: this' };
    const endpoint = await make({ metadata });
    await make({ metadata: { plan: 'gold', found: 'by that' } });
    const found = async (query: string) => (await app.project.get(`/endpoints?${query}`)).content;
    expect(await found('metadata=found:by%3A%20this')).toEqual([endpoint]);
    expect(await found('metadata=found:by%3A%20this&metadata=plan:gold')).toEqual([endpoint]);
    expect(await found('metadata=found:by%3A%20this&metadata=plan:lead')).toEqual([]);
    for (const bad of ['found', ':this'])
      await app.project.call('GET', `/endpoints?metadata=${bad}`, { expected: 400 });
  });

  test('is stored without a readable secret', async () => {
    await make({
      secret: 'find-me-if-you-can',
      authentication: everything.authentication,
      headers: everything.headers,
    });
    const rows = await app.database.query('select e::text as text from endpoints e');
    const text = JSON.stringify(rows);
    for (const secret of ['find-me-if-you-can', 'open sesame', 'acme tenant']) {
      expect(text).not.toContain(secret);
      expect(text).not.toContain(Buffer.from(secret).toString('hex'));
    }
  });

  test('updated with a part of its fields keeps the others; its limit stays a limit', async () => {
    const endpoint = await make({ ...everything, secret: 'kept' });
    const updated = await app.project.put(path(endpoint), { ...minimal, is_disabled: false });
    expect(updated).toEqual({ ...endpoint, ...minimal, updated_at: updated.updated_at });
    const limited = await app.project.put(path(endpoint), { rate_limit: 9 });
    expect(limited).toEqual({ ...updated, rate_limit: 9, updated_at: limited.updated_at });
  });

  test('updated with another secret signs only with that one; the same secret changes nothing', async () => {
    const endpoint = await make({ ...everything, secret: 'the first' });
    const same = await app.project.put(path(endpoint), { secret: 'the first' });
    expect(same.secrets).toEqual(endpoint.secrets);
    const { secrets } = await app.project.put(path(endpoint), { secret: 'the second' });
    expect(secrets).toMatchObject([{ value: 'the second', expires_at: null }]);
  });

  test.each([
    [{ url: 'not a url' }, 'url'],
    [{ url: 'ftp://example.org' }, 'url'],
    [{ url: 'http://' }, 'url'],
    [{ url: 'http://169.254.169.254/latest' }, 'url'],
    [{ url: `http://x/${'y'.repeat(2048)}` }, 'url'],
    [{ name: '' }, 'name'],
    [{ http_timeout: 121 }, 'http_timeout'],
    [{ rate_limit: 0.5 }, 'rate_limit'],
    [{ authentication: { type: 'api_key' } }, 'authentication.api_key'],
    [
      { authentication: { type: 'api_key', api_key: { header_name: 'X' } } },
      'authentication.api_key.header_value',
    ],
    [{ authentication: { type: 'handshake' } }, 'authentication.type'],
    [{ slack_webhook_url: 'slack' }, 'slack_webhook_url'],
    [{ support_email: 'two@at@signs' }, 'support_email'],
    [{ metadata: { 'a b': 'c' } }, 'metadata'],
    [{ metadata: { a: 1 } }, 'metadata.a'],
    [{ metadata: { a: 'v'.repeat(1025) } }, 'metadata.a'],
    [{ metadata: Object.fromEntries(Array.from({ length: 21 }, (_, n) => [`m${n}`, ''])) }, 'metadata'],
    [{ user_agent: 'a\r\nX-B: c' }, 'user_agent'],
    [{ user_agent: 'x'.repeat(257) }, 'user_agent'],
    [{ envelope: 'cloudevents' }, 'envelope'],
    [{ webhook_id: 'random' }, 'webhook_id'],
    [{ envelope_fields: { a: 'secret' } }, 'envelope_fields.a'],
    [{ envelope_fields: { 'a"b': 'data' } }, 'envelope_fields'],
    [{ max_body_bytes: -1 }, 'max_body_bytes'],
  ])('is refused with %j', async (fields, field) => {
    const existing = await make();
    const before = await storedRows(app.database);
    const made = await app.project.post('/endpoints', { ...minimal, ...fields }, 400);
    expect(made.message).toContain(`${field}: `);
    expect((await app.project.put(path(existing), { ...minimal, ...fields }, 400)).message).toBe(
      made.message,
    );
    expect(await storedRows(app.database)).toEqual(before);
    expect(await app.project.get(path(existing))).toEqual(existing);
  });

  // proves Projects: ssl.enforce_secure_endpoints
  test('must use https if the project requires it', async () => {
    const config = { ssl: { enforce_secure_endpoints: true } };
    await app.project.put('', { name: 'default', config });
    const answer = await app.project.post('/endpoints', minimal, 400);
    expect(answer.message).toMatch(/^url: .*https/);
    await make({ url: 'HTTPS://example.org' });
    await app.project.put('', { name: 'default', config: { ssl: { enforce_secure_endpoints: false } } });
  });

  test('that is deleted loses its subscriptions, and its waiting deliveries are discarded', async () => {
    const { endpoint, subscription } = await subscribe(app.project, receiver.url, {
      eventTypes: ['to.delete'],
    });
    await app.project.put(path(endpoint, '/pause'));
    const event = await app.project.post('/events/broadcast', { event_type: 'to.delete', data: 1 });
    expect(await app.project.delete(path(endpoint))).toBeNull();
    expect((await deliveryOf(app.project, event, 'Discarded')).description).toContain('deleted');
    await app.project.get(path(endpoint), 404);
    await app.project.delete(path(endpoint), 404);
    await app.project.get(`/subscriptions/${subscription.uid}`, 404);
    const after = await app.project.post('/events/broadcast', { event_type: 'to.delete', data: 2 });
    expect(after).toMatchObject({ status: 'Failure', endpoints: [] });
    expect(receiver.requests).toEqual([]);
  });

  test('is paused and unpaused in turn, and each of many calls at once counts', async () => {
    const endpoint = await make();
    expect((await app.project.put(path(endpoint, '/pause'))).status).toBe('paused');
    expect((await app.project.put(path(endpoint, '/pause'))).status).toBe('active');
    const seven = Array.from({ length: 7 }, () => app.project.put(path(endpoint, '/pause')));
    const statuses = (await Promise.all(seven)).map(({ status }) => status);
    expect(statuses.filter((status) => status === 'paused')).toHaveLength(4);
    expect((await app.project.get(path(endpoint))).status).toBe('paused');
  });

  test('is activated when paused or inactive, and refuses invalid transitions', async () => {
    const endpoint = await make();
    expect((await app.project.post(path(endpoint, '/activate'), undefined, 400)).code).toBe('wrong_state');
    await app.project.put(path(endpoint, '/pause'));
    expect((await app.project.post(path(endpoint, '/activate'), undefined, 202)).status).toBe('active');
    await app.database.query("update endpoints set status = 'inactive' where id = $1", [endpoint.uid]);
    expect((await app.project.put(path(endpoint, '/pause'), undefined, 400)).code).toBe('wrong_state');
    expect((await app.project.post(path(endpoint, '/activate'), undefined, 202)).status).toBe('active');
  });
});

/** The Standard Webhooks signatures of a request that a secret accounts for, by position. */
function signedBy(request: Received, secret: string): number[] {
  const { 'webhook-id': id, 'webhook-timestamp': timestamp } = request.headers;
  const signed = `${String(id)}.${String(timestamp)}.`;
  const expected = createHmac('sha256', secret).update(signed).update(request.body).digest('base64');
  const given = String(request.headers['webhook-signature']).split(' ');
  return given.flatMap((signature, at) => (signature === `v1,${expected}` ? [at] : []));
}

describe('rolling the secret', () => {
  // differs Sending: A rolled secret stops at its `expires_at`; Convoy takes the seconds for hours.
  test('lets both sign until the old one expires, then only the new one', async () => {
    const { endpoint } = await subscribe(app.project, receiver.url, {
      eventTypes: ['roll'],
      endpoint: { secret: 'old secret' },
    });
    const send = async (): Promise<Received> => {
      const count = receiver.requests.length + 1;
      await app.project.post('/events/broadcast', { event_type: 'roll', data: {} });
      return (await receiver.received(count)).at(-1)!;
    };
    const signatures = (request: Received) => String(request.headers['webhook-signature']).split(' ').length;
    expect(signedBy(await send(), 'old secret')).toEqual([0]);

    const body = { expiration: 2, secret: 'new secret' };
    const rolled = await app.project.put(path(endpoint, '/expire_secret'), body, 200);
    expect(rolled.secrets.map(({ value }: Json) => value)).toEqual(['old secret', 'new secret']);
    expect(rolled.secrets[1].expires_at).toBeNull();
    const expiresAt = Date.parse(rolled.secrets[0].expires_at);
    expect(expiresAt - Date.parse(rolled.secrets[0].updated_at)).toBe(2_000);
    const during = await send();
    expect([signedBy(during, 'old secret'), signedBy(during, 'new secret')]).toEqual([[0], [1]]);
    expect(String(during.headers['x-convoy-signature'])).toMatch(/^t=\d+,v1=[0-9a-f]{64},v1=[0-9a-f]{64}$/);

    const after = await eventually(send, (request) => signatures(request) === 1);
    expect(signedBy(after, 'new secret')).toEqual([0]);
    expect(String(after.headers['x-convoy-signature'])).toMatch(/^t=\d+,v1=[0-9a-f]{64}$/);
  });

  test('without an expiration ends the old one at once, and creates a secret if none is given', async () => {
    const endpoint = await make({ secret: 'first' });
    const rolled = await app.project.put(path(endpoint, '/expire_secret'), {}, 200);
    expect(rolled.secrets.at(-1)).toMatchObject({
      value: expect.stringMatching(/^.{25}$/),
      expires_at: null,
    });
    expect(Date.parse(rolled.secrets[0].expires_at)).toBeLessThanOrEqual(Date.now() + 1_000);
  });

  test.each([{ expiration: -1 }, { expiration: 'soon' }, { expiration: 1.5 }, { secret: 7 }])(
    'refuses %j and changes nothing',
    async (body) => {
      const endpoint = await make();
      const before = await storedRows(app.database);
      await app.project.put(path(endpoint, '/expire_secret'), body, 400);
      expect(await storedRows(app.database)).toEqual(before);
      expect(await app.project.get(path(endpoint))).toEqual(endpoint);
    },
  );

  test('twice in a row keeps each old secret until its own expiry', async () => {
    const endpoint = await make({ secret: 'one' });
    await app.project.put(path(endpoint, '/expire_secret'), { expiration: 3600, secret: 'two' }, 200);
    const twice = await app.project.put(
      path(endpoint, '/expire_secret'),
      { expiration: 60, secret: 'three' },
      200,
    );
    const ends = twice.secrets.map(({ value, expires_at }: Json) => [value, expires_at === null]);
    expect(ends).toEqual([
      ['one', false],
      ['two', false],
      ['three', true],
    ]);
    expect(Date.parse(twice.secrets[0].expires_at)).toBeGreaterThan(Date.parse(twice.secrets[1].expires_at));
  });
});

test('a secret that is rolled at once ends the older secrets that still sign too', async () => {
  const { uid } = await app.project.post('/endpoints', {
    name: 'rolled',
    url: 'http://127.0.0.1:1/',
    secret: 'first secret',
  });
  const roll = (secret: string, expiration?: number) =>
    app.project.put(
      `/endpoints/${uid}/expire_secret`,
      { secret, ...(expiration !== undefined && { expiration }) },
      200,
    );
  const lives = (secrets: Json[]) =>
    secrets
      .filter(({ expires_at }) => expires_at === null || Date.parse(expires_at) > Date.now())
      .map(({ value }) => value);
  expect(lives((await roll('second secret', 3_600)).secrets)).toEqual(['first secret', 'second secret']);
  expect(lives((await roll('third secret', 60)).secrets)).toEqual([
    'first secret',
    'second secret',
    'third secret',
  ]);
  expect(lives((await roll('fourth secret', 0)).secrets)).toEqual(['fourth secret']);
  await roll('fifth secret', 3_600);
  expect(lives((await roll('sixth secret')).secrets)).toEqual(['sixth secret']);
});
