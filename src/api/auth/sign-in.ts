import type { FastifyInstance } from 'fastify';
import { AppError } from '../../domain/errors.ts';
import { checkLink, followLink, needsCode, needsPassword } from '../../people/links.ts';
import { requestReset } from '../../people/own-password.ts';
import { MOST_CHARS } from '../../people/password-rules.ts';
import { signIn, signOut } from '../../people/sign-in.ts';
import { oneOf, RequiredText, Text, Type } from '../../platform/type.ts';
import { linkPurposes } from '../../store/people/sign-in-links.ts';
import { refuseOtherOrigin, removeSessionCookie } from '../http/access/session-cookie.ts';
import type { ChangeContext } from '../http/context.ts';
import { Nothing } from '../http/fields.ts';
import { operationsOf } from '../http/operation.ts';
import { enter, visitorOf } from './me.ts';
import { Me } from './person-schema.ts';

const route = operationsOf('Sign in');
const Email = RequiredText(254);

const SignIn = Type.Object({
  email: Email,
  password: RequiredText(MOST_CHARS),
  code: Type.Optional(Text(64, 'A code of the second factor, or a recovery code.')),
});

const LinkToken = Type.Object({ token: RequiredText(64, 'The part of the link after `#link=`.') });

const UseLink = Type.Object({
  ...LinkToken.properties,
  password: Type.Optional(RequiredText(MOST_CHARS, 'The new password, for an invitation or a reset.')),
  name: Type.Optional(Text(256)),
  code: SignIn.properties.code,
});

const Link = Type.Object({
  purpose: oneOf(linkPurposes),
  email: Type.String(),
  name: Type.String(),
  needs_password: Type.Boolean({ description: 'Whether its use sets a password.' }),
  needs_code: Type.Boolean({ description: 'Whether its use needs a code of the second factor.' }),
});

const Ways = Type.Object({
  password: Type.Boolean({ description: 'Whether people may sign in with a password.' }),
  reset_by_mail: Type.Boolean({ description: 'Whether a forgotten password can be reset by mail.' }),
  providers: Type.Array(
    Type.Object({
      name: Type.String(),
      title: Type.String(),
      url: Type.String({ description: 'Where the browser goes to sign in.' }),
    }),
  ),
});

/** Sign-in. These operations have no caller yet. */
export function registerSignIn(app: FastifyInstance, context: ChangeContext): void {
  const { people } = context;
  route.post(app, '/auth/sign-in', {
    id: 'signIn',
    summary: 'Sign in with e-mail address and password. Sets the session cookie.',
    body: SignIn,
    message: 'Signed in',
    data: Me,
    access: 'public',
    handle: async ({ body }, request, reply) => {
      if (!people.rules.hasPasswords) throw new AppError('password_sign_in_off');
      refuseOtherOrigin(request, context.publicUrl());
      return enter(context, reply, await signIn(people, body, visitorOf(context, request)));
    },
  });
  route.post(app, '/auth/sign-out', {
    id: 'signOut',
    summary: 'End the session of the cookie, if there is one, and remove the cookie.',
    message: 'Signed out',
    data: Nothing,
    access: 'public',
    handle: async (_call, request, reply) => {
      refuseOtherOrigin(request, context.publicUrl());
      await signOut(people, visitorOf(context, request));
      removeSessionCookie(reply, context.publicUrl());
      return null;
    },
  });
  route.post(app, '/auth/reset', {
    id: 'requestReset',
    summary: 'Mail a link for a new password, if the address has an account.',
    body: Type.Object({ email: Email }),
    status: 202,
    message: 'If the address has an account, a mail is on its way',
    data: Nothing,
    access: 'public',
    handle: async ({ body }, request) => {
      if (!people.rules.hasPasswords || people.sendMail === null) throw new AppError('reset_off');
      refuseOtherOrigin(request, context.publicUrl());
      await requestReset(people, body.email, visitorOf(context, request));
      return null;
    },
  });
  route.get(app, '/auth/providers', {
    id: 'listProviders',
    summary: 'List the ways to sign in.',
    message: 'Providers fetched',
    data: Ways,
    access: 'public',
    handle: async () => ({
      password: people.rules.hasPasswords,
      reset_by_mail: people.rules.hasPasswords && people.sendMail !== null,
      providers: context.oidc.providers.map(({ name, title }) => ({
        name,
        title,
        url: `${context.publicUrl()}/auth/providers/${name}/start`,
      })),
    }),
  });
  registerLinks(app, context);
}

function registerLinks(app: FastifyInstance, context: ChangeContext): void {
  const { people } = context;
  route.post(app, '/auth/link/check', {
    id: 'checkLink',
    summary: 'Look at an invitation, reset or sign-in link without using it.',
    body: LinkToken,
    message: 'Link fetched',
    data: Link,
    access: 'public',
    handle: async ({ body }, request) => {
      refuseOtherOrigin(request, context.publicUrl());
      const { link, person } = await checkLink(people, body.token);
      return {
        purpose: link.purpose,
        email: person.email,
        name: person.name,
        needs_password: needsPassword(people, link),
        needs_code: needsCode(link, person),
      };
    },
  });
  route.post(app, '/auth/link', {
    id: 'useLink',
    summary: 'Use an invitation, reset or sign-in link, once. Sets the session cookie.',
    body: UseLink,
    message: 'Signed in',
    data: Me,
    access: 'public',
    handle: async ({ body }, request, reply) => {
      refuseOtherOrigin(request, context.publicUrl());
      return enter(context, reply, await followLink(people, body, visitorOf(context, request)));
    },
  });
}
