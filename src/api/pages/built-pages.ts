import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { FastifyReply, FastifyRequest } from 'fastify';

/** A file of the built pages in the encodings that it was built in. */
export interface BuiltFile {
  plain: Buffer;
  br: Buffer | null;
  gzip: Buffer | null;
  type: string;
}

const TYPES: Readonly<Record<string, string>> = {
  css: 'text/css; charset=utf-8',
  html: 'text/html; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  svg: 'image/svg+xml',
  woff2: 'font/woff2',
};

const BUILT = join(import.meta.dirname, '../../../web/dist');

/**
 * The pages that web/build.ts made, by path. They are read once, some 2 MB, so a request opens no file and a new build
 * does not change what a running server serves. Null if there is no whole build.
 */
export function readBuiltPages(folder = BUILT): ReadonlyMap<string, BuiltFile> | null {
  if (readOrNull(join(folder, '.stamp')) === null) return null;
  // The first glob of a process loads a library: 15 ms of a start.
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' });
  const files = names.flatMap((name): [string, BuiltFile][] => {
    const type = TYPES[name.replace(/^.*\./, '')];
    if (type === undefined) return [];
    const path = join(folder, name);
    const br = readOrNull(`${path}.br`);
    return [[`/${name}`, { plain: readFileSync(path), br, gzip: readOrNull(`${path}.gz`), type }]];
  });
  return new Map(files);
}

function readOrNull(path: string): Buffer | null {
  try {
    return readFileSync(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
}

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
