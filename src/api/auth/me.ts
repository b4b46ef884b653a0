import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Static } from 'typebox';
import { AppError } from '../../domain/errors.ts';
import type { SignedIn } from '../../people/new-session.ts';
import type { Visitor } from '../../people/people-deps.ts';
import { getPerson, membershipsOf } from '../../store/people/people.ts';
import { getSession } from '../../store/people/sessions.ts';
import { overCells } from '../http/access/over-cells.ts';
import { sessionToken, setSessionCookie } from '../http/access/session-cookie.ts';
import type { ChangeContext, ReadContext } from '../http/context.ts';
import { type Me, toPerson, toSession } from './person-schema.ts';

/** The person of a session, with the projects that are open to it. */
export async function showMe(
  context: ChangeContext,
  request: FastifyRequest,
  { personId, sessionId }: { personId: string; sessionId: string },
): Promise<Static<typeof Me>> {
  const { people } = context;
  const { db } = people;
  const [person, session, memberships, rows] = await Promise.all([
    getPerson(db, personId),
    getSession(db, sessionId),
    membershipsOf(db, personId),
    overCells(context, request, (cell) => cell.projects.list(cell.db)),
  ]);
  if (person === undefined || session === undefined) throw new AppError('session_ended');
  const roles = new Map(memberships.map(({ project_id, role }) => [project_id, role]));
  return {
    person: toPerson(person),
    has_password: person.password_hash !== null,
    second_factor: person.totp_confirmed_at !== null,
    second_factor_required: people.rules.needsSecondFactor && !session.has_second_factor,
    instance_admin: person.is_instance_admin,
    projects: rows.flatMap(({ id, name }) => {
      const role = person.is_instance_admin ? 'admin' : roles.get(id);
      return role === undefined ? [] : [{ uid: id, name, role }];
    }),
    session: toSession(session, sessionId),
  };
}

export function visitorOf(context: ReadContext, request: FastifyRequest): Visitor {
  return {
    address: request.ip,
    userAgent: request.headers['user-agent'] ?? '',
    token: sessionToken(request, context.publicUrl()),
  };
}

/** Sets the cookie of a new session and shows its person. */
export async function enter(
  context: ChangeContext,
  reply: FastifyReply,
  { token, session }: SignedIn,
): Promise<Static<typeof Me>> {
  const me = await showMe(context, reply.request, { personId: session.person_id, sessionId: session.id });
  setSessionCookie(reply, context.publicUrl(), token);
  return me;
}
