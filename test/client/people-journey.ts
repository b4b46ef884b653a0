import { expect } from 'vitest';
import { Posthorn } from '../../client/src/posthorn.ts';
import { codeAt, stepAt } from '../../src/people/totp.ts';
import type { TestApp } from '../support/app.ts';
import { PASSWORD, tokenOf } from '../support/session-client.ts';

/** `fetch` as a browser does it: with the cookie that the server set, and from a page of the server. */
function browserFetch(send: typeof fetch, origin: string): typeof fetch {
  let cookie = '';
  return async (input, init) => {
    const headers = {
      ...(init?.headers as Record<string, string>),
      origin,
      ...(cookie !== '' && { cookie }),
    };
    const response = await send(input, { ...init, headers });
    cookie = response.headers.getSetCookie()[0]?.split(';')[0] ?? cookie;
    return response;
  };
}

/** Every operation of people, accounts and sessions. The app must be able to send mail. */
export async function peopleJourney(
  app: TestApp,
  { instance, project, send }: { instance: Posthorn; project: Posthorn; send: typeof fetch },
): Promise<void> {
  const email = 'zoe@example.com';
  const { person } = await project.people.inviteToProject({ email, name: 'Zoë', role: 'viewer' });
  await instance.people.inviteToInstance({ email: 'root@example.com', name: 'Root' });
  const { link } = await instance.people.createSignInLink({ email, purpose: 'invitation' });
  const token = tokenOf(link);
  const page = () => new Posthorn({ url: app.url, fetch: browserFetch(send, app.url) });

  const session = page();
  expect((await session.signIn.listProviders()).password).toBe(true);
  expect((await session.signIn.checkLink({ token })).email).toBe(email);
  expect((await session.signIn.useLink({ token, password: PASSWORD })).person.uid).toBe(person.uid);
  expect((await session.ownAccount.getMe()).projects).toMatchObject([{ role: 'viewer' }]);
  expect((await session.ownAccount.updateMe({ name: 'Zoe' })).person.name).toBe('Zoe');
  const password = `${PASSWORD} and more`;
  await session.ownAccount.changePassword({ current_password: PASSWORD, new_password: password });

  const other = page();
  await other.signIn.signIn({ email, password });
  const [own] = (await other.ownAccount.listSessions()).filter(({ current }) => !current);
  await other.ownAccount.endSession(own?.uid ?? '');
  await expect(session.ownAccount.getMe()).rejects.toMatchObject({ code: 'session_ended' });
  await other.ownAccount.endOtherSessions();
  await secondFactor(app, other, person.uid);
  await other.signIn.signOut();
  await expect(other.ownAccount.getMe()).rejects.toMatchObject({ status: 401 });
  await other.signIn.requestReset({ email });

  expect((await project.people.list()).map((member) => member.uid)).toContain(person.uid);
  await project.people.changeRole(person.uid, { role: 'developer' });
  await project.people.removeFromProject(person.uid);
  const { content: accounts } = await instance.people.listAccounts().page();
  expect(accounts.map(({ uid }) => uid)).toContain(person.uid);
  expect((await instance.people.updateAccount(person.uid, { is_active: false })).status).toBe('deactivated');
}

async function secondFactor(app: TestApp, { ownAccount }: Posthorn, personId: string): Promise<void> {
  const { secret } = await ownAccount.beginSecondFactor();
  const code = codeAt(secret, stepAt(Date.now()));
  const [first = '', second = ''] = (await ownAccount.confirmSecondFactor({ code })).recovery_codes;
  // As if the session had begun before the second factor was set up.
  await app.database.query('update sessions set has_second_factor = false where person_id = $1', [personId]);
  expect((await ownAccount.passSecondFactor({ code: first })).session.second_factor).toBe(true);
  const [third = ''] = await ownAccount.renewRecoveryCodes({ code: second });
  await ownAccount.removeSecondFactor({ code: third });
}
