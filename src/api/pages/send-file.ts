import type { FastifyReply, FastifyRequest } from 'fastify';
import type { BuiltFile } from './built-pages.ts';

/** Sends a built file in the best encoding that the caller accepts. */
export function sendFile(request: FastifyRequest, reply: FastifyReply, file: BuiltFile): FastifyReply {
  reply.type(file.type).header('vary', 'accept-encoding');
  const accepted = acceptedEncodings(request.headers['accept-encoding']);
  if (file.br !== null && accepted.has('br')) return reply.header('content-encoding', 'br').send(file.br);
  if (file.gzip !== null && accepted.has('gzip'))
    return reply.header('content-encoding', 'gzip').send(file.gzip);
  return reply.send(file.plain);
}

const NOT_BUILT =
  'The pages of Posthorn are not built. The API works without them; links to sign in need them.\n' +
  'To build them run `npm ci` and start Posthorn again with `npm start`.\n';

export function sendNotBuilt(reply: FastifyReply): FastifyReply {
  return reply.code(503).type('text/plain; charset=utf-8').serializer(String).send(NOT_BUILT);
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
