import { codeAt, stepAt } from '../../../src/people/totp.ts';
import { ApiClient } from '../client.ts';
import { member, PASSWORD, type SessionClient, setUpSecondFactor, tokenOf } from '../session-client.ts';
import {
  created,
  deleted,
  type Identity,
  noted,
  type OperationCase,
  type Prepared,
  type Scene,
  updated,
} from './scene.ts';
import { unique } from './things.ts';

/** Operations on people, their accounts and their sessions. */
const anyone = ({ app }: Scene) => new ApiClient(app.url, '');
const newEmail = () => `${unique('someone')}@example.com`;
const signedIn = (method: string) => created('person.signed_in', { method });
const linkMade = (purpose: string) => created('person.link_made', { purpose });
const STORES_NOTHING = 'stores nothing';

/** A person in the project, whose session makes the call. */
export async function asMember({
  app,
  project,
}: Scene): Promise<{ by: Identity & { caller: SessionClient }; email: string }> {
  const { client, uid, email } = await member(app, 'admin', project);
  return { by: { caller: client.at(app.url), actor: { type: 'person', uid } }, email };
}

/** A session of an account with a second factor, and a code that was not used yet. */
async function withSecondFactor(scene: Scene): Promise<Prepared> {
  const { by } = await asMember(scene);
  const { client, recoveryCodes } = await setUpSecondFactor(by.caller);
  return { by: { ...by, caller: client }, body: { code: recoveryCodes[0] } };
}

/** A person with two sessions; the second one is named. */
async function withTwoSessions(scene: Scene): Promise<Prepared> {
  const { by, email } = await asMember(scene);
  const { session } = await anyone(scene).post('/auth/sign-in', { email, password: PASSWORD }, 200);
  return { by, params: { sessionID: session.uid } };
}

async function invited({ app }: Scene): Promise<{ token: string; uid: string }> {
  const { person, link } = await app.instance.post('/people', { email: newEmail() });
  return { token: tokenOf(link), uid: person.uid };
}

const accounts: Record<string, OperationCase> = {
  updateMe: {
    prepare: async (scene) => ({ ...(await asMember(scene)), body: { name: 'new' } }),
    audit: [updated('person.updated', { name: 'Person' }, { name: 'new' })],
  },
  changePassword: {
    prepare: async (scene) => ({
      ...(await asMember(scene)),
      body: { current_password: PASSWORD, new_password: `${PASSWORD} more` },
    }),
    audit: [noted('person.password_changed'), signedIn('password')],
  },
  endOtherSessions: {
    prepare: withTwoSessions,
    audit: [deleted('session.ended', { method: 'password' })],
  },
  endSession: { prepare: withTwoSessions, audit: [deleted('session.ended', { method: 'password' })] },
  beginSecondFactor: { audit: 'a secret that was never used does nothing' },
  confirmSecondFactor: {
    prepare: async (scene) => {
      const { by } = await asMember(scene);
      const { secret } = await by.caller.post('/auth/second-factor/begin');
      return { by, body: { code: codeAt(secret, stepAt(Date.now())) } };
    },
    audit: [noted('person.second_factor_on'), signedIn('second factor')],
  },
  passSecondFactor: { prepare: withSecondFactor, audit: [signedIn('second factor')] },
  removeSecondFactor: { prepare: withSecondFactor, audit: [noted('person.second_factor_off')] },
  renewRecoveryCodes: { prepare: withSecondFactor, audit: [noted('person.recovery_codes_made')] },
};

const people: Record<string, OperationCase> = {
  inviteToProject: {
    prepare: () => ({ body: { email: newEmail(), role: 'viewer' } }),
    audit: [
      created('person.created', { is_instance_admin: false }),
      created('person.joined', { role: 'viewer' }),
      linkMade('invitation'),
    ],
  },
  changeRole: {
    prepare: () => ({ body: { role: 'developer' } }),
    audit: [updated('person.role_changed', { role: 'viewer' }, { role: 'developer' })],
  },
  removeFromProject: { audit: [deleted('person.left', { role: 'viewer' })] },
  inviteToInstance: {
    prepare: async ({ app }) => ({ body: { email: (await member(app, 'viewer')).email } }),
    audit: [updated('person.updated', { is_instance_admin: false }, { is_instance_admin: true })],
  },
  updateAccount: {
    prepare: () => ({ body: { is_active: false } }),
    audit: [updated('person.updated', { deactivated_at: null }, { deactivated_at: /Z$/ })],
  },
  createSignInLink: {
    prepare: async ({ app }) => ({ body: { email: (await member(app, 'viewer')).email, purpose: 'reset' } }),
    audit: [linkMade('reset')],
  },
};

const signIn: Record<string, OperationCase> = {
  signIn: {
    prepare: async (scene) => {
      const { by, email } = await asMember(scene);
      return { by: { ...by, caller: anyone(scene) }, body: { email, password: PASSWORD } };
    },
    audit: [signedIn('password')],
  },
  signOut: { prepare: asMember, audit: [deleted('session.ended', { method: 'link' })] },
  requestReset: {
    prepare: () => ({ body: { email: newEmail() } }),
    audit: 'needs a mail server: see test/people/people.test.ts',
  },
  checkLink: {
    prepare: async (scene) => ({ body: { token: (await invited(scene)).token } }),
    audit: STORES_NOTHING,
  },
  useLink: {
    prepare: async (scene) => {
      const { token, uid } = await invited(scene);
      const by = { caller: anyone(scene), actor: { type: 'person', uid } };
      return { by, body: { token, password: PASSWORD } };
    },
    audit: [signedIn('link'), updated('person.link_used', { name: '' }, { purpose: 'invitation' })],
  },
};

export const peopleCases: Record<string, OperationCase> = { ...accounts, ...people, ...signIn };
