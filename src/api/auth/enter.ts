import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Static } from 'typebox';
import type { SignedIn } from '../../people/new-session.ts';
import type { Visitor } from '../../people/people-deps.ts';
import { sessionToken, setSessionCookie } from '../http/access/session-cookie.ts';
import type { ApiContext } from '../http/context.ts';
import { showMe } from './me.ts';
import type { Me } from './person-schema.ts';

export function visitorOf(context: ApiContext, request: FastifyRequest): Visitor {
  return {
    address: request.ip,
    userAgent: request.headers['user-agent'] ?? '',
    token: sessionToken(request, context.publicUrl()),
  };
}

/** Sets the cookie of a new session and shows its person. */
export async function enter(
  context: ApiContext,
  reply: FastifyReply,
  { token, session }: SignedIn,
): Promise<Static<typeof Me>> {
  const me = await showMe(context, reply.request, { personId: session.person_id, sessionId: session.id });
  setSessionCookie(reply, context.publicUrl(), token);
  return me;
}
