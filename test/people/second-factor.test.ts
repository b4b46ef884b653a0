import { describe, expect, test } from 'vitest';
import { codeAt, stepAt } from '../../src/people/totp.ts';
import { startTestApp } from '../support/app.ts';
import type { ApiClient, Json } from '../support/client.ts';
import {
  behindLock,
  cookieOf,
  member,
  PASSWORD,
  SessionClient,
  setUpSecondFactor,
  signIn,
  tokenOf,
  use,
} from '../support/session-client.ts';
import { shared } from '../support/shared.ts';

const app = await shared(startTestApp());

/** A code that no call has used yet: of the next step, which is valid already. */
const freshCode = (secret: string) => codeAt(secret, stepAt(Date.now()) + 1);
const codeOf = async (response: Response): Promise<string> => ((await response.json()) as Json).code ?? '';
const statusOf = async (client: ApiClient, path: string): Promise<[number, string]> => {
  const response = await client.raw('GET', path);
  return [response.status, await codeOf(response)];
};
const rooted = (client: SessionClient) => client.at(app.url);
const forgetFailures = () => app.database.query('delete from sign_in_failures');

describe('the second factor', () => {
  test('is set up with a first code; sign-in then needs a code', async () => {
    const { email, client } = await member(app, 'viewer');
    const root = rooted(client);
    expect(await root.get('/auth/me')).toMatchObject({
      second_factor: false,
      session: { second_factor: false },
    });
    const { secret, url } = await root.post('/auth/second-factor/begin');
    expect(url).toContain(`secret=${secret}`);
    // It does not count before the first code.
    expect((await signIn(app.url, { email, password: PASSWORD })).status).toBe(200);
    expect((await root.post('/auth/second-factor/confirm', { code: '000000' }, 401)).code).toBe(
      'sign_in_refused',
    );
    const set = await setUpSecondFactor(root);
    expect(set.recoveryCodes.length).toBe(10);
    expect(await set.client.get('/auth/me')).toMatchObject({
      second_factor: true,
      session: { second_factor: true },
    });
    const without = await signIn(app.url, { email, password: PASSWORD });
    expect([without.status, await codeOf(without), without.headers.getSetCookie()]).toEqual([
      401,
      'code_required',
      [],
    ]);
    // A wrong password says nothing about the second factor.
    const wrong = await signIn(app.url, { email, password: 'not the password' });
    expect(await codeOf(wrong)).toBe('sign_in_refused');
    const response = await signIn(app.url, { email, password: PASSWORD, code: freshCode(set.secret) });
    expect(((await response.json()) as Json).data.session).toMatchObject({
      method: 'password',
      second_factor: true,
    });
    await set.client.post('/auth/second-factor/begin', undefined, 400);
    await set.client.post('/auth/second-factor/confirm', { code: freshCode(set.secret) }, 400);
  });

  test('setting it up ends all other sessions and gives this one a new token', async () => {
    const { email, client } = await member(app, 'viewer');
    const other = new SessionClient(app.url, cookieOf(await signIn(app.url, { email, password: PASSWORD })));
    const set = await setUpSecondFactor(rooted(client));
    expect((await statusOf(other, '/auth/me'))[0]).toBe(401);
    expect((await statusOf(rooted(client), '/auth/me'))[0]).toBe(401);
    expect((await statusOf(set.client, '/auth/me'))[0]).toBe(200);
  });

  test('a code works once, also with many tries at once', async () => {
    const { uid, email, client } = await member(app, 'viewer');
    const { secret, recoveryCodes } = await setUpSecondFactor(rooted(client));
    const code = freshCode(secret);
    const tries = await Promise.all(
      Array.from({ length: 4 }, () => signIn(app.url, { email, password: PASSWORD, code })),
    );
    expect(tries.map(({ status }) => status).sort((a, b) => a - b)).toEqual([200, 401, 401, 401]);
    expect((await signIn(app.url, { email, password: PASSWORD, code })).status).toBe(401);
    const both = await behindLock(app, uid, {
      calls: [1, 2].map(() => () => signIn(app.url, { email, password: PASSWORD, code: recoveryCodes[0] })),
    });
    expect(new Set(both.map(({ status }) => status))).toEqual(new Set([200, 401]));
    // Nor does an older one.
    const older = codeAt(secret, stepAt(Date.now()));
    expect((await signIn(app.url, { email, password: PASSWORD, code: older })).status).toBe(401);
    await forgetFailures();
    // Each refusal of a code that was right once is in the audit log. A wrong code and a wrong password are not.
    expect((await signIn(app.url, { email, password: PASSWORD, code: '0' })).status).toBe(401);
    expect((await signIn(app.url, { email, password: 'not the password', code })).status).toBe(401);
    const { content } = await app.instance.get(`/audit?resourceId=${uid}&action=person.used_code_refused`);
    expect(content.length).toBe(5);
    expect(content[0]).toMatchObject({ actor: { type: 'instance' }, after: { address: '127.0.0.1' } });
    await forgetFailures();
  });

  test('the code that switched it on does not sign in', async () => {
    const { email, client } = await member(app, 'viewer');
    const { secret } = await rooted(client).post('/auth/second-factor/begin');
    const code = codeAt(secret, stepAt(Date.now()));
    await rooted(client).post('/auth/second-factor/confirm', { code }, 200);
    expect((await signIn(app.url, { email, password: PASSWORD, code })).status).toBe(401);
  });

  test('a try with a code or a password counts wherever it is made', async () => {
    const { email, client } = await member(app, 'viewer');
    const set = await setUpSecondFactor(rooted(client));
    const made = await app.instance.post('/sign-in-links', { email, purpose: 'reset' });
    const body = { token: tokenOf(made.link), password: PASSWORD, code: 'none' };
    const wrong = { current_password: 'none', new_password: `${PASSWORD} and more` };
    const tries: [name: string, call: () => Promise<Response>][] = [
      ['link', () => use(app.url, body)],
      ['password', () => set.client.raw('PUT', '/auth/password', { body: wrong })],
      ...['', '/remove', '/recovery-codes'].map((path): (typeof tries)[number] => [
        path,
        () => set.client.raw('POST', `/auth/second-factor${path}`, { body: { code: 'none' } }),
      ]),
    ];
    for (const [name, call] of tries) {
      await forgetFailures();
      expect([name, (await call()).status]).toEqual([name, 401]);
      await app.database.query('update sign_in_failures set failures = 1000, failed_at = now()');
      expect([name, (await call()).status]).toEqual([name, 429]);
    }
    await forgetFailures();
  });

  test('codes cannot be guessed: failed ones count as failed sign-ins', async () => {
    await forgetFailures();
    const { email, client } = await member(app, 'viewer');
    await setUpSecondFactor(rooted(client));
    await forgetFailures();
    const tries = await Promise.all(
      Array.from({ length: 30 }, (_, n) => signIn(app.url, { email, password: PASSWORD, code: `00000${n}` })),
    );
    expect(tries.filter(({ status }) => status === 401).length).toBeLessThan(15);
    expect(tries.filter(({ status }) => status === 429).length).toBeGreaterThan(15);
    await forgetFailures();
  });

  test('a recovery code works once, in any form; new ones replace the old', async () => {
    const { email, client } = await member(app, 'viewer');
    const set = await setUpSecondFactor(rooted(client));
    const [first = '', second = ''] = set.recoveryCodes;
    const typed = `${first.slice(0, 5).toUpperCase()}-${first.slice(5)}`;
    const withCode = (code: string) =>
      signIn(app.url, { email, password: PASSWORD, code }).then(({ status }) => status);
    expect(await withCode(typed)).toBe(200);
    expect(await withCode(first)).toBe(401);
    const renewed: string[] = await set.client.post('/auth/second-factor/recovery-codes', { code: second });
    expect(await withCode(set.recoveryCodes[2] ?? '')).toBe(401);
    expect(await withCode(renewed[0] ?? '')).toBe(200);
    await set.client.post('/auth/second-factor/recovery-codes', { code: 'none' }, 401);
    await forgetFailures();
  });

  test('its owner removes it with a code', async () => {
    const { email, client } = await member(app, 'viewer');
    const set = await setUpSecondFactor(rooted(client));
    await set.client.post('/auth/second-factor/remove', { code: '123456' }, 401);
    await set.client.post('/auth/second-factor/remove', { code: set.recoveryCodes[0] }, 200);
    expect((await signIn(app.url, { email, password: PASSWORD })).status).toBe(200);
  });

  test('a reset link needs a code too, unless it was made to remove the second factor', async () => {
    const { email, client } = await member(app, 'viewer');
    const { recoveryCodes } = await setUpSecondFactor(rooted(client));
    const made = async (more: object) =>
      tokenOf((await app.instance.post('/sign-in-links', { email, purpose: 'reset', ...more })).link);
    const token = await made({});
    const password = `${PASSWORD} and more`;
    const without = await use(app.url, { token, password });
    expect([without.status, await codeOf(without)]).toEqual([401, 'code_required']);
    expect((await use(app.url, { token, password, code: recoveryCodes[0] })).status).toBe(200);
    const removing = await made({ remove_second_factor: true });
    expect((await use(app.url, { token: removing, password })).status).toBe(200);
    expect((await signIn(app.url, { email, password })).status).toBe(200);
  });

  test('the seed is sealed in the database, and the codes are hashed', async () => {
    const { uid, client } = await member(app, 'viewer');
    const { secret, recoveryCodes } = await setUpSecondFactor(rooted(client));
    const [row] = await app.database.query('select to_jsonb(p)::text as text from people p where id = $1', [
      uid,
    ]);
    const hex = (text: string) => Buffer.from(text).toString('hex');
    for (const text of [secret, ...recoveryCodes])
      expect([String(row?.['text']).includes(text), String(row?.['text']).includes(hex(text))]).toEqual([
        false,
        false,
      ]);
  });

  test.each([
    ['POST', '/begin'],
    ['POST', '/confirm'],
    ['POST', ''],
    ['POST', '/remove'],
    ['POST', '/recovery-codes'],
  ])('%s /auth/second-factor%s needs a session', async (method, path) => {
    const response = await app.project.raw(method, '', { body: { code: '1' } });
    await response.text();
    const stranger = new SessionClient(`${app.url}/auth/second-factor`, 'posthorn_session=none');
    expect((await stranger.raw(method, path, { body: { code: '1' } })).status).toBe(401);
  });
});

// proves Projects: require_second_factor
test('a project that requires it is closed to sessions without it', async () => {
  const project = await app.newProject({ require_second_factor: true });
  const { client } = await member(app, 'developer', project);
  expect(await statusOf(client, '/endpoints')).toEqual([403, 'second_factor_required']);
  expect((await statusOf(rooted(client), '/auth/me'))[0]).toBe(200);
  const set = await setUpSecondFactor(rooted(client));
  expect((await statusOf(set.client.at(project.base), '/endpoints'))[0]).toBe(200);
  // Keys are for programs.
  expect((await statusOf(project, '/endpoints'))[0]).toBe(200);
});

// proves Instance: POSTHORN_SECOND_FACTOR
test('an instance that requires it opens nothing but the own account without it', async () => {
  const strict = await app.addNode({ POSTHORN_SECOND_FACTOR: 'required' });
  const { email } = await member(app, 'instance');
  const response = await signIn(strict.url, { email, password: PASSWORD });
  const client = new SessionClient(strict.url, cookieOf(response));
  expect(((await response.json()) as Json).data.second_factor_required).toBe(true);
  expect(await statusOf(client, '/api/v1/projects')).toEqual([403, 'second_factor_required']);
  expect(await statusOf(client, `/api/v1/projects/${app.projectId}/endpoints`)).toEqual([
    403,
    'second_factor_required',
  ]);
  expect((await statusOf(client, '/auth/sessions'))[0]).toBe(200);
  const set = await setUpSecondFactor(client);
  expect((await statusOf(set.client, '/api/v1/projects'))[0]).toBe(200);
  expect((await set.client.get('/auth/me')).second_factor_required).toBe(false);
});

test('a session that began without a code is raised by one, with a new token', async () => {
  const { uid, client } = await member(app, 'viewer');
  const set = await setUpSecondFactor(rooted(client));
  await app.database.query('update sessions set has_second_factor = false where person_id = $1', [uid]);
  const response = await set.client.raw('POST', '/auth/second-factor', {
    body: { code: set.recoveryCodes[0] },
  });
  expect(((await response.json()) as Json).data.session.second_factor).toBe(true);
  expect(cookieOf(response)).not.toBe(set.client.cookie);
  expect((await statusOf(set.client, '/auth/me'))[0]).toBe(401);
  await new SessionClient(app.url, cookieOf(response)).post('/auth/second-factor', { code: 'wrong' }, 401);
});
