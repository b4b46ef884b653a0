import type { FastifyReply, FastifyRequest } from 'fastify';
import { AppError } from '../../../domain/errors.ts';

/**
 * The cookie of a session, and the check that a call with it comes from a page of this service:
 * - A browser that says where a call comes from must say: from here.
 * - A change also needs a header that neither a form nor a link can send.
 *
 * With an https:// public URL the cookie is Secure and its name begins with `__Host-`, so that no other host of the domain
 * can set it.
 */
export const SESSION_COOKIE = 'posthorn_session';
export const CSRF_HEADER = 'X-Posthorn-Csrf';

const isSecure = (publicUrl: string) => publicUrl.startsWith('https:');
const nameOf = (publicUrl: string) => (isSecure(publicUrl) ? `__Host-${SESSION_COOKIE}` : SESSION_COOKIE);

/** The value of the session cookie. Undefined: there is none. */
export function sessionToken({ headers }: FastifyRequest, publicUrl: string): string | undefined {
  return cookie(headers.cookie, nameOf(publicUrl));
}

export function cookie(header: string | undefined, name: string): string | undefined {
  const found = header
    ?.split(';')
    .map((part) => part.trim())
    .find((part) => part.startsWith(`${name}=`));
  const value = found?.slice(name.length + 1);
  return value === '' ? undefined : value;
}

/** `maxAgeSeconds` undefined: until the browser closes. Zero: removes the cookie. */
export function setCookie(
  reply: FastifyReply,
  publicUrl: string,
  { name, value, maxAgeSeconds }: { name: string; value: string; maxAgeSeconds?: number },
): void {
  const age = maxAgeSeconds === undefined ? [] : [`Max-Age=${maxAgeSeconds}`];
  const secure = isSecure(publicUrl) ? ['Secure'] : [];
  const prefix = isSecure(publicUrl) ? '__Host-' : '';
  const parts = [`${prefix}${name}=${value}`, 'Path=/', 'HttpOnly', 'SameSite=Lax', ...secure, ...age];
  const all = [reply.getHeader('set-cookie') ?? []].flat().map(String);
  reply.header('set-cookie', [...all, parts.join('; ')]).header('cache-control', 'no-store');
}

export function setSessionCookie(reply: FastifyReply, publicUrl: string, token: string): void {
  setCookie(reply, publicUrl, { name: SESSION_COOKIE, value: token });
}

export function removeSessionCookie(reply: FastifyReply, publicUrl: string): void {
  setCookie(reply, publicUrl, { name: SESSION_COOKIE, value: '', maxAgeSeconds: 0 });
}

/** For calls with a session. Reads may also be typed into the address bar. */
export function refuseCrossSite(request: FastifyRequest, publicUrl: string): void {
  const isRead = request.method === 'GET' || request.method === 'HEAD';
  const isTyped = isRead && request.headers['sec-fetch-site'] === 'none';
  if (!isTyped && !isSameOrigin(request, publicUrl)) throw new AppError('cross_site');
  if (!isRead && request.headers[CSRF_HEADER.toLowerCase()] === undefined) throw new AppError('cross_site');
}

/** For sign-in and sign-out, which scripts may call without the header. */
export function refuseOtherOrigin(request: FastifyRequest, publicUrl: string): void {
  if (!isSameOrigin(request, publicUrl)) throw new AppError('cross_site');
}

/** Programs that are not browsers send neither header. */
function isSameOrigin({ headers, protocol, host }: FastifyRequest, publicUrl: string): boolean {
  const site = headers['sec-fetch-site'];
  if (site !== undefined && site !== 'same-origin') return false;
  const { origin } = headers;
  if (origin === undefined || site === 'same-origin') return true;
  return origin === new URL(publicUrl).origin || origin === `${protocol}://${host}`;
}
