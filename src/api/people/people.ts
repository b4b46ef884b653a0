import type { FastifyInstance } from 'fastify';
import { found, invalid } from '../../domain/errors.ts';
import { parsePageRequest } from '../../domain/pagination.ts';
import { roles } from '../../domain/role.ts';
import { invite } from '../../people/invitations.ts';
import { makeLinkFor } from '../../people/make-link-for.ts';
import { changeAccount, changeRole, removeFromProject } from '../../people/people-changes.ts';
import { isEmail, normalEmail } from '../../people/people-deps.ts';
import { nullable, oneOf, RequiredText, Text, Type } from '../../platform/type.ts';
import { getPerson, listAccounts, listMembers, type PersonRow } from '../../store/people/people.ts';
import { linkPurposes } from '../../store/people/sign-in-links.ts';
import { Account, Member, Person, toAccount, toInvited, toMember, toPerson } from '../auth/person-schema.ts';
import { isInstance } from '../http/access/access.ts';
import type { Caller } from '../http/access/caller.ts';
import type { MadeBefore } from '../http/access/once.ts';
import type { ChangeContext } from '../http/context.ts';
import { mapPage, Nothing, PageOf, pageQuery } from '../http/fields.ts';
import { operationsOf } from '../http/operation.ts';
import { showRows } from '../http/show-rows.ts';

const route = operationsOf('People');

const Invited = Type.Object({
  person: Person,
  link: nullable(
    Type.String(),
    'The invitation, a link that works once. Null: the person has an account and can use it, or the link was mailed.',
  ),
});

const Changed = Type.Object({
  ...Person.properties,
  link: nullable(
    Type.String(),
    'A new invitation, if the change removed the password of the account: it has another address, or it became an administrator of the instance and its address was never confirmed. Otherwise null.',
  ),
});

const fields = { email: RequiredText(254), name: Type.Optional(Text(256)) };
const InviteToProject = Type.Object({ ...fields, role: oneOf(roles) });
const InviteToInstance = Type.Object(fields);

export function registerPeople(app: FastifyInstance, context: ChangeContext): void {
  const { people } = context;
  registerMembers(app, context);
  registerAccounts(app, context);
  const known = async ({ id }: MadeBefore) => found(await getPerson(context.people.db, id), 'person', id, '');
  const invited = async (made: MadeBefore) => ({ person: toPerson(await known(made)), link: made.secret });
  const shown = (caller: Caller, person: PersonRow, name = '') =>
    isInstance(caller) ? toPerson(person) : toInvited(person, name);
  route.post(app, '/api/v1/projects/:projectID/people', {
    id: 'inviteToProject',
    summary: 'Give a person a role in a project. A person without an account gets one, and an invitation.',
    body: InviteToProject,
    status: 201,
    message: 'Person invited',
    data: Invited,
    access: 'admin',
    handle: async ({ caller, by, body }) => {
      const membership = { projectId: by.projectId, role: body.role };
      const inviter = { actor: by.actor, isInstance: isInstance(caller) };
      const wanted = { email: checked(body.email), name: body.name ?? '', membership };
      const { person, link } = await invite(people, inviter, wanted);
      return { person: shown(caller, person, body.name), link };
    },
    again: async ({ caller, body }, made) => ({
      person: shown(caller, await known(made), body.name),
      link: made.secret,
    }),
  });
  route.post(app, '/api/v1/people', {
    id: 'inviteToInstance',
    summary:
      'Make a person an administrator of the instance. A person without an account gets one, and an invitation.',
    body: InviteToInstance,
    status: 201,
    message: 'Person invited',
    data: Invited,
    access: 'instance',
    handle: async ({ actor, body }) => {
      const wanted = { email: checked(body.email), name: body.name ?? '', membership: null };
      const { person, link } = await invite(people, { actor, isInstance: true }, wanted);
      return { person: toPerson(person), link };
    },
    again: (_call, made) => invited(made),
  });
  route.post(app, '/api/v1/sign-in-links', {
    id: 'createSignInLink',
    summary: 'Create a link that signs a person in once, or resets the password.',
    body: Type.Object({
      email: Type.Optional(RequiredText(254, 'The first administrator of the instance by default.')),
      purpose: Type.Optional(oneOf(linkPurposes, '`sign_in` by default.')),
      remove_second_factor: Type.Optional(
        Type.Boolean({ description: 'Whether the use of the link removes the second factor.' }),
      ),
    }),
    status: 201,
    message: 'Link created',
    data: Type.Object({ person: Person, link: Type.String() }),
    access: 'instance',
    handle: async ({ actor, body }) => {
      const wanted = {
        email: body.email,
        purpose: body.purpose ?? 'sign_in',
        endsSecondFactor: body.remove_second_factor ?? false,
      };
      const { person, link } = await makeLinkFor(people, actor, wanted);
      return { person: toPerson(person), link };
    },
    again: async (_call, made) => ({ ...(await invited(made)), link: made.secret ?? '' }),
  });
}

function registerMembers(app: FastifyInstance, context: ChangeContext): void {
  const { people } = context;
  const path = '/api/v1/projects/:projectID/people';
  route.get(app, path, {
    id: 'listPeople',
    summary: 'List the people with a role in a project.',
    message: 'People fetched',
    data: Type.Array(Member),
    access: 'admin',
    handle: async ({ project }) => showRows(await listMembers(people.db, project.id), toMember),
  });
  route.put(app, `${path}/:personID`, {
    id: 'changeRole',
    summary: 'Give a person another role in a project.',
    body: Type.Object({ role: Type.Optional(oneOf(roles)) }),
    status: 202,
    message: 'Role changed',
    data: Person,
    access: 'admin',
    handle: async ({ by, params, body }) =>
      toPerson(await changeRole(people, { ...by, personId: params.personID }, body.role)),
  });
  route.delete(app, `${path}/:personID`, {
    id: 'removeFromProject',
    summary: 'Take the role in a project from a person. The account stays.',
    message: 'Person removed',
    data: Nothing,
    access: 'admin',
    handle: ({ by, params }) => removeFromProject(people, { ...by, personId: params.personID }),
  });
}

function registerAccounts(app: FastifyInstance, context: ChangeContext): void {
  const { people } = context;
  route.get(app, '/api/v1/people', {
    id: 'listAccounts',
    summary: 'List all accounts, newest first.',
    query: Type.Object(pageQuery),
    message: 'Accounts fetched',
    data: PageOf(Account),
    access: 'instance',
    handle: async ({ query }) => mapPage(await listAccounts(people.db, parsePageRequest(query)), toAccount),
  });
  route.put(app, '/api/v1/people/:personID', {
    id: 'updateAccount',
    summary: 'Change an account. Deactivation ends all of its sessions at once.',
    body: Type.Object({
      email: Type.Optional(
        Text(
          254,
          'A new address of another person removes the password, second factor and sessions of the account. Its owner gets an invitation.',
        ),
      ),
      name: Type.Optional(Text(256)),
      instance_admin: Type.Optional(Type.Boolean()),
      is_active: Type.Optional(Type.Boolean({ description: 'False: the person cannot sign in.' })),
    }),
    status: 202,
    message: 'Account updated',
    data: Changed,
    access: 'instance',
    handle: async ({ actor, params, body }) => {
      const wanted = {
        email: body.email === undefined ? undefined : checked(body.email),
        name: body.name,
        isInstanceAdmin: body.instance_admin,
        isActive: body.is_active,
      };
      const { person, link } = await changeAccount(people, { actor, id: params.personID }, wanted);
      return { ...toPerson(person), link };
    },
  });
}

function checked(email: string): string {
  if (!isEmail(normalEmail(email))) throw invalid('email', 'must be an e-mail address');
  return email;
}
