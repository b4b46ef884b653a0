import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { ApiContext } from '../http/context.ts';
import type { OpenApiDocument } from './document.ts';
import { referencePage } from './reference-page.ts';

/** The page has no script and loads nothing from another host. */
const POLICY = "default-src 'none'; style-src 'self'; frame-ancestors 'none'; base-uri 'none'";

const styles = readFileSync(join(import.meta.dirname, 'reference.css'), 'utf8');

/** Stands in the page for the address of the service, which differs between readers. */
const ADDRESS = 'http://address.invalid';

/** The reader copies the address into a shell, so a host has only the characters of names and addresses. */
const HOST = /^[\w.:[\]-]+$/;

/** Serves the OpenAPI document and its reference page. Both are generated at the first request. */
export function registerReference(app: FastifyInstance, context: ApiContext): void {
  const hidden = { schema: { hide: true } };
  let page: string | undefined;
  app.get('/openapi.json', hidden, async () => app.swagger());
  app.get('/docs', hidden, async (request, reply) => {
    page ??= referencePage(app.swagger() as unknown as OpenApiDocument, ADDRESS);
    return reply
      .type('text/html; charset=utf-8')
      .header('content-security-policy', POLICY)
      .serializer(String)
      .send(page.replace(ADDRESS, addressFor(request, context)));
  });
  app.get('/docs/reference.css', hidden, async (_request, reply) =>
    reply
      .type('text/css; charset=utf-8')
      .header('cache-control', 'public, max-age=300')
      .serializer(String)
      .send(styles),
  );
}

/** POSTHORN_PUBLIC_URL, or else the address that the reader asked. */
function addressFor({ protocol, host }: FastifyRequest, { settings, publicUrl }: ApiContext): string {
  const isSet = settings.some((setting) => setting.name === 'POSTHORN_PUBLIC_URL' && setting.isSet);
  return isSet || !HOST.test(host) ? publicUrl() : `${protocol}://${host}`;
}
