import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { AppError } from '../../domain/errors.ts';
import type { BuiltFile } from './built-pages.ts';
import { sendFile, sendNotBuilt } from './built-pages.ts';
import { type PortalPageDeps, registerPortalPage } from './portal-page.ts';

/** Scripts, fonts and requests of this host only. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "font-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'self'",
  "frame-ancestors 'none'",
].join('; ');

/** Some browsers apply the policy of an image to it, and the icon has its colours in a style. */
const ICON_POLICY = "sandbox; default-src 'none'; style-src 'unsafe-inline'";

/** Addresses of the dashboard. Each gets the same document, and its script shows the page. */
const ADDRESSES = ['/', '/sign-in', '/p/*', '/instance/*', '/account'];

/** The dashboard and the portal, as web/build.ts made them. Without a build their addresses say so. */
export function registerPages(
  app: FastifyInstance,
  deps: PortalPageDeps,
  files: ReadonlyMap<string, BuiltFile> | null,
): void {
  const document = files?.get('/index.html');
  const hidden = { schema: { hide: true } };
  for (const path of ADDRESSES)
    app.get(path, hidden, async (request, reply) => {
      reply.header('cache-control', 'no-cache').header('referrer-policy', 'same-origin');
      reply.header('content-security-policy', POLICY);
      return document === undefined ? sendNotBuilt(reply) : sendFile(request, reply, document);
    });
  const asset = async (request: FastifyRequest, reply: FastifyReply) => {
    const path = request.url.replace(/\?.*$/, '');
    const file = files?.get(path);
    if (file === undefined) throw new AppError('route_not_found', { method: request.method, path });
    // The name of an asset has a hash of its content.
    const age = path.startsWith('/assets/') ? 'public, max-age=31536000, immutable' : 'public, max-age=3600';
    return sendFile(request, reply.header('cache-control', age), file);
  };
  app.get('/assets/:name', hidden, asset);
  app.get('/favicon.svg', hidden, (request, reply) =>
    asset(request, reply.header('content-security-policy', ICON_POLICY)),
  );
  // Pages of other origins load it.
  app.get('/portal/embed.js', hidden, (request, reply) =>
    asset(request, reply.header('cross-origin-resource-policy', 'cross-origin')),
  );
  registerPortalPage(app, { ...deps, document: files?.get('/portal.html') });
}
