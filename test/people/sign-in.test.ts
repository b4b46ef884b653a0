import { describe, expect, test } from 'vitest';
import { startTestApp } from '../support/app.ts';
import { ApiClient, type Json } from '../support/client.ts';
import { eventually } from '../support/eventually.ts';
import { freePort } from '../support/program.ts';
import {
  behindLock,
  cookieOf,
  member,
  PASSWORD,
  SessionClient,
  signIn,
  statusOf,
  tokenOf,
  use,
} from '../support/session-client.ts';
import { shared } from '../support/shared.ts';

const app = await shared(startTestApp());
const auth = new ApiClient(`${app.url}/auth`, '');

const json = async (response: Response): Promise<Json> => response.json();
const invited = async (email: string): Promise<string> =>
  tokenOf((await app.instance.post('/people', { email })).link);
/** Forgets failed sign-ins, so that tests do not slow each other down. */
const forgetFailures = () => app.database.query('delete from sign_in_failures');

describe('signing in', () => {
  test('an invited person sets a password, signs in with it, and sees the projects', async () => {
    const { link, person } = await app.instance.post(`/projects/${app.projectId}/people`, {
      email: ' Ann@Example.com ',
      name: 'Ann',
      role: 'developer',
    });
    expect(person).toMatchObject({ email: 'ann@example.com', status: 'invited', instance_admin: false });
    expect(link).toMatch(new RegExp(`^${app.url}/sign-in#link=\\w{43}$`));
    const token = tokenOf(link);
    const looked = await auth.post('/link/check', { token }, 200);
    expect(looked).toEqual({
      purpose: 'invitation',
      email: 'ann@example.com',
      name: 'Ann',
      needs_password: true,
      needs_code: false,
    });
    const used = await use(app.url, { token, password: PASSWORD });
    expect(used.status).toBe(200);

    const response = await signIn(app.url, { email: 'ANN@example.com', password: PASSWORD });
    expect(response.status).toBe(200);
    const me = await new SessionClient(`${app.url}/auth`, cookieOf(response)).get('/me');
    expect((await json(response)).data).toEqual(me);
    expect(me).toMatchObject({
      person: { email: 'ann@example.com', name: 'Ann', status: 'active' },
      instance_admin: false,
      projects: [{ uid: app.projectId, name: 'default', role: 'developer' }],
      session: { current: true, method: 'password', second_factor: false, address: '127.0.0.1' },
    });
  });

  test('the cookie cannot be read by scripts or sent by other sites, and is bound to https where that is used', async () => {
    const { email } = await member(app, 'viewer');
    const response = await signIn(app.url, { email, password: PASSWORD });
    expect(response.headers.getSetCookie()).toEqual([
      expect.stringMatching(/^posthorn_session=\w{43}; Path=\/; HttpOnly; SameSite=Lax$/),
    ]);
    expect(response.headers.get('cache-control')).toBe('no-store');
    const port = await freePort();
    await app.addNode({ POSTHORN_PUBLIC_URL: 'https://hooks.example.com', POSTHORN_PORT: String(port) });
    const secure = { url: `http://127.0.0.1:${port}` };
    const overTls = await signIn(secure.url, { email, password: PASSWORD });
    expect(overTls.headers.getSetCookie()).toEqual([
      expect.stringMatching(/^__Host-posthorn_session=\w{43}; Path=\/; HttpOnly; SameSite=Lax; Secure$/),
    ]);
    const page = new SessionClient(`${secure.url}/auth`, cookieOf(overTls));
    const from = (origin: string) =>
      page.raw('GET', '/me', { headers: { origin } }).then(({ status }) => status);
    expect(await from('https://hooks.example.com')).toBe(200);
    expect(await from('https://other.example.com')).toBe(403);
    // The cookie of the other name is none.
    expect(await statusOf(new SessionClient(page.base, cookieOf(response)))).toBe(401);
  });

  test('an unknown address, a wrong password and a deactivated account get the same answer', async () => {
    const { email, uid } = await member(app, 'viewer');
    const gone = await member(app, 'viewer');
    await app.database.query('update people set deactivated_at = now() where id = $1', [gone.uid]);
    const open = await invited('open@example.com');
    const answers = [
      await signIn(app.url, { email: 'unknown@example.com', password: PASSWORD }),
      await signIn(app.url, { email, password: 'not the password' }),
      await signIn(app.url, { email: gone.email, password: PASSWORD }),
      await signIn(app.url, { email: 'open@example.com', password: PASSWORD }),
    ];
    const texts = await Promise.all(answers.map((answer) => answer.text()));
    expect(answers.map(({ status }) => status)).toEqual([401, 401, 401, 401]);
    expect(new Set(texts).size).toBe(1);
    expect(texts[0]).toContain('sign_in_refused');
    expect([uid, open].every((text) => !texts.join().includes(text))).toBe(true);
  });

  test('an unknown address costs as much work as a wrong password', async () => {
    const { email } = await member(app, 'viewer');
    // The CPU time of this process, in which the service runs: it does not depend on the load of the machine.
    const costOf = async (address: string) => {
      const before = process.cpuUsage();
      for (let round = 0; round < 10; round++) {
        await forgetFailures();
        await (await signIn(app.url, { email: address, password: 'not the password' })).text();
      }
      return process.cpuUsage(before).user;
    };
    await costOf(email);
    const ratio = (await costOf('unknown@example.com')) / (await costOf(email));
    // Without the hash for an unknown account it is about a fifth.
    expect(ratio).toBeGreaterThan(0.5);
    expect(ratio).toBeLessThan(2);
  });

  test('a session gets a token of its own, whatever cookie came with the sign-in', async () => {
    const { email, auth: first } = await member(app, 'viewer');
    const planted = 'posthorn_session=chosenByAnAttacker000000000000000000000000000';
    const response = await signIn(app.url, { email, password: PASSWORD }, { cookie: planted });
    expect(cookieOf(response)).not.toBe(planted);
    expect(await statusOf(new SessionClient(`${app.url}/auth`, planted))).toBe(401);
    // A session that the visitor had already ends, because others may know it.
    const again = await signIn(app.url, { email, password: PASSWORD }, { cookie: first.cookie });
    expect(again.status).toBe(200);
    expect(await statusOf(first)).toBe(401);
  });

  test('sign-ins at once get a session each', async () => {
    const { email, auth: me } = await member(app, 'viewer');
    const responses = await Promise.all(
      Array.from({ length: 4 }, () => signIn(app.url, { email, password: PASSWORD })),
    );
    expect(responses.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
    expect(new Set(responses.map(cookieOf)).size).toBe(4);
    expect((await me.get('/sessions')).length).toBe(5);
  });

  test('a page of another site cannot sign a visitor in', async () => {
    const { email } = await member(app, 'viewer');
    const body = { email, password: PASSWORD };
    const foreign = await signIn(app.url, body, { origin: 'https://evil.example.com' });
    expect([foreign.status, foreign.headers.getSetCookie()]).toEqual([403, []]);
    const other = await signIn(app.url, body, { 'sec-fetch-site': 'cross-site' });
    expect(other.status).toBe(403);
    expect((await signIn(app.url, body, { origin: app.url })).status).toBe(200);
  });

  test('a hash with weaker parameters is replaced at the next sign-in', async () => {
    const { email, uid } = await member(app, 'viewer');
    const hashOf = async () =>
      (await app.database.query('select password_hash from people where id = $1', [uid]))[0]?.[
        'password_hash'
      ];
    const strong = String(await hashOf());
    expect(strong).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/);
    const { PasswordHasher } = await import('../../src/people/password-hasher.ts');
    const weak = await new PasswordHasher(app.app.people.sealer, {
      memory: 64,
      passes: 1,
      parallelism: 1,
    }).hash(PASSWORD);
    await app.database.query('update people set password_hash = $2 where id = $1', [uid, weak]);
    expect((await signIn(app.url, { email, password: 'not the password' })).status).toBe(401);
    expect(await hashOf()).toBe(weak);
    expect((await signIn(app.url, { email, password: PASSWORD })).status).toBe(200);
    await eventually(hashOf, (hash) => String(hash).includes('m=19456,t=2,p=1'));
    expect((await signIn(app.url, { email, password: PASSWORD })).status).toBe(200);
  });

  test('malformed sign-ins are refused', async () => {
    await auth.post('/sign-in', {}, 400);
    await auth.post('/sign-in', { email: 'a@example.com', password: 'x'.repeat(257) }, 400);
    await auth.post('/link/check', { token: 'none' }, 401);
    await auth.post('/link', { token: 'none', password: PASSWORD }, 401);
    const zero = await signIn(app.url, { email: 'a\u0000@example.com', password: PASSWORD });
    expect(zero.status).toBe(400);
    expect((await auth.raw('GET', '/providers')).status).toBe(200);
    expect(await auth.get('/providers')).toEqual({ password: true, reset_by_mail: false, providers: [] });
  });
});

// proves Instance: POSTHORN_SESSION_HOURS, POSTHORN_SESSION_IDLE_MINUTES, POSTHORN_PASSWORD_SIGN_IN
test('a node may have shorter sessions, or no passwords', async () => {
  const { email, uid } = await member(app, 'viewer');
  const node = await app.addNode({
    POSTHORN_SESSION_HOURS: '1',
    POSTHORN_SESSION_IDLE_MINUTES: '5',
  });
  const me = new SessionClient(
    `${node.url}/auth`,
    cookieOf(await signIn(node.url, { email, password: PASSWORD })),
  );
  const { session } = await me.get('/me');
  const hours = (Date.parse(session.expires_at) - Date.parse(session.created_at)) / 3_600_000;
  expect(hours).toBeCloseTo(1, 2);
  await app.database.query(
    "update sessions set last_used_at = now() - interval '6 minutes' where person_id = $1",
    [uid],
  );
  await eventually(() => statusOf(me), 401);
  const without = await app.addNode({ POSTHORN_PASSWORD_SIGN_IN: 'off' });
  const refused = await signIn(without.url, { email, password: PASSWORD });
  expect([refused.status, (await json(refused)).code]).toEqual([403, 'password_sign_in_off']);
  expect((await new ApiClient(`${without.url}/auth`, '').get('/providers')).password).toBe(false);
  // An invitation then sets no password.
  const token = await invited('without@example.com');
  expect((await use(without.url, { token })).status).toBe(200);
});

describe('failed sign-ins', () => {
  test('many at once: few are checked, the others have to wait', async () => {
    await forgetFailures();
    const { email } = await member(app, 'viewer');
    const tries = await Promise.all(
      Array.from({ length: 30 }, () => signIn(app.url, { email, password: 'not the password' })),
    );
    const statuses = tries.map(({ status }) => status);
    // Five are free. On a busy machine the first waits are over before the last try.
    expect(statuses.filter((status) => status === 401).length).toBeLessThan(15);
    expect(statuses.filter((status) => status === 429).length).toBeGreaterThan(15);
    const refused = tries.find(({ status }) => status === 429);
    expect(Number(refused?.headers.get('retry-after'))).toBeGreaterThan(0);
    // The right password has to wait as well, for a while and not for good.
    await app.database.query("update sign_in_failures set failed_at = failed_at - interval '61 seconds'");
    expect((await signIn(app.url, { email, password: PASSWORD })).status).toBe(200);
    expect((await signIn(app.url, { email, password: PASSWORD })).status).toBe(200);
  });

  test('the longest wait is a minute, and refused tries do not prolong it', async () => {
    const { email } = await member(app, 'viewer');
    await forgetFailures();
    const fail = () => signIn(app.url, { email, password: 'not the password' });
    for (let round = 0; round < 5; round++) await fail();
    await app.database.query('update sign_in_failures set failures = 1000, failed_at = now()');
    const early = await fail();
    expect([early.status, Number(early.headers.get('retry-after')) <= 60]).toEqual([429, true]);
    await app.database.query("update sign_in_failures set failed_at = now() - interval '61 seconds'");
    expect((await fail()).status).toBe(401);
  });

  test('failures from elsewhere do not keep a person out who signed in here before', async () => {
    await forgetFailures();
    const known = await member(app, 'viewer');
    expect((await signIn(app.url, { email: known.email, password: PASSWORD })).status).toBe(200);
    const unknown = await member(app, 'viewer');
    for (const { email } of [known, unknown]) {
      const keyOf = app.app.people.sealer.lookupHash(`sign-in of ${email}`);
      await app.database.query(
        `insert into sign_in_failures (key, failures, failed_at) values ($1, 1000, now())
         on conflict (key) do update set failures = 1000, failed_at = now()`,
        [keyOf],
      );
    }
    expect((await signIn(app.url, { email: known.email, password: PASSWORD })).status).toBe(200);
    expect((await signIn(app.url, { email: unknown.email, password: PASSWORD })).status).toBe(429);
    await forgetFailures();
  });
});

test('the address counts as well: many failures of one keep each account waiting', async () => {
  await forgetFailures();
  const { email } = await member(app, 'viewer');
  const key = app.app.people.sealer.lookupHash('sign-in from 127.0.0.1');
  await app.database.query(
    'insert into sign_in_failures (key, failures, failed_at) values ($1, 1000, now())',
    [key],
  );
  expect((await signIn(app.url, { email, password: PASSWORD })).status).toBe(429);
  await forgetFailures();
});

describe('while a call waits for the account', () => {
  const meanwhile = async (uid: string, change: string, call: () => Promise<Response>): Promise<Response> => {
    const [answer] = await behindLock(app, uid, { calls: [call], change });
    return answer as Response;
  };

  test.each([
    ['it is deactivated', 'deactivated_at = now()'],
    ['its password is changed', "password_hash = 'another'"],
  ])('%s: neither a sign-in nor a new password succeeds', async (_, change) => {
    const one = await member(app, 'viewer');
    const signing = await meanwhile(one.uid, change, () =>
      signIn(app.url, { email: one.email, password: PASSWORD }),
    );
    expect([signing.status, signing.headers.getSetCookie()]).toEqual([401, []]);
    const two = await member(app, 'viewer');
    const body = { current_password: PASSWORD, new_password: `${PASSWORD} and more` };
    const changing = await meanwhile(two.uid, change, () => two.auth.raw('PUT', '/password', { body }));
    expect([changing.status, changing.headers.getSetCookie()]).toEqual([401, []]);
  });

  test('it is deactivated: its link does not work', async () => {
    const { uid, email } = await member(app, 'viewer');
    const token = tokenOf((await app.instance.post('/sign-in-links', { email })).link);
    const used = await meanwhile(uid, 'deactivated_at = now()', () => use(app.url, { token }));
    expect([used.status, used.headers.getSetCookie()]).toEqual([401, []]);
    await auth.post('/link/check', { token }, 401);
  });
});

describe('links', () => {
  test('of an account end with a new password, and with a new address', async () => {
    const { uid, email } = await member(app, 'viewer');
    const make = async (purpose: string) =>
      tokenOf((await app.instance.post('/sign-in-links', { email, purpose })).link);
    const [reset, other] = [await make('reset'), await make('sign_in')];
    expect((await use(app.url, { token: reset, password: PASSWORD })).status).toBe(200);
    expect((await use(app.url, { token: reset, password: PASSWORD })).status).toBe(401);
    expect((await use(app.url, { token: other })).status).toBe(401);
    const mailed = await make('sign_in');
    await app.instance.put(`/people/${uid}`, { email: `new-${email}` });
    expect((await use(app.url, { token: mailed })).status).toBe(401);
  });

  test('an invitation works once; of many uses at once, one succeeds', async () => {
    const token = await invited('once@example.com');
    const uses = await Promise.all(
      Array.from({ length: 5 }, () => use(app.url, { token, password: PASSWORD })),
    );
    expect(uses.map(({ status }) => status).sort((a, b) => a - b)).toEqual([200, 401, 401, 401, 401]);
    expect((await use(app.url, { token, password: PASSWORD })).status).toBe(401);
    await auth.post('/link/check', { token }, 401);
  });

  test('after a refused password the link still works', async () => {
    const token = await invited('careful@example.com');
    for (const password of ['short', 'Password1234!', 'careful@example.com', '123456789012', undefined])
      expect((await use(app.url, { token, password })).status).toBe(400);
    expect((await use(app.url, { token, password: PASSWORD })).status).toBe(200);
  });

  test('a sign-in link signs the first administrator in, once and within 15 minutes', async () => {
    const { link } = await app.instance.post('/sign-in-links', {});
    const used = await use(app.url, { token: tokenOf(link) });
    expect((await json(used)).data).toMatchObject({ instance_admin: true, session: { method: 'link' } });
    expect((await use(app.url, { token: tokenOf(link) })).status).toBe(401);
    const late = tokenOf((await app.instance.post('/sign-in-links', {})).link);
    const [row] = await app.database.query(
      'select extract(epoch from expires_at - now()) as seconds from sign_in_links order by expires_at limit 1',
    );
    expect(Number(row?.['seconds'])).toBeLessThanOrEqual(900);
    await app.database.query("update sign_in_links set expires_at = now() - interval '1 second'");
    expect((await use(app.url, { token: late })).status).toBe(401);
  });

  test('a new link makes the earlier one of its kind void', async () => {
    const first = await app.instance.post('/sign-in-links', {});
    const next = await app.instance.post('/sign-in-links', {});
    expect((await use(app.url, { token: tokenOf(first.link) })).status).toBe(401);
    expect((await use(app.url, { token: tokenOf(next.link) })).status).toBe(200);
  });

  test('a reset sets a new password and ends every session', async () => {
    const { email, auth: me } = await member(app, 'viewer');
    const { link } = await app.instance.post('/sign-in-links', { email, purpose: 'reset' });
    expect(await statusOf(me)).toBe(200);
    const password = `${PASSWORD} and more`;
    expect((await use(app.url, { token: tokenOf(link), password })).status).toBe(200);
    expect(await statusOf(me)).toBe(401);
    expect((await signIn(app.url, { email, password: PASSWORD })).status).toBe(401);
    expect((await signIn(app.url, { email, password })).status).toBe(200);
    await app.instance.post('/sign-in-links', { email: 'unknown@example.com', purpose: 'reset' }, 404);
  });

  test('a page of another site cannot use a link', async () => {
    const token = await invited('cross@example.com');
    const origin = 'https://evil.example.com';
    expect((await use(app.url, { token, password: PASSWORD }, { origin })).status).toBe(403);
    const checking = await auth.raw('POST', '/link/check', { body: { token }, headers: { origin } });
    expect(checking.status).toBe(403);
    expect((await use(app.url, { token, password: PASSWORD })).status).toBe(200);
  });
});
