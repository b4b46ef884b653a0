import { describe, expect, test } from 'vitest';
import { codeAt, stepAt } from '../../src/people/totp.ts';
import { startTestApp } from '../support/app.ts';
import { ApiClient, type Json } from '../support/client.ts';
import { atLeast, eventually } from '../support/eventually.ts';
import { MailServer } from '../support/servers/mail-server.ts';
import {
  cookieOf,
  member,
  PASSWORD,
  SessionClient,
  setUpSecondFactor,
  signIn,
  tokenOf,
  use,
} from '../support/session-client.ts';
import { completedJob } from '../support/settled.ts';
import { shared } from '../support/shared.ts';

const app = await shared(startTestApp());
const second = await app.addNode();
const mails = await shared(MailServer.start());
const node = await app.addNode({
  POSTHORN_SMTP_URL: mails.url,
  POSTHORN_SMTP_FROM: 'posthorn@example.com',
});

const statusOf = async (client: ApiClient, path = ''): Promise<number> => {
  const response = await client.raw('GET', path);
  await response.arrayBuffer();
  return response.status;
};

describe('the people of a project', () => {
  test('are listed, get another role and leave, with effect on the next call', async () => {
    const project = await app.newProject();
    const admin = await member(app, 'admin', project);
    const ann = await member(app, 'viewer', project);
    const people = await admin.client.get('/people');
    expect(people.map(({ email, role, status }: Json) => [email, role, status])).toEqual([
      [admin.email, 'admin', 'active'],
      [ann.email, 'viewer', 'active'],
    ]);
    await ann.client.post('/event-types', { name: 'before' }, 403);
    await admin.client.put(`/people/${ann.uid}`, { role: 'developer' });
    await ann.client.post('/event-types', { name: 'after' });
    await admin.client.put(`/people/${ann.uid}`, {});
    await ann.client.get('/endpoints');
    await admin.client.put(`/people/${ann.uid}`, { role: 'owner' }, 400);
    await admin.client.put('/people/none', { role: 'viewer' }, 404);

    const elsewhere = ann.client.at(`${second.url}/api/v1/projects/${project.projectId}`);
    expect(await statusOf(elsewhere, '/endpoints')).toBe(200);
    await admin.client.delete(`/people/${ann.uid}`);
    expect(await statusOf(ann.client, '/endpoints')).toBe(403);
    await eventually(() => statusOf(elsewhere, '/endpoints'), 403);
    await admin.client.delete(`/people/${ann.uid}`, 404);
    // The account stays.
    expect(await statusOf(ann.auth, '/me')).toBe(200);
  });

  test('of another project are out of reach', async () => {
    const admin = await member(app, 'admin', await app.newProject());
    const stranger = await member(app, 'viewer');
    await admin.client.put(`/people/${stranger.uid}`, { role: 'admin' }, 404);
    await admin.client.delete(`/people/${stranger.uid}`, 404);
    await admin.client.at(`${app.url}/api/v1`).put(`/people/${stranger.uid}`, { is_active: false }, 403);
    await admin.client.at(`${app.url}/api/v1`).post('/sign-in-links', { email: stranger.email }, 403);
    expect(await statusOf(stranger.auth, '/me')).toBe(200);
  });

  test('a person is invited once, with a valid address and a known role', async () => {
    const invite = (body: object, expected: number) => app.project.post('/people', body, expected);
    const { person, link } = await invite({ email: 'bob@example.com', role: 'viewer' }, 201);
    expect([person.email_verified, typeof link]).toEqual([false, 'string']);
    await invite({ email: 'BOB@example.com', role: 'admin' }, 409);
    const nameless = await app.instance.post('/sign-in-links', { email: 'unknown@example.com' }, 404);
    expect(nameless.message).toBe('There is no person unknown@example.com.');
    const malformed = [
      'bob',
      '@b',
      'two@',
      'two@a@b',
      'a b@c',
      'a,b@c',
      'a@b,c',
      '"a"@b',
      'a@b..c',
      'a@b.',
      'Bob <a@b>',
    ];
    for (const email of [...malformed, 'zero\u200bwidth@b', 'a@b\u202ec', 'line\nbreak@b']) {
      await invite({ email, role: 'viewer' }, 400);
      await app.instance.post('/people', { email }, 400);
      await app.instance.put(`/people/${person.uid}`, { email }, 400);
    }
    await app.instance.put(`/people/${person.uid}`, { email: '' }, 400);
    for (const email of ["o'brien+tag@example.com", 'jürgen@müller.example', 'root@mail-1'])
      expect((await invite({ email, role: 'viewer' }, 201)).person.email).toBe(email);
    await invite({ email: 'carl@example.com', role: 'owner' }, 400);
    await invite({ email: 'carl@example.com' }, 400);
  });
});

describe('projects do not trust each other', () => {
  test('an account of one project, with an address that was never confirmed, is not added by another', async () => {
    const [mine, theirs] = [await app.newProject(), await app.newProject()];
    const { link } = await mine.post('/people', { email: 'victim@example.com', role: 'viewer' });
    await use(app.url, { token: tokenOf(link), password: PASSWORD });
    const refused = await theirs.post('/people', { email: 'victim@example.com', role: 'admin' }, 409);
    expect(refused.code).toBe('person_unverified');
    // The word of an administrator of the instance counts. The link is for that administrator alone.
    const { projectId } = await app.newProject();
    const raised = await app.instance.post(`/projects/${projectId}/people`, {
      email: 'victim@example.com',
      role: 'viewer',
    });
    expect([typeof raised.link, raised.person.status]).toEqual(['string', 'invited']);
    const added = await theirs.post('/people', { email: 'victim@example.com', role: 'viewer' });
    expect([added.link, added.person.email_verified]).toEqual([null, true]);
  });

  test('an invitation tells a project no more of an account than it sent', async () => {
    const { email } = await member(app, 'instance');
    const theirs = await app.newProject();
    const body = { email, name: 'sent', role: 'viewer' };
    const call = { body, headers: { 'Idempotency-Key': 'again' }, expected: 201 };
    const sent = { email, name: 'sent', instance_admin: false, status: 'invited', last_sign_in_at: null };
    for (let time = 0; time < 2; time += 1)
      expect((await theirs.call('POST', '/people', call)).person).toMatchObject(sent);
  });

  test('the invitation of an account is never shown to another project', async () => {
    const [mine, theirs] = [await app.newProject(), await app.newProject()];
    const email = 'invited-twice@example.com';
    const first = await app.instance.post(`/projects/${mine.projectId}/people`, { email, role: 'admin' });
    expect(first.link).not.toBe(null);
    expect((await theirs.post('/people', { email, role: 'viewer' })).link).toBe(null);
    // And the first one still works.
    expect((await use(app.url, { token: tokenOf(first.link), password: PASSWORD })).status).toBe(200);
  });
});

describe('an account', () => {
  test('that is deactivated ends every session, here at once and soon on other nodes', async () => {
    const { uid, email, client, auth } = await member(app, 'admin');
    const spare = await signIn(second.url, { email, password: PASSWORD });
    const elsewhere = new SessionClient(`${second.url}/auth`, cookieOf(spare));
    expect([await statusOf(client, '/endpoints'), await statusOf(elsewhere, '/me')]).toEqual([200, 200]);
    const { link } = await app.instance.post('/sign-in-links', { email, purpose: 'reset' });
    const person = await app.instance.put(`/people/${uid}`, { is_active: false });
    expect(person.status).toBe('deactivated');
    expect([await statusOf(client, '/endpoints'), await statusOf(auth, '/me')]).toEqual([401, 401]);
    await eventually(() => statusOf(elsewhere, '/me'), 401);
    expect((await signIn(app.url, { email, password: PASSWORD })).status).toBe(401);
    expect((await use(app.url, { token: tokenOf(link), password: PASSWORD })).status).toBe(401);
    await app.instance.post('/sign-in-links', { email }, 409);
    await app.instance.post(
      `/projects/${(await app.newProject()).projectId}/people`,
      { email, role: 'viewer' },
      409,
    );

    await app.instance.put(`/people/${uid}`, { is_active: true });
    expect((await signIn(app.url, { email, password: PASSWORD })).status).toBe(200);
    expect(await statusOf(auth, '/me')).toBe(401);
  });

  test('that is deactivated loses an open stream', async () => {
    const { uid, client } = await member(app, 'viewer');
    const response = await fetch(`${client.base}/stream`, { headers: client.headers() });
    await app.instance.put(`/people/${uid}`, { is_active: false });
    // The text ends only with the stream.
    expect(await response.text()).toMatch(/event: end\n(id: .*\n)?data: {"code":"session_ended"}/);
  });

  test('lookups that run while it is deactivated are not cached', async () => {
    const { uid, client } = await member(app, 'viewer');
    const calls = Array.from({ length: 20 }, () => statusOf(client, '/endpoints'));
    await app.instance.put(`/people/${uid}`, { is_active: false });
    expect(await statusOf(client, '/endpoints')).toBe(401);
    for (const status of await Promise.all(calls)) expect([200, 401]).toContain(status);
    expect(await statusOf(client, '/endpoints')).toBe(401);
  });

  test('is listed and changed by administrators of the instance', async () => {
    const { uid, email } = await member(app, 'developer');
    const boss = await member(app, 'instance');
    const instance = boss.client.at(`${app.url}/api/v1`);
    const { content } = await instance.get('/people?perPage=1000');
    expect(content.find((one: Json) => one.uid === uid)).toMatchObject({
      email,
      second_factor: false,
      projects: [{ uid: app.projectId, role: 'developer' }],
    });
    const changed = await instance.put(`/people/${uid}`, {
      name: 'New',
      email: `new-${email}`,
      instance_admin: true,
    });
    expect(changed).toMatchObject({ name: 'New', email: `new-${email}`, instance_admin: true });
    expect((await use(app.url, { token: tokenOf(changed.link), password: PASSWORD })).status).toBe(200);
    await instance.put(`/people/${uid}`, { email: boss.email }, 409);
    await instance.put(`/people/${uid}`, { email: 'nowhere' }, 400);
    await instance.put('/people/none', {}, 404);
    expect((await signIn(app.url, { email: `new-${email}`, password: PASSWORD })).status).toBe(200);
    expect((await signIn(app.url, { email, password: PASSWORD })).status).toBe(401);
  });

  test('lost administration ends with the next call', async () => {
    const boss = await member(app, 'instance');
    const instance = boss.client.at(`${app.url}/api/v1`);
    expect(await statusOf(instance, '/audit')).toBe(200);
    await app.instance.put(`/people/${boss.uid}`, { instance_admin: false });
    expect(await statusOf(instance, '/audit')).toBe(403);
  });
});

describe('the own account', () => {
  test('a new password needs the current one, ends other sessions and gives this one a new token', async () => {
    const { email, auth } = await member(app, 'viewer');
    const other = new SessionClient(
      auth.base,
      cookieOf(await signIn(app.url, { email, password: PASSWORD })),
    );
    const change = (current_password: string | undefined, new_password: string) =>
      auth.raw('PUT', '/password', { body: { current_password, new_password } });
    const next = `${PASSWORD} and more`;
    expect((await change('not the password', next)).status).toBe(401);
    expect((await change(undefined, next)).status).toBe(401);
    expect((await change(PASSWORD, 'short')).status).toBe(400);
    const response = await change(PASSWORD, next);
    expect(response.status).toBe(200);
    expect([await statusOf(auth, '/me'), await statusOf(other, '/me')]).toEqual([401, 401]);
    expect(await statusOf(new SessionClient(auth.base, cookieOf(response)), '/me')).toBe(200);
    expect((await signIn(app.url, { email, password: PASSWORD })).status).toBe(401);
    expect((await signIn(app.url, { email, password: next })).status).toBe(200);
  });

  test('an account without a password gets one, and people change their name and nothing else', async () => {
    const { link } = await app.instance.post('/sign-in-links', {});
    const used = await use(app.url, { token: tokenOf(link) });
    const auth = new SessionClient(`${app.url}/auth`, cookieOf(used));
    const { person, has_password } = await auth.get('/me');
    if (!has_password) {
      const response = await auth.raw('PUT', '/password', { body: { new_password: PASSWORD } });
      expect(response.status).toBe(200);
      expect((await signIn(app.url, { email: person.email, password: PASSWORD })).status).toBe(200);
    }
    const ann = await member(app, 'viewer');
    const me = await ann.auth.put('/me', { name: 'Ann', email: 'other@example.com', instance_admin: true });
    expect(me.person).toMatchObject({ name: 'Ann', email: ann.email, instance_admin: false });
    await ann.auth.put('/me', { name: 'x'.repeat(257) }, 400);
  });
});

test('the audit log names the person behind a job, the session and the address', async () => {
  const { uid, client, auth } = await member(app, 'developer');
  const { session } = await auth.get('/me');
  const job = await client.post('/onboard', { items: [{ name: 'by a job', url: app.url }] }, 202);
  await completedJob(client, job);
  const { content } = await app.project.get(`/audit?actorId=${uid}`);
  expect(content.map(({ action }: Json) => action).toSorted()).toEqual([
    'endpoint.created',
    'job.started',
    'subscription.created',
  ]);
  const actor = { type: 'person', uid, credential: session.uid, address: '127.0.0.1', via: null };
  for (const entry of content) expect([entry.action, entry.actor]).toEqual([entry.action, actor]);
});

test('the audit log names the person, the session and the address', async () => {
  const { uid, client, auth } = await member(app, 'admin');
  const { session } = await auth.get('/me');
  const made = await client.post('/keys', { name: 'by a person' });
  const { content } = await client.get(`/audit?resourceId=${made.uid}`);
  expect(content[0].actor).toEqual({
    type: 'person',
    uid,
    credential: session.uid,
    address: '127.0.0.1',
    via: null,
  });
  const { content: own } = await client.get(`/audit?actorType=person&actorId=${uid}`);
  expect(own.length).toBe(1);
  const { content: all } = await app.instance.get(`/audit?actorId=${uid}&action=person.signed_in`);
  expect(all[0]).toMatchObject({ resource: { type: 'person', uid }, actor: { credential: session.uid } });
});

describe('with a mail server', () => {
  const mailTo = async (email: string): Promise<string> => {
    const [mail] = await eventually(async () => mails.mails.filter(({ to }) => to.includes(email)), {
      length: atLeast(1),
    });
    return /#link=(\w+)/.exec(mail?.text.replaceAll(/=\r?\n/g, '').replaceAll('=3D', '=') ?? '')?.[1] ?? '';
  };
  const inProject = new ApiClient(`${node.url}/api/v1/projects/${app.projectId}`, app.project.key);

  test('a project gets no link to see: it is mailed, and its use confirms the address', async () => {
    const email = 'mailed@example.com';
    const { link, person } = await inProject.post('/people', { email, role: 'viewer' });
    expect([link, person.email_verified]).toEqual([null, false]);
    const used = await use(node.url, { token: await mailTo(email), password: PASSWORD });
    expect(((await used.json()) as Json).data.person.email_verified).toBe(true);
    const other = await app.newProject();
    await other.post('/people', { email, role: 'viewer' });
  });

  test('a forgotten password is reset by mail, and the answer does not say whether there is an account', async () => {
    const { email } = await member(app, 'viewer');
    const ask = (address: string) =>
      new ApiClient(`${node.url}/auth`, '').raw('POST', '/reset', { body: { email: address } });
    const [known, unknown] = [await ask(email.toUpperCase()), await ask('unknown@example.com')];
    expect([known.status, unknown.status]).toEqual([202, 202]);
    expect(await known.text()).toBe(await unknown.text());
    const password = `${PASSWORD} and more`;
    expect((await use(node.url, { token: await mailTo(email), password })).status).toBe(200);
    expect((await signIn(app.url, { email, password })).status).toBe(200);
    expect(mails.mails.filter(({ to }) => to.includes('unknown@example.com'))).toEqual([]);
    const asked = await Promise.all(Array.from({ length: 12 }, () => ask(email)));
    expect(asked.filter(({ status }) => status === 429).length).toBeGreaterThan(0);
    const foreign = new ApiClient(`${node.url}/auth`, '').raw('POST', '/reset', {
      body: { email },
      headers: { origin: 'https://evil.example.com' },
    });
    expect((await foreign).status).toBe(403);
    await new ApiClient(`${app.url}/auth`, '').post('/reset', { email }, 403);
  });

  test('the answer to a reset does not wait until the link is made', async () => {
    const { email } = await member(app, 'viewer');
    await app.database.query('begin');
    await app.database.query('lock table sign_in_links');
    const asked = await new ApiClient(`${node.url}/auth`, '').raw('POST', '/reset', { body: { email } });
    expect(asked.status).toBe(202);
    await app.database.query('commit');
    expect((await use(node.url, { token: await mailTo(email), password: PASSWORD })).status).toBe(200);
  });

  test('people learn of each change of their credentials and of a code used twice, at the address that they had', async () => {
    const { email, uid, client } = await member(app, 'viewer');
    const root = client.at(node.url);
    const changed = await root.raw('PUT', '/auth/password', {
      body: { current_password: PASSWORD, new_password: `${PASSWORD} and more` },
    });
    const set = await setUpSecondFactor(root.as(cookieOf(changed)));
    const [first, second] = set.recoveryCodes;
    await set.client.post('/auth/second-factor/recovery-codes', { code: first });
    await set.client.post('/auth/second-factor/remove', { code: second }, 401);
    // Not newer than the code that switched it on, whatever the clock says now.
    const code = codeAt(set.secret, stepAt(Date.now()) - 1);
    await set.client.post('/auth/second-factor/remove', { code }, 401);
    const instance = new ApiClient(`${node.url}/api/v1`, app.instance.key);
    const removing = { email, purpose: 'reset', remove_second_factor: true };
    const { link } = await instance.post('/sign-in-links', removing);
    expect((await use(node.url, { token: tokenOf(link), password: PASSWORD })).status).toBe(200);
    await instance.put(`/people/${uid}`, { email: `new-${email}` });
    const sentences = [
      'The password of your account was changed.',
      'The second factor of your account was switched on.',
      'Your account has new recovery codes.',
      'A code of your second factor was sent again from 127.0.0.1.',
      'The password of your account was changed.',
      'The second factor of your account was switched off.',
      'Your account has another e-mail address now.',
    ];
    const texts = await eventually(
      async () => mails.mails.filter(({ to }) => to.includes(email)).map(({ text }) => text),
      { length: atLeast(sentences.length) },
    );
    expect(sentences.toSorted()).toEqual(
      texts.map((text) => sentences.find((one) => text.includes(one)) ?? text).toSorted(),
    );
    // The new address gets its invitation, and none of these.
    await mailTo(`new-${email}`);
    expect(mails.mails.filter(({ to }) => to.includes(`new-${email}`)).length).toBe(1);
  });

  test('the owner of an address gets an account back that another set up with it', async () => {
    const email = 'preempted@example.com';
    const { link } = await app.project.post('/people', { email, role: 'viewer' });
    const used = await use(app.url, { token: tokenOf(link), password: PASSWORD });
    await setUpSecondFactor(new SessionClient(app.url, cookieOf(used)));
    const auth = new ApiClient(`${node.url}/auth`, '');
    await auth.post('/reset', { email }, 202);
    const password = `${PASSWORD} of the owner`;
    const token = await mailTo(email);
    expect((await auth.post('/link/check', { token }, 200)).needs_code).toBe(false);
    expect((await use(node.url, { token, password })).status).toBe(200);
    expect((await signIn(app.url, { email, password })).status).toBe(200);
    expect((await signIn(app.url, { email, password: PASSWORD })).status).toBe(401);
  });
});
