import { join } from 'node:path';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { AppError } from '../../domain/errors.ts';
import { type BuiltFile, readBuiltPages } from './built-pages.ts';

/** Scripts and requests of this host only. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'self'",
  "frame-ancestors 'none'",
].join('; ');

const BUILT = join(import.meta.dirname, '../../../web/dist');

const NOT_BUILT =
  'The pages of Posthorn are not built. The API works without them; links to sign in need them.\n' +
  'To build them run `npm ci` and start Posthorn again with `npm start`.\n';

/** Addresses of the dashboard. Each gets the same document, and its script shows the page. */
const ADDRESSES = ['/', '/sign-in', '/p/*', '/instance/*', '/account'];

/** The dashboard, as web/build.ts made it. Without a build its addresses say so. */
export function registerPages(app: FastifyInstance, folder = BUILT): void {
  const files = readBuiltPages(folder);
  const document = files?.get('/index.html');
  const hidden = { schema: { hide: true } };
  for (const path of ADDRESSES)
    app.get(path, hidden, async (request, reply) => {
      reply.header('cache-control', 'no-cache').header('referrer-policy', 'same-origin');
      reply.header('content-security-policy', POLICY).header('x-content-type-options', 'nosniff');
      if (document === undefined)
        return reply.code(503).type('text/plain; charset=utf-8').serializer(String).send(NOT_BUILT);
      return send(request, reply, document);
    });
  const asset = async (request: FastifyRequest, reply: FastifyReply) => {
    const path = request.url.replace(/\?.*$/, '');
    const file = files?.get(path);
    if (file === undefined) throw new AppError('route_not_found', { method: request.method, path });
    // The name of an asset has a hash of its content.
    const age = path.startsWith('/assets/') ? 'public, max-age=31536000, immutable' : 'public, max-age=3600';
    reply.header('cache-control', age).header('x-content-type-options', 'nosniff');
    return send(request, reply, file);
  };
  app.get('/assets/:name', hidden, asset);
  app.get('/favicon.svg', hidden, asset);
}

function send(request: FastifyRequest, reply: FastifyReply, file: BuiltFile): FastifyReply {
  reply.type(file.type).header('vary', 'accept-encoding');
  const accepted = acceptedEncodings(request.headers['accept-encoding']);
  if (file.br !== null && accepted.has('br')) return reply.header('content-encoding', 'br').send(file.br);
  if (file.gzip !== null && accepted.has('gzip'))
    return reply.header('content-encoding', 'gzip').send(file.gzip);
  return reply.send(file.plain);
}

/** Encodings with `q=0` are refused. */
function acceptedEncodings(header: string | string[] | undefined): ReadonlySet<string> {
  const items = String(header ?? '')
    .toLowerCase()
    .split(',')
    .map((item) => item.trim());
  return new Set(
    items.filter((item) => !/;\s*q=0(\.0*)?$/.test(item)).map((item) => item.replace(/\s*;.*$/, '')),
  );
}
