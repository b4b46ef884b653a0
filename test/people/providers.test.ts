import { afterEach, describe, expect, test } from 'vitest';
import { startTestApp } from '../support/app.ts';
import { ApiClient, type Json } from '../support/client.ts';
import { freePort } from '../support/program.ts';
import { IdentityProvider } from '../support/servers/identity-provider.ts';
import { cookieOf, PASSWORD, SessionClient, signIn, tokenOf, use } from '../support/session-client.ts';
import { shared } from '../support/shared.ts';

const port = await freePort();
const url = `http://127.0.0.1:${port}`;
const NAMES = ['main', 'closed', 'safe'];
const idp = await shared(
  IdentityProvider.start(() => NAMES.map((name) => `${url}/auth/providers/${name}/callback`)),
);
const app = await shared(startTestApp());
const common = { issuer: idp.url, client_id: 'posthorn', client_secret: 'a client secret of the provider' };
const node = await app.addNode({
  POSTHORN_PORT: String(port),
  POSTHORN_PASSWORD_SIGN_IN: 'off',
  POSTHORN_OIDC_PROVIDERS: JSON.stringify([
    {
      ...common,
      name: 'main',
      title: 'Main',
      domains: ['Example.com'],
      create_accounts: true,
      groups: [
        { group: 'readers', project: app.projectId, role: 'viewer' },
        { group: 'makers', project: app.projectId, role: 'developer' },
        { group: 'bosses', instance_admin: true },
      ],
    },
    { ...common, name: 'closed' },
    { ...common, name: 'safe', create_accounts: true, second_factor: true },
    { name: 'gone', issuer: `http://127.0.0.1:${await freePort()}`, client_id: 'x' },
  ]),
});

afterEach(() => {
  idp.forge = null;
});

/** A browser: cookies by origin, and redirects. */
class Browser {
  readonly #jars = new Map<string, Map<string, string>>();

  async open(address: string): Promise<Response> {
    const { origin } = new URL(address);
    const jar = this.#jars.get(origin) ?? new Map<string, string>();
    this.#jars.set(origin, jar);
    const cookie = [...jar].map(([name, value]) => `${name}=${value}`).join('; ');
    const response = await fetch(address, { headers: { cookie }, redirect: 'manual' });
    for (const line of response.headers.getSetCookie()) {
      const [name = '', ...value] = (line.split(';')[0] ?? '').split('=');
      if (/max-age=0|expires=thu, 01 jan 1970/i.test(line)) jar.delete(name);
      else jar.set(name, value.join('='));
    }
    return response;
  }

  /** Follows redirects until an address matches, or one of ours that is not the way to the provider. */
  async follow(
    address: string,
    until = /\/sign-in#|127\.0\.0\.1:\d+\/(?!auth\/providers|auth|interaction)/,
  ): Promise<string> {
    let next = address;
    for (let steps = 0; steps < 12; steps++) {
      const response = await this.open(next);
      await response.arrayBuffer();
      const location = response.headers.get('location');
      if (location === null) return `${response.status} ${next}`;
      next = new URL(location, next).href;
      if (until.test(next) && next.startsWith(url)) return next;
    }
    throw new Error(`too many redirects: ${next}`);
  }

  session(base: string): SessionClient {
    return new SessionClient(base, `posthorn_session=${this.#jars.get(url)?.get('posthorn_session') ?? ''}`);
  }
}

const CALLBACK = /\/callback\?/;
const start = (name: string) => `${url}/auth/providers/${name}/start`;
let count = 0;
const accountWith = (more: object = {}) => {
  count += 1;
  return {
    sub: `sub-${count}`,
    email: `who-${count}@example.com`,
    email_verified: true,
    name: 'Who',
    ...more,
  };
};

async function signInAt(name: string): Promise<{ end: string; browser: Browser; me: Json }> {
  const browser = new Browser();
  const end = await browser.follow(start(name));
  const response = await browser.session(`${url}/auth`).raw('GET', '/me');
  return { end, browser, me: ((await response.json()) as Json).data };
}

describe('signing in at a provider', () => {
  // proves Instance: POSTHORN_OIDC_PROVIDERS
  test('a person signs in at a provider, and the first sign-in makes an account', async () => {
    idp.account = accountWith();
    const ways = await new ApiClient(`${url}/auth`, '').get('/providers');
    expect(ways).toEqual({
      password: false,
      reset_by_mail: false,
      providers: ['main', 'closed', 'safe', 'gone'].map((name) => ({
        name,
        title: name === 'main' ? 'Main' : name,
        url: start(name),
      })),
    });
    const { end, me } = await signInAt('main');
    expect(end).toBe(`${url}/`);
    expect(me).toMatchObject({
      person: { email: idp.account.email, email_verified: true, name: 'Who' },
      has_password: false,
      session: { method: 'main', second_factor: false },
      projects: [],
    });
    const again = await signInAt('main');
    expect(again.me.person.uid).toBe(me.person.uid);
    // The subject counts from then on, not the address.
    idp.account = { ...idp.account, email: `renamed-${count}@example.com` };
    expect((await signInAt('main')).me.person.uid).toBe(me.person.uid);
  });

  test('many first sign-ins at once make one account', async () => {
    idp.account = accountWith();
    const all = await Promise.all(Array.from({ length: 4 }, () => signInAt('main')));
    expect(new Set(all.map(({ me }) => me.person.uid)).size).toBe(1);
  });

  test('groups give roles at each sign-in, and take them back', async () => {
    idp.account = accountWith({ groups: ['readers', 'makers', 'others'] });
    const first = await signInAt('main');
    expect(first.me.projects).toEqual([{ uid: app.projectId, name: 'default', role: 'developer' }]);
    idp.account = { ...idp.account, groups: ['readers'] };
    expect((await signInAt('main')).me.projects[0].role).toBe('viewer');
    // The earlier session has the new role as well.
    const project = first.browser.session(`${url}/api/v1/projects/${app.projectId}`);
    await project.post('/event-types', { name: 'too.late' }, 403);
    idp.account = { ...idp.account, groups: ['bosses'] };
    expect((await signInAt('main')).me.instance_admin).toBe(true);
    idp.account = { ...idp.account, groups: [] };
    expect((await signInAt('main')).me).toMatchObject({ instance_admin: false, projects: [] });
  });

  test('without create_accounts only people who were invited may sign in', async () => {
    idp.account = accountWith();
    expect((await signInAt('closed')).end).toBe(`${url}/sign-in#error=provider_no_account`);
    await app.instance.post(`/projects/${app.projectId}/people`, {
      email: idp.account.email,
      role: 'viewer',
    });
    const { end, me } = await signInAt('closed');
    expect([end, me.projects[0].role]).toEqual([`${url}/`, 'viewer']);
  });

  test('a provider that asks for a second factor itself gives sessions with one', async () => {
    idp.account = accountWith();
    expect((await signInAt('safe')).me.session).toMatchObject({ method: 'safe', second_factor: true });
  });

  test('the proof of an address takes the account from others who set it up before', async () => {
    idp.account = accountWith();
    const { email } = idp.account;
    const { link } = await app.project.post('/people', { email, role: 'viewer' });
    const used = await use(app.url, { token: tokenOf(link), password: PASSWORD });
    const squatter = new SessionClient(`${app.url}/auth`, cookieOf(used));
    const { me } = await signInAt('main');
    expect(me).toMatchObject({ person: { email, email_verified: true }, has_password: false });
    await squatter.get('/me', 401);
    expect((await signIn(app.url, { email, password: PASSWORD })).status).toBe(401);
  });

  test('a deactivated account stays out', async () => {
    idp.account = accountWith();
    const { me } = await signInAt('main');
    await app.instance.put(`/people/${me.person.uid}`, { is_active: false });
    expect((await signInAt('main')).end).toBe(`${url}/sign-in#error=provider_refused`);
  });

  test('the browser returns to a path of the service and nowhere else', async () => {
    idp.account = accountWith();
    const to = (path: string) =>
      new Browser().follow(`${start('main')}?return_to=${encodeURIComponent(path)}`);
    expect(await to('/p/1?x=y')).toBe(`${url}/p/1?x=y`);
    for (const bad of ['https://evil.example.com', '//evil.example.com', '/\\evil.example.com', 'x', ''])
      expect(await to(bad)).toBe(`${url}/`);
  });
});

describe('refused is', () => {
  const refused = async (name: string) => {
    const { end, me } = await signInAt(name);
    expect(me).toBe(undefined);
    return end.split('#error=')[1];
  };

  test.each<[string, IdentityProvider['forge']]>([
    ['with another nonce', (claims, sign) => sign({ ...claims, nonce: 'of another sign-in' })],
    ['without a nonce', (claims, sign) => sign({ ...claims, nonce: undefined })],
    ['that has expired', (claims, sign) => sign({ ...claims, exp: Math.floor(Date.now() / 1000) - 3600 })],
    ['for another audience', (claims, sign) => sign({ ...claims, aud: 'another client' })],
    ['of another issuer', (claims, sign) => sign({ ...claims, iss: 'https://evil.example.com' })],
    [
      'without a signature',
      (claims) =>
        `${[{ alg: 'none' }, claims].map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.')}.`,
    ],
    [
      'with a changed claim',
      (claims, sign) =>
        sign(claims).replace(
          /\.[^.]+\./,
          `.${Buffer.from(JSON.stringify({ ...claims, email: 'boss@example.com', email_verified: true })).toString('base64url')}.`,
        ),
    ],
  ])('an ID token %s', async (_name, forge) => {
    idp.account = accountWith();
    idp.forge = forge;
    expect(await refused('main')).toBe('provider_refused');
    // The same account is taken without the forgery.
    idp.forge = null;
    expect((await signInAt('main')).end).toBe(`${url}/`);
  });

  test.each([
    ['an address that the provider has not confirmed', { email_verified: false }, 'provider_unverified'],
    ['an account without an address', { email: undefined }, 'provider_unverified'],
    ['an address of another domain', { email: 'who@other.example' }, 'provider_domain'],
    ['a domain that only ends like an allowed one', { email: 'who@evilexample.com' }, 'provider_domain'],
    ['an address with two domains', { email: 'who@evil.example@example.com' }, 'provider_unverified'],
    ['an address with two recipients', { email: 'who,other@example.com' }, 'provider_unverified'],
    ['an address with a quoted name', { email: '"who@evil.example"@example.com' }, 'provider_unverified'],
    ['an address without a name', { email: '@example.com' }, 'provider_unverified'],
    ['an address that is too long', { email: `${'a'.repeat(250)}@example.com` }, 'provider_unverified'],
  ])('%s', async (_name, claims, code) => {
    idp.account = accountWith(claims);
    expect(await refused('main')).toBe(code);
  });

  test('a provider that does not answer', async () => {
    expect(await refused('gone')).toBe('provider_unavailable');
    expect(await new Browser().follow(start('unknown'))).toBe(`404 ${start('unknown')}`);
  });

  test('an answer in another browser, with another state, or a second time', async () => {
    idp.account = accountWith();
    const browser = new Browser();
    const answer = await browser.follow(start('main'), CALLBACK);
    expect(answer).toMatch(CALLBACK);
    const end = `${url}/sign-in#error=provider_refused`;
    expect(await new Browser().follow(answer)).toBe(end);
    const fresh = new Browser();
    await fresh.follow(start('main'), CALLBACK);
    // The cookie of one sign-in and the answer to another: an attacker's code in a victim's browser.
    expect(await fresh.follow(answer)).toBe(end);
    expect(await browser.follow(answer)).toBe(`${url}/`);
    expect(await browser.follow(answer)).toBe(end);
  });

  test('an answer to a sign-in at another provider', async () => {
    idp.account = accountWith();
    const browser = new Browser();
    const answer = await browser.follow(start('safe'), CALLBACK);
    expect(await browser.follow(answer.replace('/safe/', '/main/'))).toBe(
      `${url}/sign-in#error=provider_refused`,
    );
  });
});

test('the cookie of a sign-in at a provider is for this browser alone', async () => {
  const response = await fetch(start('main'), { redirect: 'manual' });
  const [line = ''] = response.headers.getSetCookie();
  expect(line).toMatch(/^posthorn_provider=[\w-]+; Path=\/; HttpOnly; SameSite=Lax; Max-Age=600$/);
  const location = new URL(response.headers.get('location') ?? '');
  expect(location.searchParams.get('code_challenge_method')).toBe('S256');
  expect(location.searchParams.get('state')).toMatch(/^[\w-]{40,}$/);
  expect(location.searchParams.get('nonce')).toMatch(/^[\w-]{40,}$/);
  expect(node.url).toBe(url);
});
