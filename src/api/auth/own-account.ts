import type { FastifyInstance } from 'fastify';
import { AppError } from '../../domain/errors.ts';
import { changePassword } from '../../people/own-password.ts';
import { endOtherSessions, endOwnSession, type Self } from '../../people/own-sessions.ts';
import { MOST_CHARS } from '../../people/password-rules.ts';
import { changeAccount } from '../../people/people-changes.ts';
import { RequiredText, Text, Type } from '../../platform/type.ts';
import { listSessions } from '../../store/people/sessions.ts';
import type { Call } from '../http/call.ts';
import type { ChangeContext } from '../http/context.ts';
import { Nothing } from '../http/fields.ts';
import { operationsOf } from '../http/operation.ts';
import { showRows } from '../http/show-rows.ts';
import { enter, showMe, visitorOf } from './me.ts';
import { Me, Session, toSession } from './person-schema.ts';

const route = operationsOf('Own account');

/** The person of a call. The access `session` lets only people in. */
export function selfOf({ caller, actor }: Pick<Call<unknown>, 'caller' | 'actor'>): Self & {
  sessionId: string;
  hasSecondFactor: boolean;
} {
  if (caller.kind !== 'person') throw new AppError('session_required');
  const { personId, sessionId, hasSecondFactor } = caller;
  return { personId, sessionId, hasSecondFactor, actor };
}

/** Operations of people on their own account. */
export function registerOwnAccount(app: FastifyInstance, context: ChangeContext): void {
  const { people } = context;
  route.get(app, '/auth/me', {
    id: 'getMe',
    summary: 'Get the signed-in person, the projects that are open to it, and the session.',
    message: 'Person fetched',
    data: Me,
    access: 'session',
    handle: (call, request) => showMe(context, request, selfOf(call)),
  });
  route.put(app, '/auth/me', {
    id: 'updateMe',
    summary: 'Change the own name.',
    body: Type.Object({ name: Type.Optional(Text(256)) }),
    status: 202,
    message: 'Person updated',
    data: Me,
    access: 'session',
    handle: async (call, request) => {
      const self = selfOf(call);
      await changeAccount(people, { actor: self.actor, id: self.personId }, { name: call.body.name });
      return showMe(context, request, self);
    },
  });
  route.put(app, '/auth/password', {
    id: 'changePassword',
    summary: 'Change the own password. All other sessions end, and this one gets a new cookie.',
    body: Type.Object({
      current_password: Type.Optional(Text(MOST_CHARS, 'Not needed if the account has none yet.')),
      new_password: RequiredText(MOST_CHARS),
    }),
    message: 'Password changed',
    data: Me,
    access: 'session',
    handle: async (call, request, reply) => {
      if (!people.rules.hasPasswords) throw new AppError('password_sign_in_off');
      const self = selfOf(call);
      const { current_password: current, new_password: next } = call.body;
      const wanted = { current, next, hasSecondFactor: self.hasSecondFactor };
      const visitor = visitorOf(context, request);
      return enter(context, reply, await changePassword(people, self, wanted, visitor));
    },
  });
  registerOwnSessions(app, context);
}

function registerOwnSessions(app: FastifyInstance, context: ChangeContext): void {
  const { people } = context;
  route.get(app, '/auth/sessions', {
    id: 'listSessions',
    summary: 'List the own sessions, newest first.',
    message: 'Sessions fetched',
    data: Type.Array(Session),
    access: 'session',
    handle: async (call) => {
      const { personId, sessionId } = selfOf(call);
      const rows = await listSessions(people.db, personId, people.rules.idleSeconds);
      return showRows(rows, (row) => toSession(row, sessionId));
    },
  });
  route.delete(app, '/auth/sessions/:sessionID', {
    id: 'endSession',
    summary: 'End an own session, at once.',
    message: 'Session ended',
    data: Nothing,
    access: 'session',
    handle: (call) => endOwnSession(people, selfOf(call), call.params.sessionID),
  });
  route.delete(app, '/auth/sessions', {
    id: 'endOtherSessions',
    summary: 'End all other own sessions, at once.',
    message: 'Sessions ended',
    data: Nothing,
    access: 'session',
    handle: (call) => {
      const self = selfOf(call);
      return endOtherSessions(people, self, self.sessionId);
    },
  });
}
