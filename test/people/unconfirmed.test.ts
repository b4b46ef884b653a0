import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { startTestApp } from '../support/app.ts';
import type { ApiClient, Json } from '../support/client.ts';
import { runPosthorn } from '../support/command.ts';
import { eventually } from '../support/eventually.ts';
import { temporaryFolder } from '../support/samples/temporary-folder.ts';
import {
  behindLock,
  cookieOf,
  type Member,
  member,
  PASSWORD,
  SessionClient,
  setUpSecondFactor,
  signIn,
  statusOf,
  tokenOf,
  use,
} from '../support/session-client.ts';
import { shared } from '../support/shared.ts';

const app = await shared(startTestApp());
const second = await app.addNode();

/** Runs a command of the operator on the service of this file. */
async function command(...args: string[]): Promise<string> {
  const dir = temporaryFolder();
  const credentials = { url: app.url, instance_key: app.instance.key };
  await writeFile(join(dir, 'credentials.json'), JSON.stringify(credentials));
  const { code, stdout, stderr } = await runPosthorn(args, { env: { POSTHORN_DATA_DIR: dir } });
  expect([code, stderr]).toEqual([0, '']);
  return stdout.trim();
}

let count = 0;

interface Taken {
  email: string;
  uid: string;
  project: ApiClient;
  /** The session of the attacker, on both nodes. */
  sessions: SessionClient[];
  recoveryCode: string;
}

/** An administrator of a project invites an address of another person, and uses the invitation. */
async function taken(email = `cto-${(count += 1)}@example.com`): Promise<Taken> {
  const project = await app.newProject();
  const admin = await member(app, 'admin', project);
  const { person, link } = await admin.client.post('/people', { email, role: 'admin' });
  const used = await use(app.url, { token: tokenOf(link), password: PASSWORD });
  const { client, recoveryCodes } = await setUpSecondFactor(new SessionClient(app.url, cookieOf(used)));
  const sessions = [client.at(`${app.url}/auth`), client.at(`${second.url}/auth`)];
  for (const session of sessions) expect(await statusOf(session)).toBe(200);
  return { email, uid: person.uid, project, sessions, recoveryCode: recoveryCodes[0] ?? '' };
}

/** Nothing that the attacker has opens the account, and the link of the raise does. */
async function isHandedOver({ email, sessions, recoveryCode }: Taken, link: string): Promise<SessionClient> {
  const [here, elsewhere] = sessions as [SessionClient, SessionClient];
  expect(await statusOf(here)).toBe(401);
  await eventually(() => statusOf(elsewhere), 401);
  expect((await signIn(app.url, { email, password: PASSWORD, code: recoveryCode })).status).toBe(401);
  const password = `${PASSWORD} of the owner`;
  const used = await use(app.url, { token: tokenOf(link), password });
  expect(used.status).toBe(200);
  const { person } = ((await used.json()) as Json).data;
  expect([person.email, person.email_verified]).toEqual([email, true]);
  expect((await signIn(app.url, { email, password: PASSWORD })).status).toBe(401);
  expect((await signIn(app.url, { email, password })).status).toBe(200);
  return new SessionClient(`${app.url}/auth`, cookieOf(used));
}

const raises: Record<string, (account: Taken, elsewhere: ApiClient) => Promise<string>> = {
  'POST /people': async ({ email }) => (await app.instance.post('/people', { email })).link,
  'PUT /people/{id}': async ({ uid }) =>
    (await app.instance.put(`/people/${uid}`, { instance_admin: true })).link,
  'POST /projects/{id}/people with the instance key': async ({ email }, { projectId }) =>
    (await app.instance.post(`/projects/${projectId}/people`, { email, role: 'admin' })).link,
  'POST /projects/{id}/people by an administrator of the instance': async ({ email }, { projectId }) => {
    const boss = (await member(app, 'instance')).client.at(`${app.url}/api/v1`);
    return (await boss.post(`/projects/${projectId}/people`, { email, role: 'viewer' })).link;
  },
  'posthorn person create': ({ email }) => command('person', 'create', '--email', email),
  'posthorn person create --project': ({ email }, { projectId }) =>
    command('person', 'create', '--email', email, '--project', projectId),
};

describe('an account that an administrator of a project set up for an address of another', () => {
  test.each(Object.entries(raises))('is handed to its owner by %s', async (_name, raise) => {
    const account = await taken();
    const elsewhere = await app.newProject();
    const link = await raise(account, elsewhere);
    const owner = await isHandedOver(account, link);
    const { instance_admin, projects } = await owner.get('/me');
    const isThere = projects.some(({ uid }: Json) => uid === elsewhere.projectId);
    expect(instance_admin || isThere).toBe(true);
  });

  test('gives up an invitation that was not used yet', async () => {
    const email = 'not-yet@example.com';
    const { link: first } = await app.project.post('/people', { email, role: 'viewer' });
    const { link } = await app.instance.post('/people', { email });
    expect((await use(app.url, { token: tokenOf(first), password: PASSWORD })).status).toBe(401);
    expect((await use(app.url, { token: tokenOf(link), password: PASSWORD })).status).toBe(200);
  });

  test('is not opened by an invitation that is used during the raise', async () => {
    const email = 'meanwhile@example.com';
    const { link, person } = await app.project.post('/people', { email, role: 'viewer' });
    const raise = () => app.instance.raw('POST', '/people', { body: { email } });
    const useFirst = () => use(app.url, { token: tokenOf(link), password: PASSWORD });
    const [raised, used] = await behindLock(app, person.uid, { calls: [raise, useFirst] });
    expect([raised?.status, [200, 401].includes(used?.status ?? 0)]).toEqual([201, true]);
    expect(await statusOf(new SessionClient(`${app.url}/auth`, cookieOf(used as Response)))).toBe(401);
    expect((await signIn(app.url, { email, password: PASSWORD })).status).toBe(401);
  });

  test('stays as it is for administrators of projects, and with a change that raises nothing', async () => {
    const { email, uid, project, sessions } = await taken();
    const other = await member(app, 'admin', await app.newProject());
    const refused = await other.client.post('/people', { email, role: 'viewer' }, 409);
    expect(refused.code).toBe('person_unverified');
    await project.put(`/people/${uid}`, { role: 'viewer' });
    const changed = await app.instance.put(`/people/${uid}`, { email, name: 'New name' });
    expect(changed).toMatchObject({ email_verified: false, link: null });
    for (const session of sessions) expect(await statusOf(session)).toBe(200);
  });
});

describe('an account with a confirmed address', () => {
  const keeps = async ({ email, auth }: Member) => {
    expect(await statusOf(auth)).toBe(200);
    expect((await signIn(app.url, { email, password: PASSWORD })).status).toBe(200);
  };

  test('keeps its credentials when it is raised', async () => {
    const invited = await member(app, 'viewer');
    expect((await app.instance.post('/people', { email: invited.email })).link).toBe(null);
    await keeps(invited);
    const changed = await member(app, 'viewer');
    const raised = await app.instance.put(`/people/${changed.uid}`, { instance_admin: true });
    expect([raised.instance_admin, raised.link]).toEqual([true, null]);
    await keeps(changed);
    const added = await member(app, 'viewer');
    const { projectId } = await app.newProject();
    const body = { email: added.email, role: 'admin' };
    expect((await app.instance.post(`/projects/${projectId}/people`, body)).link).toBe(null);
    await keeps(added);
  });

  test('is handed to the owner of its new address', async () => {
    const wrong = await member(app, 'admin');
    const email = `right-${wrong.email}`;
    const { link, email_verified } = await app.instance.put(`/people/${wrong.uid}`, { email });
    expect(email_verified).toBe(true);
    expect(await statusOf(wrong.auth)).toBe(401);
    expect((await signIn(app.url, { email, password: PASSWORD })).status).toBe(401);
    expect((await use(app.url, { token: tokenOf(link), password: `${PASSWORD}!` })).status).toBe(200);
    const gone = await app.instance.put(`/people/${wrong.uid}`, { email: `x-${email}`, is_active: false });
    expect(gone.link).toBe(null);
  });

  test('keeps its credentials if its owner, an administrator of the instance, gives it a new address', async () => {
    const boss = await member(app, 'instance');
    const instance = boss.client.at(`${app.url}/api/v1`);
    const email = `own-${boss.email}`;
    expect((await instance.put(`/people/${boss.uid}`, { email })).link).toBe(null);
    await keeps({ ...boss, email });
  });
});

describe('the link of the operator', () => {
  const removeAdministrators = () =>
    app.database.query(
      `with gone as (delete from people where is_instance_admin or email = 'admin@localhost' returning id)
       delete from sessions where person_id in (select id from gone)`,
    );
  const operator = async (...flags: string[]) => {
    const used = await use(app.url, { token: tokenOf(await command('sign-in-link', ...flags)) });
    expect(used.status).toBe(200);
    const { person } = ((await used.json()) as Json).data;
    expect(person).toMatchObject({ instance_admin: true, status: 'active', email_verified: true });
    return { person, auth: new SessionClient(`${app.url}/auth`, cookieOf(used)) };
  };

  test('makes the first administrator, once for calls at the same time, and again if it is deleted', async () => {
    await removeAdministrators();
    const links = await Promise.all([1, 2, 3].map(() => app.instance.post('/sign-in-links', {})));
    const ids = new Set(links.map(({ person }: Json) => person.uid));
    expect(ids.size).toBe(1);
    expect([...ids]).toEqual([(await operator()).person.uid]);
    await removeAdministrators();
    expect((await operator()).person.email).toBe('admin@localhost');
  });

  test('takes the address back from a project that invited it', async () => {
    await removeAdministrators();
    const { sessions, recoveryCode, uid, email } = await taken('admin@localhost');
    const { person } = await operator();
    expect(person.uid).toBe(uid);
    expect(await statusOf(sessions[0] as SessionClient)).toBe(401);
    const answer = await signIn(app.url, { email, password: PASSWORD, code: recoveryCode });
    expect(answer.status).toBe(401);
  });

  test('opens the account of the operator again if the only administrator is deactivated', async () => {
    await removeAdministrators();
    const { person, auth } = await operator();
    await auth.put('/password', { new_password: PASSWORD }, 200);
    await app.instance.put(`/people/${person.uid}`, { is_active: false });
    expect((await operator()).person.uid).toBe(person.uid);
    const { email } = person;
    expect((await signIn(app.url, { email, password: PASSWORD })).status).toBe(401);
    await app.instance.put(`/people/${person.uid}`, { instance_admin: false });
    expect((await operator()).person.uid).toBe(person.uid);
  });

  test('leaves a deactivated administrator with another address out, and makes one', async () => {
    await removeAdministrators();
    const boss = await member(app, 'instance');
    await app.instance.put(`/people/${boss.uid}`, { is_active: false });
    expect((await operator()).person.email).toBe('admin@localhost');
    const refused = await app.instance.post('/sign-in-links', { email: boss.email }, 409);
    expect(refused.code).toBe('person_deactivated');
  });

  test('is for the oldest account of many administrators who can sign in', async () => {
    await removeAdministrators();
    const [first, next] = [await member(app, 'instance'), await member(app, 'instance')];
    expect((await operator()).person.uid).toBe(first.uid);
    await app.instance.put(`/people/${first.uid}`, { is_active: false });
    expect((await operator()).person.uid).toBe(next.uid);
    await keepsPassword(next);
  });

  test('needs a code of the second factor, unless it removes that', async () => {
    await removeAdministrators();
    const { auth, email } = await member(app, 'instance');
    await setUpSecondFactor(auth.at(app.url));
    const token = tokenOf(await command('sign-in-link'));
    expect((await use(app.url, { token })).status).toBe(401);
    expect((await operator('--second-factor')).person.email).toBe(email);
    await keepsPassword({ email });
  });

  const keepsPassword = async ({ email }: { email: string }) =>
    expect((await signIn(app.url, { email, password: PASSWORD })).status).toBe(200);
});
