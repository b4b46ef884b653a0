import { expect, test } from 'vitest';
import { startTestApp, subscribe } from '../../support/app.ts';
import { ApiClient, type Json } from '../../support/client.ts';
import { shared } from '../../support/shared.ts';

const app = await shared(startTestApp());

const other = await makeProject('other');

async function makeProject(name: string): Promise<ApiClient> {
  const base = `${new URL(app.instance.base).origin}/api/v1`;
  const made = await new ApiClient(app.instance.base, app.instance.key).post('/projects', {
    name,
    type: 'incoming',
  });
  return new ApiClient(`${base}/projects/${made.project.uid}`, made.api_key.key);
}

const http = (fields: object = {}) => ({ name: 'hook', type: 'http', ...fields });
const refused = async (body: object, ...texts: string[]) => {
  const answer: Json = await app.project.post('/sources', body, 400);
  expect(answer.code).toBe('validation_failed');
  for (const text of texts) expect(answer.message).toContain(text);
};

test('a source created with the required fields shows every field', async () => {
  const made = await app.project.post('/sources', http());
  expect(made).toEqual({
    uid: expect.stringMatching(/^[0-9A-HJKMNP-TV-Z]{26}$/),
    project_id: app.projectId,
    mask_id: expect.stringMatching(/^[A-Za-z0-9]{16}$/),
    name: 'hook',
    url: `${app.url}/ingest/${made.mask_id}`,
    key: '',
    type: 'http',
    provider: '',
    is_disabled: false,
    verifier: { type: 'noop', hmac: null, basic_auth: null, api_key: null },
    custom_response: { body: '', content_type: '' },
    provider_config: null,
    forward_headers: [],
    cloudevents: true,
    unsigned_cloudevents: false,
    pub_sub: { type: '', workers: 0, sqs: null, google: null, kafka: null, amqp: null },
    db_change_stream: null,
    schedule: null,
    idempotency_keys: [],
    event_type_location: '',
    body_function: '',
    header_function: '',
    rate_limit: 0,
    rate_limit_duration: 0,
    status: null,
    created_at: expect.stringMatching(/Z$/),
    updated_at: expect.stringMatching(/Z$/),
    deleted_at: null,
  });
  expect(await app.project.get(`/sources/${made.uid}`)).toEqual(made);
});

test('every given field is in the response, in a read and in the list', async () => {
  const fields = {
    name: 'Sämtliche 🎺',
    type: 'http',
    is_disabled: true,
    verifier: {
      type: 'hmac',
      hmac: { header: 'X-Signature', hash: 'SHA512', secret: 's3cret', encoding: 'base64' },
    },
    custom_response: { body: '<ok/>', content_type: 'application/xml' },
    forward_headers: ['X-Request-Id', 'x-trace'],
    idempotency_keys: ['request.header.x-id', 'req.body.data.0.id', 'request.QueryParam.id'],
    event_type_location: 'request.body.type',
    body_function: 'function transform(p) { return p }',
    header_function: 'function transform(h) { return h }',
    rate_limit: 10,
    rate_limit_duration: 60,
  };
  const made = await app.project.post('/sources', fields);
  expect(made).toMatchObject(fields);
  expect(await app.project.get(`/sources/${made.uid}`)).toEqual(made);
  const { content } = await app.project.get('/sources?q=%C3%A4mtliche');
  expect(content).toEqual([made]);
});

test('both functions of a source may have their most characters', async () => {
  const longest = (code: string) => code.padEnd(262_144, 'ä');
  const fields = {
    name: 'long',
    type: 'http',
    body_function: longest('function transform(p) { return p } //'),
    header_function: longest('function transform(h) { return h } //'),
  };
  expect(await app.project.post('/sources', fields)).toMatchObject(fields);
});

test.each([
  ['basic_auth', { username: 'ada', password: 'pa:ss' }],
  ['api_key', { header_name: 'X-Key', header_value: 'v' }],
  ['hmac', { header: 'X-S', hash: 'SHA256', secret: 's', encoding: 'hex' }],
])('a %s verifier shows its own member and null for the others', async (type, details) => {
  const none = { hmac: null, basic_auth: null, api_key: null };
  const given = { ...none, type, [type]: details };
  const made = await app.project.post('/sources', http({ verifier: given }));
  expect(made.verifier).toEqual(given);
});

test('secrets are sealed at rest', async () => {
  const made = await app.project.post(
    '/sources',
    http({ verifier: { type: 'api_key', api_key: { header_value: 'very-secret-value' } } }),
  );
  const [row] = await app.database.query('select * from sources where id = $1', [made.uid]);
  expect(JSON.stringify(row)).not.toContain('very-secret-value');
  expect(String(row?.['sealed'])).not.toContain('very-secret-value');
});

const bad: [string, object, string[]][] = [
  ['no name and no type', {}, ['name: is required', 'type: is required']],
  ['an empty name', { name: '', type: 'http' }, ['name: must not be empty']],
  ['an unknown type', { name: 'n', type: 'ftp' }, ['type: must be one of http, rest_api, pub_sub']],
  ['an unknown provider', http({ provider: 'acme' }), ['provider: must be one of github']],
  [
    'a provider without a secret',
    http({ provider: 'github' }),
    ['verifier.hmac.secret: is required for github'],
  ],
  [
    'a provider with another verifier',
    http({ provider: 'shopify', verifier: { type: 'api_key', api_key: { header_value: 'x' } } }),
    ['verifier.hmac.secret: is required for shopify'],
  ],
  ['an unknown verifier', http({ verifier: { type: 'rsa' } }), ['verifier.type: must be one of noop, hmac']],
  ['a verifier without its object', http({ verifier: { type: 'hmac' } }), ['verifier.hmac: is required']],
  [
    'an incomplete hmac verifier',
    http({ verifier: { type: 'hmac', hmac: { secret: 's' } } }),
    ['hmac.header: is required', 'hmac.hash: is required', 'hmac.encoding: is required'],
  ],
  [
    'an unknown hash and encoding',
    http({ verifier: { type: 'hmac', hmac: { header: 'h', secret: 's', hash: 'CRC', encoding: 'b32' } } }),
    ['verifier.hmac.hash: must be one of', 'verifier.hmac.encoding: must be one of'],
  ],
  [
    'basic auth without a password',
    http({ verifier: { type: 'basic_auth', basic_auth: { username: 'u' } } }),
    ['basic_auth.password: is required'],
  ],
  [
    'an api key without a value',
    http({ verifier: { type: 'api_key', api_key: { header_name: 'a b' } } }),
    ['api_key.header_name: is not a legal', 'api_key.header_value: is required'],
  ],
  [
    'locations that cannot be read',
    http({ idempotency_keys: ['request.body.id', 'nowhere', 'request.header'], event_type_location: 'x' }),
    ['idempotency_keys.1', 'idempotency_keys.2', 'event_type_location'],
  ],
  [
    'an event type outside the signed part',
    http({
      event_type_location: 'request.query.type',
      verifier: { type: 'hmac', hmac: { header: 'h', secret: 's', hash: 'SHA256', encoding: 'hex' } },
    }),
    ['event_type_location: the event type must come from the body or a header'],
  ],
  [
    'a response over the limit',
    http({ custom_response: { body: 'é'.repeat(25_601) } }),
    ['larger than 51200 bytes'],
  ],
  ...['text/html', 'image/svg+xml', 'application/xhtml+xml', 'text/plain, text/html', 'text/xml\r\nb: c'].map(
    (content_type): [string, object, string[]] => [
      `the content type ${JSON.stringify(content_type)} of a response`,
      http({ custom_response: { content_type } }),
      ['custom_response.content_type: must be application/json, text/plain, application/xml'],
    ],
  ),
  [
    'a header of the connection to forward',
    http({ forward_headers: ['ok', 'Expect'] }),
    ['forward_headers.1: is set by the connection'],
  ],
  ['an illegal header to forward', http({ forward_headers: ['ok', 'not ok'] }), ['forward_headers.1']],
  [
    'a body function with a mistake',
    http({ body_function: 'function transform(' }),
    ['body_function: line 1'],
  ],
  ['a header function that is none', http({ header_function: '1' }), ['header_function: ']],
  ['a negative rate', http({ rate_limit: -1 }), ['rate_limit']],
];
// differs Sources: A header of the connection in `forward_headers` is 400. `forward_headers` and `is_disabled`
//   are taken on create too. `custom_response` has [few types](settings.md#sources), so that no script runs on
//   the origin of the dashboard.
test.each(bad)('a source with %s is refused and every bad field named', async (_, body, texts) => {
  await refused(body, ...texts);
});

test.each([
  '',
  'application/json; charset=utf-8',
  'application/vnd.api+json',
  'TEXT/plain',
  'text/xml; charset="utf-8"',
])('a response may have the content type %j', async (content_type) => {
  const made = await app.project.post('/sources', http({ custom_response: { content_type } }));
  expect(made.custom_response.content_type).toBe(content_type);
});

test('a response of exactly the limit is kept', async () => {
  const body = 'é'.repeat(25_600);
  const made = await app.project.post('/sources', http({ custom_response: { body } }));
  expect(made.custom_response.body).toBe(body);
});

test('a provider needs only a secret; twitter also shows when its challenge was passed', async () => {
  const verifier = { type: 'hmac', hmac: { secret: 'sauce' } };
  const github = await app.project.post('/sources', http({ provider: 'github', verifier }));
  expect(github).toMatchObject({ provider: 'github', provider_config: null });
  expect(github.verifier.hmac.secret).toBe('sauce');
  const twitter = await app.project.post('/sources', http({ provider: 'twitter', verifier }));
  expect(twitter.provider_config).toEqual({ twitter: { crc_verified_at: null } });
});

test('an update changes given fields and keeps the rest, the verifier included', async () => {
  const verifier = { type: 'api_key', api_key: { header_name: 'X-Key', header_value: 'v' } };
  const made = await app.project.post('/sources', http({ verifier, custom_response: { body: 'a' } }));
  const path = `/sources/${made.uid}`;
  const disabled = await app.project.put(path, { name: 'renamed', type: 'http', is_disabled: true });
  expect(disabled).toEqual({ ...made, name: 'renamed', is_disabled: true, updated_at: disabled.updated_at });
  const typed = await app.project.put(path, http({ custom_response: { content_type: 'text/plain' } }));
  expect(typed.custom_response).toEqual({ body: '', content_type: 'text/plain' });
  const open = await app.project.post(path, http({ is_disabled: false, verifier: { type: 'noop' } }), 202);
  expect(open).toMatchObject({ is_disabled: false, verifier: { type: 'noop', api_key: null } });
  const broker = { type: 'kafka', kafka: { brokers: ['b:1'], topic_name: 't' } };
  const moved = await app.project.put(path, { name: 'n', type: 'pub_sub', pub_sub: broker });
  expect(moved).toMatchObject({ type: 'pub_sub', pub_sub: { workers: 1 } });
  expect(await app.project.put(path, { name: 'm', type: 'pub_sub' })).toMatchObject({
    pub_sub: moved.pub_sub,
  });
});

test('an update that breaks a rule changes nothing', async () => {
  const made = await app.project.post('/sources', http({ event_type_location: 'request.query.x' }));
  const hmac = { header: 'h', secret: 's', hash: 'SHA256', encoding: 'hex' };
  const path = `/sources/${made.uid}`;
  await app.project.put(path, http({ name: 'no', verifier: { type: 'hmac', hmac } }), 400);
  await app.project.put(path, { type: 'carrier_pigeon' }, 400);
  await app.project.put(path, http({ name: 'no', body_function: '}' }), 400);
  await app.project.put(path, { name: 'n', type: 'pub_sub' }, 400);
  expect(await app.project.get(path)).toEqual(made);
});

test('null counts as absent, and unknown fields are ignored', async () => {
  const verifier = { type: 'noop', hmac: null, basic_auth: null, api_key: null };
  const made = await app.project.post(
    '/sources',
    http({ provider: null, pub_sub: null, verifier, custom_response: null, shoe_size: 42 }),
  );
  expect(made).toMatchObject({ provider: '', verifier, custom_response: { body: '' } });
  expect(made).not.toHaveProperty('shoe_size');
});

test('a deleted source is gone, and its subscriptions with it', async () => {
  const source = await app.project.post('/sources', http());
  const { subscription } = await subscribe(app.project, 'http://127.0.0.1:9', {
    subscription: { source_id: source.uid },
  });
  const kept = await subscribe(app.project, 'http://127.0.0.1:9');
  expect(await app.project.delete(`/sources/${source.uid}`)).toBeNull();
  await app.project.get(`/sources/${source.uid}`, 404);
  await app.project.delete(`/sources/${source.uid}`, 404);
  await app.project.put(`/sources/${source.uid}`, http(), 404);
  await app.project.get(`/subscriptions/${subscription.uid}`, 404);
  await app.project.get(`/subscriptions/${kept.subscription.uid}`);
});

test('a project sees and changes only its own sources', async () => {
  const made = await app.project.post('/sources', http());
  const path = `/sources/${made.uid}`;
  expect((await other.get('/sources')).content).toEqual([]);
  await other.get(path, 404);
  await other.put(path, http(), 404);
  await other.delete(path, 404);
  await new ApiClient(app.project.base, other.key).get(path, 403);
  expect(await app.project.get(path)).toEqual(made);
});

// differs Requests and answers: An unknown `sort`, or `type` of sources, is 400; Convoy takes any word. It would
//   show something else.
test('the list is filtered by type and provider and walked in both directions', async () => {
  const client = await makeProject('walk');
  const verifier = { type: 'hmac', hmac: { secret: 's' } };
  const uids: string[] = [];
  for (let i = 0; i < 5; i++) uids.push((await client.post('/sources', http({ name: `s${i}` }))).uid);
  await client.post('/sources', { name: 'rest', type: 'rest_api' });
  await client.post('/sources', http({ name: 'gh', provider: 'github', verifier }));
  const names = async (query: string) =>
    (await client.get(`/sources?${query}`)).content.map((source: Json) => source.name);
  expect(await names('type=rest_api')).toEqual(['rest']);
  expect(await names('provider=github')).toEqual(['gh']);
  expect(await names('type=&provider=&q=')).toHaveLength(7);
  expect((await client.get('/sources?type=nothing', 400)).message).toContain('Query parameter type: ');
  expect((await client.get('/sources?sort=upwards', 400)).message).toContain('Query parameter sort: ');
  expect(await names('q=s&sort=ASC&type=http')).toEqual(['s0', 's1', 's2', 's3', 's4']);

  const first = await client.get('/sources?q=s&type=http&perPage=2');
  expect(first.content.map((s: Json) => s.uid)).toEqual([uids[4], uids[3]]);
  const second = await client.get(
    `/sources?q=s&type=http&perPage=2&next_page_cursor=${first.pagination.next_page_cursor}`,
  );
  expect(second.content.map((s: Json) => s.uid)).toEqual([uids[2], uids[1]]);
  const back = await client.get(
    `/sources?q=s&type=http&perPage=2&direction=prev&prev_page_cursor=${second.pagination.prev_page_cursor}`,
  );
  expect(back.content).toEqual(first.content);
});
