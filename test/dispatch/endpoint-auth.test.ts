import { createPublicKey, generateKeyPairSync, verify } from 'node:crypto';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { EndpointAuth } from '../../src/dispatch/client/endpoint-auth.ts';
import { HttpClient } from '../../src/dispatch/client/http-client.ts';
import type {
  EndpointAuthentication,
  OAuth2Config,
} from '../../src/domain/config/endpoint-authentication.ts';
import { type LoopbackServer, listenHttp } from '../support/servers/loopback-server.ts';
import { untilEnd } from '../support/servers/until-end.ts';

interface TokenServer extends LoopbackServer {
  readonly url: string;
  /** The forms received, in order. */
  readonly forms: URLSearchParams[];
}

async function tokenServer(answer: (count: number) => [status: number, body: unknown]): Promise<TokenServer> {
  const forms: URLSearchParams[] = [];
  const server = await listenHttp((req, res) => {
    let text = '';
    req.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk;
    });
    req.on('end', () => {
      forms.push(new URLSearchParams(text));
      const [status, body] = answer(forms.length);
      res.writeHead(status).end(typeof body === 'string' ? body : JSON.stringify(body));
    });
  });
  untilEnd(server);
  return { ...server, url: `http://127.0.0.1:${server.port}/token`, forms };
}

function endpointAuth(egress: 'any' | 'public' = 'any'): EndpointAuth {
  return new EndpointAuth(untilEnd(new HttpClient({ egress })));
}

const shared = (url: string, more: Partial<OAuth2Config> = {}): EndpointAuthentication => ({
  type: 'oauth2',
  oauth2: { url, client_id: 'me', client_secret: 'hush', authentication_type: 'shared_secret', ...more },
});

const bearer = (token: string) => ({ kind: 'headers', headers: [['Authorization', `Bearer ${token}`]] });

describe('static credentials', () => {
  test('an API key is the named header, basic authentication is encoded as UTF-8', async () => {
    const auth = endpointAuth();
    const apiKey = { header_name: 'X-Api-Key', header_value: 'k' };
    expect(await auth.headers('e', { type: 'api_key', api_key: apiKey })).toEqual({
      kind: 'headers',
      headers: [['X-Api-Key', 'k']],
    });
    const basic = { username: 'jürgen', password: 'a:b' };
    expect(await auth.headers('e', { type: 'basic_auth', basic_auth: basic })).toEqual({
      kind: 'headers',
      headers: [['Authorization', `Basic ${Buffer.from('jürgen:a:b').toString('base64')}`]],
    });
  });
});

describe('OAuth 2', () => {
  test('with a shared secret requests one token for many deliveries and caches it', async () => {
    const server = await tokenServer((n) => [
      200,
      { access_token: `t${n}`, token_type: 'bearer', expires_in: 60 },
    ]);
    const auth = endpointAuth();
    const config = shared(server.url, { scope: 'a b', audience: 'them' });
    const results = await Promise.all(Array.from({ length: 20 }, () => auth.headers('e', config)));
    for (const result of results) expect(result).toEqual(bearer('t1'));
    expect(await auth.headers('e', config)).toEqual(bearer('t1'));
    expect(server.forms.map((form) => Object.fromEntries(form))).toEqual([
      {
        grant_type: 'client_credentials',
        client_id: 'me',
        client_secret: 'hush',
        scope: 'a b',
        audience: 'them',
      },
    ]);
  });

  test('requests a new token for another endpoint, for other settings, and on expiry', async () => {
    const server = await tokenServer((n) => [200, { access_token: `t${n}`, expires_in: n === 4 ? 0 : 60 }]);
    const auth = endpointAuth();
    const config = shared(server.url);
    expect(await auth.headers('one', config)).toEqual(bearer('t1'));
    expect(await auth.headers('two', config)).toEqual(bearer('t2'));
    expect(await auth.headers('one', shared(server.url, { client_secret: 'new' }))).toEqual(bearer('t3'));
    expect(await auth.headers('three', config)).toEqual(bearer('t4'));
    expect(await auth.headers('three', config)).toEqual(bearer('t5'));
  });

  test('keeps its token though the clock of the machine is set', async () => {
    const server = await tokenServer((n) => [200, { access_token: `t${n}`, expires_in: 60 }]);
    const auth = endpointAuth();
    const config = shared(server.url);
    expect(await auth.headers('e', config)).toEqual(bearer('t1'));
    const spy = vi.spyOn(Date, 'now').mockReturnValue(Date.now() + 3_600_000);
    onTestFinished(() => spy.mockRestore());
    expect(await auth.headers('e', config)).toEqual(bearer('t1'));
  });

  test('requests a new token after the endpoint refused it, but not for every refusal at once', async () => {
    const server = await tokenServer((n) => [200, { access_token: `t${n}` }]);
    const auth = endpointAuth();
    const config = shared(server.url);
    await auth.headers('e', config);
    for (let i = 0; i < 5; i++) auth.invalidate('e');
    auth.invalidate('unknown');
    expect(await auth.headers('e', config)).toEqual(bearer('t1'));
    await expect
      .poll(
        async () => {
          auth.invalidate('e');
          return auth.headers('e', config);
        },
        { timeout: 5_000 },
      )
      .toEqual(bearer('t2'));
    expect(server.forms).toHaveLength(2);
  });

  test('requests the configured grant', async () => {
    const server = await tokenServer(() => [200, { access_token: 't' }]);
    await endpointAuth().headers('e', shared(server.url, { grant_type: 'urn:example:other' }));
    expect(server.forms[0]?.get('grant_type')).toBe('urn:example:other');
  });

  test('reads renamed fields and units of time', async () => {
    const server = await tokenServer((n) => [200, { tok: `t${n}`, kind: 'MAC', ttl: '1' }]);
    const auth = endpointAuth();
    const config = shared(server.url, {
      field_mapping: { access_token: 'tok', token_type: 'kind', expires_in: 'ttl' },
      expiry_time_unit: 'milliseconds',
    });
    expect(await auth.headers('e', config)).toEqual({
      kind: 'headers',
      headers: [['Authorization', 'MAC t1']],
    });
    await expect
      .poll(() => auth.headers('e', config))
      .toMatchObject({ headers: [['Authorization', 'MAC t2']] });
  });

  test.each([
    [400, { error: 'invalid_client', error_description: 'hush' }, /answered 400 \(invalid_client\)/],
    [500, 'hush is wrong', /answered 500$/],
    [302, '', /answered 302/],
    [200, 'not json', /without a usable token/],
    [200, { access_token: '' }, /without a usable token/],
    [200, { access_token: 'a\r\nX-Evil: 1' }, /without a usable token/],
    [200, { access_token: 7 }, /without a usable token/],
    [200, { access_token: 'a', token_type: 'B\nx' }, /without a usable token/],
    [200, 'null', /without a usable token/],
    [200, JSON.stringify({ access_token: 'x'.repeat(70_000) }), /too long/],
  ])('a response %i %j is a failure that reveals no secret', async (status, body, message) => {
    const server = await tokenServer(() => [status, body]);
    const result = await endpointAuth().headers('e', shared(server.url));
    expect(result).toEqual({
      kind: 'failed',
      message: expect.stringMatching(message),
      ours: false,
      permanent: false,
    });
    expect(JSON.stringify(result)).not.toContain('hush');
  });

  test('a failure is cached for a moment, so many deliveries do not repeat the request', async () => {
    const server = await tokenServer(() => [500, '']);
    const auth = endpointAuth();
    for (let i = 0; i < 10; i++)
      expect(await auth.headers('e', shared(server.url))).toMatchObject({ kind: 'failed' });
    expect(server.forms).toHaveLength(1);
  });

  test('the egress rule applies to the token server, and an unreachable one is reported', async () => {
    const server = await tokenServer(() => [200, { access_token: 't' }]);
    expect(await endpointAuth('public').headers('e', shared(server.url))).toMatchObject({
      kind: 'failed',
      message: 'no access token: 127.0.0.1 is a loopback address, not allowed by POSTHORN_EGRESS=public',
    });
    await server.close();
    expect(await endpointAuth().headers('e', shared(server.url))).toMatchObject({
      kind: 'failed',
      message: `no access token: connection refused by 127.0.0.1:${server.port}`,
    });
  });

  test.each([
    { client_secret: '' },
    { authentication_type: 'client_assertion' as const },
    { authentication_type: 'client_assertion' as const, signing_key: { kty: 'EC', d: 'hush' } },
  ])('invalid settings are a permanent failure (%#)', async (more) => {
    const result = await endpointAuth().headers('e', shared('http://127.0.0.1:9/', more));
    expect(result).toMatchObject({ kind: 'failed', permanent: true, ours: false });
    expect(JSON.stringify(result)).not.toContain('hush');
  });
});

describe('a client assertion', () => {
  const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey.export({ format: 'jwk' });
  const ec = (namedCurve: string) =>
    generateKeyPairSync('ec', { namedCurve }).privateKey.export({ format: 'jwk' });
  const cases = [
    ['ES256', ec('P-256'), { dsaEncoding: 'ieee-p1363' }],
    ['ES384', ec('P-384'), { dsaEncoding: 'ieee-p1363' }],
    ['ES512', ec('P-521'), { dsaEncoding: 'ieee-p1363' }],
    ['RS256', rsa, { padding: 1 }],
    ['RS384', rsa, { padding: 1 }],
    ['RS512', rsa, { padding: 1 }],
    ['PS256', rsa, { padding: 6, saltLength: 32 }],
    ['PS512', rsa, { padding: 6, saltLength: 64 }],
  ] as const;

  test.each(cases)('by %s has the claims and verifies', async (algorithm, jwk, how) => {
    const server = await tokenServer(() => [200, { access_token: 't' }]);
    const config = shared(server.url, {
      authentication_type: 'client_assertion',
      signing_algorithm: algorithm,
      signing_key: { ...jwk, kid: 'key-1' },
      issuer: 'us',
      subject: 'on their behalf',
    });
    expect(await endpointAuth().headers('e', config)).toEqual(bearer('t'));
    const form = server.forms[0]!;
    expect(form.get('client_assertion_type')).toBe('urn:ietf:params:oauth:client-assertion-type:jwt-bearer');
    expect(form.has('client_secret')).toBe(false);
    const [header, payload, signature] = form.get('client_assertion')!.split('.') as [string, string, string];
    const read = (part: string): unknown => JSON.parse(Buffer.from(part, 'base64url').toString());
    expect(read(header)).toEqual({ alg: algorithm, typ: 'JWT', kid: 'key-1' });
    const claims = read(payload) as { iat: number; exp: number };
    expect(claims).toMatchObject({
      iss: 'us',
      sub: 'on their behalf',
      aud: server.url,
      jti: expect.any(String),
    });
    expect(claims.exp - claims.iat).toBe(300);
    const key = createPublicKey({ key: jwk, format: 'jwk' });
    const data = Buffer.from(`${header}.${payload}`);
    const valid = verify(
      `sha${algorithm.slice(2)}`,
      data,
      { key, ...how },
      Buffer.from(signature, 'base64url'),
    );
    expect(valid).toBe(true);
  });

  test.each([
    ['ES256', rsa],
    ['ES384', ec('P-256')],
    ['RS256', ec('P-256')],
    ['HS256', rsa],
    ['none', rsa],
  ])('by %s with an unfit key is refused', async (algorithm, jwk) => {
    const config = shared('http://127.0.0.1:9/', {
      authentication_type: 'client_assertion',
      signing_algorithm: algorithm as 'ES256',
      signing_key: jwk,
    });
    expect(await endpointAuth().headers('e', config)).toMatchObject({ kind: 'failed', permanent: true });
  });
});
