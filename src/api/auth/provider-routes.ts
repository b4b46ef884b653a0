import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { AppError } from '../../domain/errors.ts';
import { signInWithProvider } from '../../people/provider-sign-in.ts';
import { cookie, setCookie, setSessionCookie } from '../http/access/session-cookie.ts';
import type { ChangeContext, ReadContext } from '../http/context.ts';
import { visitorOf } from './me.ts';

/**
 * The way to a provider and back. A browser walks it, so both answers are redirects: to the provider, and in the end to
 * the page that the sign-in began on, or to the sign-in page with the code of the error.
 */
const COOKIE = 'posthorn_provider';
const COOKIE_SECONDS = 600;

export function registerProviderRoutes(app: FastifyInstance, context: ChangeContext): void {
  const hidden = { schema: { hide: true } };
  app.get('/auth/providers/:name/start', hidden, (request, reply) =>
    redirecting(context, request, reply, async (name) => {
      const { return_to } = request.query as { return_to?: unknown };
      const { url, sealed } = await context.oidc.begin(name, ownPath(return_to));
      setCookie(reply, context.publicUrl(), { name: COOKIE, value: sealed, maxAgeSeconds: COOKIE_SECONDS });
      return url;
    }),
  );
  app.get('/auth/providers/:name/callback', hidden, (request, reply) =>
    redirecting(context, request, reply, async (name) => {
      const publicUrl = context.publicUrl();
      const prefix = publicUrl.startsWith('https:') ? '__Host-' : '';
      const sealed = cookie(request.headers.cookie, `${prefix}${COOKIE}`);
      setCookie(reply, publicUrl, { name: COOKIE, value: '', maxAgeSeconds: 0 });
      const query = request.url.slice(request.url.indexOf('?'));
      const { returnTo, ...found } = await context.oidc.finish(name, { query, sealed });
      const visitor = visitorOf(context, request);
      const { token } = await signInWithProvider(context.people, found, visitor);
      setSessionCookie(reply, publicUrl, token);
      return `${publicUrl}${returnTo}`;
    }),
  );
}

async function redirecting(
  context: ReadContext,
  request: FastifyRequest,
  reply: FastifyReply,
  work: (name: string) => Promise<string>,
): Promise<FastifyReply> {
  reply.header('cache-control', 'no-store').header('referrer-policy', 'no-referrer');
  try {
    return await reply.redirect(await work((request.params as { name: string }).name), 302);
  } catch (error) {
    if (!(error instanceof AppError) || error.status === 404) throw error;
    return reply.redirect(`${context.publicUrl()}/sign-in#error=${error.code}`, 302);
  }
}

/** A path of this service. Any other address would send people elsewhere after they have signed in. */
function ownPath(given: unknown): string {
  return typeof given === 'string' && /^\/(?![/\\])[\x21-\x7e]*$/.test(given) ? given : '/';
}
