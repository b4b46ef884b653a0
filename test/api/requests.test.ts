import { type IncomingMessage, request } from 'node:http';
import { describe, expect, test } from 'vitest';
import { startTestApp } from '../support/app.ts';
import type { Json } from '../support/client.ts';
import { shared } from '../support/shared.ts';
import { storedRows } from '../support/stored-rows.ts';

/** Rules of every call: bodies, types, unknown ids and routes, methods, limits, request ids. */
const MAX_BODY_BYTES = 20_000;
const MAX_NAMES = 1_000;
const app = await shared(
  startTestApp({
    POSTHORN_MAX_BODY_BYTES: String(MAX_BODY_BYTES),
    POSTHORN_MAX_JSON_NAMES: String(MAX_NAMES),
  }),
);

/** A call that must fail with the envelope and store nothing; the envelope. */
async function refused(call: () => Promise<Response>, status: number): Promise<Json> {
  const before = await storedRows(app.database);
  const response = await call();
  const text = await response.text();
  expect([response.status, text]).toEqual([status, expect.stringMatching(/^\{"status":false/)]);
  const answer = JSON.parse(text) as Json;
  expect(answer).toEqual({
    status: false,
    message: expect.any(String),
    code: expect.any(String),
    ...(answer.code === 'validation_failed' && { fields: expect.any(Array) }),
  });
  expect(answer.message).not.toBe('');
  expect(response.headers.get('x-request-id')).toBeTruthy();
  expect(await storedRows(app.database)).toEqual(before);
  return answer;
}

const post = (path: string, body?: unknown, headers: Record<string, string> = {}) =>
  app.project.raw('POST', path, { body, headers });

describe('a body', () => {
  test.each([
    ['truncated', '{"name":"e","url":"http://127.0.0.1:1"', 'bad_json'],
    ['followed by garbage', '{"name":"e","url":"http://127.0.0.1:1"}}', 'bad_json'],
    ['no JSON at all', 'name=e', 'bad_json'],
    ['with a comment', '{"name":"e"/**/}', 'bad_json'],
    ['with NaN', '{"name":NaN}', 'bad_json'],
    ['with a single quote', "{'name':1}", 'bad_json'],
    ['empty', '', 'body_required'],
    ['blank', '  \n', 'body_required'],
    ['null', 'null', 'validation_failed'],
    ['an array', '[]', 'validation_failed'],
    ['a string', '"{}"', 'validation_failed'],
    ['a number', '1', 'validation_failed'],
  ])('that is %s is 400', async (_, body, code) => {
    const answer = await refused(() => post('/endpoints', body), 400);
    expect(answer.code).toBe(code);
  });

  test('that is not UTF-8 is 400 instead of stored with other characters', async () => {
    const bytes = Buffer.from('{"event_type":"x","data":"?"}');
    bytes[bytes.indexOf('?')] = 0xff;
    const call = () =>
      fetch(`${app.project.base}/events/broadcast`, {
        method: 'POST',
        headers: { authorization: app.project.key, 'content-type': 'application/json' },
        body: bytes,
      });
    expect((await refused(call, 400)).code).toBe('bad_json');
  });

  test.each([
    'text/plain',
    'application/xml',
    'application/x-www-form-urlencoded',
    'application/jsonp',
    'nonsense',
  ])('of type %s is 415', async (type) => {
    const call = () =>
      post('/endpoints', '{"name":"e","url":"http://127.0.0.1:1"}', { 'content-type': type });
    expect((await refused(call, 415)).code).toBe('unsupported_media_type');
  });

  test.each(['application/json; charset=utf-8', 'APPLICATION/JSON', 'application/json;charset="UTF-8"'])(
    'of type %s is accepted',
    async (type) => {
      const response = await post('/endpoints', '{"name":"e","url":"http://127.0.0.1:1"}', {
        'content-type': type,
      });
      expect(response.status).toBe(201);
    },
  );

  // differs Requests and answers: A 400 names every wrong field, in a stable order. Convoy's order is random.
  test('with wrong and missing fields is refused with every one of them, in a stable order', async () => {
    const bad = {
      url: 5,
      http_timeout: 'x',
      rate_limit: -1,
      content_type: 'text/csv',
      support_email: 'no-address',
    };
    const forward = await refused(() => post('/endpoints', bad), 400);
    const backward = Object.fromEntries(Object.entries(bad).toReversed());
    expect((await refused(() => post('/endpoints', backward), 400)).message).toBe(forward.message);
    for (const field of ['name', ...Object.keys(bad)]) expect(forward.message).toContain(`${field}: `);
    expect(forward.message).toContain('name: is required');
    expect(forward.message).toContain('url: must be a string');
    expect(forward.code).toBe('validation_failed');
  });

  test('with wrong fields below others names them by their path', async () => {
    const body = {
      name: 'p',
      type: 'outgoing',
      config: { strategy: { retry_count: 0 }, ssl: { enforce_secure_endpoints: 'yes' } },
    };
    const call = () => app.instance.raw('POST', '/projects', { body });
    const { message } = await refused(call, 400);
    expect(message).toContain('config.strategy.retry_count: ');
    expect(message).toContain('config.ssl.enforce_secure_endpoints: must be a boolean');
  });

  test('with unknown fields and nulls is treated as without them', async () => {
    const body = {
      name: 'e',
      url: 'http://127.0.0.1:1',
      surprise: { deep: 1 },
      owner_id: null,
      rate_limit: null,
    };
    const endpoint = await app.project.post('/endpoints', body);
    expect(endpoint).toMatchObject({ owner_id: '', rate_limit: 0 });
    expect(endpoint).not.toHaveProperty('surprise');
  });

  // proves Instance: POSTHORN_MAX_BODY_BYTES
  test('over the limit is 413, announced or in chunks', async () => {
    const body = JSON.stringify({ name: 'x'.repeat(MAX_BODY_BYTES), url: 'http://127.0.0.1:1' });
    expect((await refused(() => post('/endpoints', body), 413)).message).toContain(String(MAX_BODY_BYTES));
    expect((await refused(() => chunked('/endpoints', body), 413)).code).toBe('body_too_large');
    expect((await chunked('/endpoints', '{"name":"e","url":"http://127.0.0.1:1"}')).status).toBe(201);
  });
});

describe('the JSON of a body', () => {
  const deep = (levels: number) => '['.repeat(levels - 1) + ']'.repeat(levels - 1);
  const wide = (names: number) => `[${'{"k":0},'.repeat(names - 1)}0]`;
  const structured = { 'content-type': 'application/cloudevents+json' };
  const binary = { 'ce-specversion': '1.0', 'ce-id': '1', 'ce-source': 's', 'ce-type': 't' };
  const paths: [string, Record<string, string>][] = [
    ['/endpoints', {}],
    ['/events/broadcast', {}],
    ['/events/broadcast', structured],
    ['/events/broadcast', { ...binary, 'content-type': 'application/json' }],
    ['/subscriptions/test_filter', {}],
  ];

  // proves Instance: POSTHORN_MAX_JSON_DEPTH
  // proves Instance: POSTHORN_MAX_JSON_NAMES
  test.each(paths)('has bounds before it is parsed: %s %o', async (path, headers) => {
    const code = async (value: string) =>
      (await refused(() => post(path, `{"x":${value}}`, headers), 400)).code;
    expect(await code(deep(101))).toBe('too_deep');
    expect(await code(wide(MAX_NAMES + 1))).toBe('too_many_names');
    for (const within of [deep(100), wide(MAX_NAMES)]) {
      const response = await post(path, `{"x":${within}}`, headers);
      expect(['too_deep', 'too_many_names']).not.toContain(((await response.json()) as Json).code);
    }
  });

  test('has the same bounds where there is no credential, and none in a call that takes no body', async () => {
    const body = `{"email":${deep(101)}}`;
    const headers = { 'content-type': 'application/json' };
    const signIn = await fetch(`${app.url}/auth/sign-in`, { method: 'POST', headers, body });
    expect([signIn.status, ((await signIn.json()) as Json).code]).toEqual([400, 'too_deep']);
    const signOut = await fetch(`${app.url}/auth/sign-out`, { method: 'POST', headers, body });
    expect(signOut.status).toBe(200);
  });

  test('that has thousands of mistakes names the first one', async () => {
    const ids = `{"ids":[${'1,'.repeat(9_000)}1]}`;
    const { fields } = await refused(() => post('/eventdeliveries/forceresend', ids), 400);
    expect(fields).toHaveLength(1);
    const { fields: few } = await refused(() => post('/eventdeliveries/forceresend', '{"ids":[1,2]}'), 400);
    expect(few).toHaveLength(2);
  });
});

describe('a body without a credential', () => {
  // Below the limit of the instance: the fields of a sign-in have far fewer bytes.
  const BYTES = MAX_BODY_BYTES - 1;

  test('is refused by its announced length, before a byte of it is sent', async () => {
    for (const path of ['/auth/sign-in', '/auth/link', '/auth/link/check', '/auth/reset']) {
      const answers = Array.from({ length: 20 }, () => unfinished(path, { 'content-length': BYTES }, ''));
      for (const { status, body } of await Promise.all(answers))
        expect([path, status, body.code, body.message]).toEqual([
          path,
          413,
          'body_too_large',
          expect.stringContaining('the schema of this call'),
        ]);
    }
  });

  test('is counted while it is read, if its length is not announced', async () => {
    const { status, body } = await unfinished('/auth/sign-in', {}, 'x'.repeat(BYTES));
    expect([status, body.code]).toEqual([413, 'body_too_large']);
  });
});

/** The answer to a request whose body does not end. */
async function unfinished(path: string, headers: Record<string, string | number>, begin: string) {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const call = request(`${app.url}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
  });
  call.on('response', resolve).on('error', reject).flushHeaders();
  if (begin !== '') call.write(begin);
  const response = await promise;
  const chunks = await response.toArray();
  call.destroy();
  return { status: response.statusCode, body: JSON.parse(Buffer.concat(chunks).toString()) as Json };
}

/** A request whose length is not announced. */
function chunked(path: string, body: string): Promise<Response> {
  return fetch(`${app.project.base}${path}`, {
    method: 'POST',
    headers: { authorization: app.project.key, 'content-type': 'application/json' },
    body: new Blob([body]).stream(),
    duplex: 'half',
  } as RequestInit);
}

describe('a call that takes no body', () => {
  test.each([
    ['nothing', undefined],
    ['an empty object', '{}'],
    ['null', 'null'],
    ['a string', '"{}"'],
    ['garbage', '{"x'],
  ])('ignores %s, with a JSON content type', async (_, body) => {
    const endpoint = await app.project.post('/endpoints', { name: 'e', url: 'http://127.0.0.1:1' });
    const headers = { 'content-type': 'application/json' };
    const path = `/endpoints/${endpoint.uid}`;
    const paused = await app.project.raw('PUT', `${path}/pause`, { body, headers });
    expect(paused.status).toBe(202);
    const gone = await app.project.raw('DELETE', path, { body, headers });
    expect([gone.status, await gone.json()]).toEqual([
      200,
      { status: true, message: 'Endpoint deleted', data: null },
    ]);
  });
});

describe('an id that is unknown', () => {
  test.each(['nonsense', '01AAAAAAAAAAAAAAAAAAAAAAAA', '%20', "a'--", '%F0%9F%93%AF'])(
    'in the path (%s) is 404',
    async (id) => {
      const calls: [string, string, unknown?][] = [
        ['GET', `/endpoints/${id}`],
        ['PUT', `/endpoints/${id}`, { name: 'e', url: 'http://127.0.0.1:1' }],
        ['DELETE', `/endpoints/${id}`],
        ['PUT', `/endpoints/${id}/pause`],
        ['POST', `/endpoints/${id}/activate`],
        ['PUT', `/endpoints/${id}/expire_secret`, { expiration: 1 }],
        ['GET', `/subscriptions/${id}`],
        ['GET', `/events/${id}`],
        ['GET', `/eventdeliveries/${id}`],
        ['GET', `/eventdeliveries/${id}/deliveryattempts`],
        ['GET', `/eventdeliveries/${id}/deliveryattempts/${id}`],
        ['DELETE', `/keys/${id}`],
      ];
      for (const [method, path, body] of calls) {
        const { code } = await refused(() => app.project.raw(method, path, { body }), 404);
        expect([method, path, code]).toEqual([method, path, 'not_found']);
      }
    },
  );

  test('that no row can have, because it contains a zero character, is 400', async () => {
    for (const path of ['/endpoints/%00', '/events/%00', '/eventdeliveries?eventId=%00'])
      await refused(() => app.project.raw('GET', path), 400);
  });

  test('in the body is 400 and names its field', async () => {
    const subscription = { name: 's', endpoint_id: '01AAAAAAAAAAAAAAAAAAAAAAAA' };
    const event = { endpoint_id: '01AAAAAAAAAAAAAAAAAAAAAAAA', event_type: 'x', data: {} };
    for (const [path, body] of [
      ['/subscriptions', subscription],
      ['/events', event],
    ] as const) {
      const { code, message } = await refused(() => post(path, body), 400);
      expect(code).toBe('not_in_project');
      expect(message).toMatch(/^endpoint_id: /);
    }
  });
});

describe('a route', () => {
  test.each([
    '/nonsense',
    '/api/v1/nonsense',
    '/api/v1/projects/x/nonsense',
    '/api/v2/projects',
    '/api/v1/projects/a/b/c/d/e',
  ])('that does not exist (%s) is 404', async (path) => {
    const call = () => fetch(`${app.url}${path}`, { headers: { authorization: app.project.key } });
    expect((await refused(call, 404)).code).toBe('route_not_found');
  });

  test.each(['%', '%zz', '%c3%28', 'x'.repeat(300), '..%2f..%2fetc'])(
    'with a segment like %s is answered with the envelope',
    async (segment) => {
      const before = await storedRows(app.database);
      const { status, body } = await plainGet(`/api/v1/projects/${app.projectId}/endpoints/${segment}`);
      expect([400, 404, 414]).toContain(status);
      expect(JSON.parse(body)).toEqual({
        status: false,
        message: expect.any(String),
        code: expect.any(String),
      });
      expect(await storedRows(app.database)).toEqual(before);
    },
  );

  test.each([
    ['PATCH', '/endpoints'],
    ['DELETE', '/endpoints'],
    ['PUT', '/events'],
    ['POST', '/eventdeliveries/x'],
    ['OPTIONS', '/endpoints'],
    ['QUERY', '/endpoints'],
    ['GET', '/events/x/y'],
  ])(
    '%s %s that exists only for others is 405, or 404 where it does not exist at all',
    async (method, path) => {
      const exists = path !== '/events/x/y';
      const call = () => app.project.raw(method, path);
      const before = await call();
      expect(before.headers.has('allow')).toBe(exists);
      if (path === '/endpoints') expect(before.headers.get('allow')).toBe('GET, HEAD, POST');
      const { code } = await refused(call, exists ? 405 : 404);
      expect(code).toBe(exists ? 'method_not_allowed' : 'route_not_found');
    },
  );

  test.each([
    ['DELETE', '/events/broadcast', 'POST'],
    ['POST', '/endpoints/period-failure-rates', 'GET, HEAD'],
    ['PATCH', '/subscriptions/test_filter/', 'POST'],
    ['PATCH', '/subscriptions/x/filters/bulk_update', 'POST, PUT'],
    ['PATCH', '/subscriptions/x/filters/y', 'DELETE, GET, HEAD, PUT'],
    ['PATCH', '/endpoints/oauth2/test', 'POST'],
  ])('%s %s names the methods of that path alone: %s', async (method, path, allowed) => {
    const response = await app.project.raw(method, path);
    const { message } = (await response.json()) as Json;
    const shown = response.headers.get('allow');
    expect([response.status, shown?.split(', ').sort().join(', ')]).toEqual([405, allowed]);
    expect(message).toContain(`allowed: ${shown}.`);
  });

  test('of an unknown method is 405 without a key too', async () => {
    const response = await fetch(`${app.project.base}/endpoints`, { method: 'QUERY' });
    expect([response.status, await response.json()]).toMatchObject([405, { code: 'method_not_allowed' }]);
  });

  test('for reading answers HEAD with the headers alone', async () => {
    const response = await app.project.raw('HEAD', '/endpoints');
    expect([response.status, await response.text()]).toEqual([200, '']);
    expect((await app.project.raw('HEAD', '/endpoints/nonsense')).status).toBe(404);
    expect((await fetch(`${app.project.base}/endpoints`, { method: 'HEAD' })).status).toBe(401);
  });

  test('may end in a slash', async () => {
    expect((await app.project.raw('GET', '/endpoints/')).status).toBe(200);
  });

  test('of health needs no key', async () => {
    for (const path of ['/healthz', '/readyz']) expect((await fetch(`${app.url}${path}`)).status).toBe(200);
  });
});

/** Sends the path as it is; fetch would tidy it. */
function plainGet(path: string): Promise<{ status: number; body: string }> {
  const { hostname, port } = new URL(app.url);
  return new Promise((resolve, reject) => {
    const headers = { authorization: app.project.key };
    const sent = request({ hostname, port, path, headers }, (response) => {
      let body = '';
      response.setEncoding('utf8').on('data', (text: string) => {
        body += text;
      });
      response.on('end', () => resolve({ status: response.statusCode ?? 0, body }));
    });
    sent.on('error', reject).end();
  });
}

describe('an answer', () => {
  const SAFE = { 'x-content-type-options': 'nosniff', 'cross-origin-resource-policy': 'same-origin' };
  const CLOSED = "sandbox; default-src 'none'";

  test.each([
    '/healthz',
    '/metrics',
    '/openapi.json',
    '/api/v1/projects',
    '/nonsense',
    '/docs/reference.css',
    '/docs/search.json',
  ])('of %s is no page, no script, and not for other origins', async (path) => {
    const { headers } = await fetch(app.url + path);
    expect(Object.fromEntries(headers)).toMatchObject({ ...SAFE, 'content-security-policy': CLOSED });
  });

  test.each(['/', '/docs', '/docs/endpoints', '/portal', '/favicon.svg'])(
    'of %s has a policy of its own',
    async (path) => {
      const { headers } = await fetch(app.url + path);
      expect(Object.fromEntries(headers)).toMatchObject(SAFE);
      expect(headers.get('content-security-policy')).toContain("default-src 'none'");
    },
  );

  test('of the stream is no page either', async () => {
    const reading = new AbortController();
    const { signal } = reading;
    const headers = { authorization: app.project.key };
    const response = await fetch(`${app.project.base}/stream`, { headers, signal });
    expect(Object.fromEntries(response.headers)).toMatchObject({
      ...SAFE,
      'content-security-policy': CLOSED,
    });
    reading.abort();
  });
});

describe('the request id', () => {
  const idOf = async (given?: string, path = '/endpoints') => {
    const headers: Record<string, string> = given === undefined ? {} : { 'x-request-id': given };
    return (await app.project.raw('GET', path, { headers })).headers.get('x-request-id');
  };

  test('given by the caller comes back, in errors too', async () => {
    expect(await idOf('abc-123')).toBe('abc-123');
    expect(await idOf('abc-123', '/endpoints/nonsense')).toBe('abc-123');
    expect(await idOf('abc-123', '/nonsense')).toBe('abc-123');
  });

  test('is generated if none was given, or one that could do harm in a log', async () => {
    expect(await idOf()).toMatch(/^[0-9A-Z]{26}$/);
    expect(await idOf('x'.repeat(129))).toMatch(/^[0-9A-Z]{26}$/);
    expect(await idOf('a b"c')).toMatch(/^[0-9A-Z]{26}$/);
  });
});

test('the message about a wrong word names the choices, and no empty one', async () => {
  const refused = async (path: string, body: object) => (await app.project.post(path, body, 400)).message;
  const endpoint = { name: 'n', url: 'http://127.0.0.1:9/' };
  expect(await refused('/endpoints', { ...endpoint, delivery: 'x' })).toBe(
    'delivery: must be one of push, pull, broker',
  );
  expect(await refused('/endpoints', { ...endpoint, signing_key: { type: 'x' } })).toBe(
    'signing_key.type: must be ed25519',
  );
});
