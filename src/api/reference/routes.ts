import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { ReadContext } from '../http/context.ts';
import { ADDRESS, addressFor } from './address.ts';
import type { OpenApiDocument } from './document.ts';
import { html } from './html.ts';
import { registerPlainDocs } from './plain-docs.ts';
import type { ReferenceSite } from './reference-site.ts';

/** Scripts, styles and fonts of this host only, and nothing inline. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "font-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

const styles = readFileSync(join(import.meta.dirname, 'reference.css'), 'utf8');

/** Serves the OpenAPI document and its reference, which is made at the first request. `built` has the built pages by path. */
export function registerReference(
  app: FastifyInstance,
  context: ReadContext,
  built: ReadonlyMap<string, unknown> | null,
): void {
  const hidden = { schema: { hide: true } };
  const asset = (name: RegExp) => [...(built?.keys() ?? [])].find((path) => name.test(path));
  const script = asset(/^\/assets\/reference-[\w-]+\.js$/);
  const css = fontFace(asset(/^\/assets\/inter-latin-wght-normal-[\w-]+\.woff2$/)) + styles;
  let made: Promise<ReferenceSite> | undefined;
  const site = () => (made ??= makeSite(app, script));

  const sendPage = (request: FastifyRequest, reply: FastifyReply, page: string) => {
    const address = html`${addressFor(request, context)}`.text;
    return reply
      .type('text/html; charset=utf-8')
      .header('cache-control', 'no-cache')
      .header('content-security-policy', POLICY)
      .serializer(String)
      .send(page.replaceAll(ADDRESS, () => address));
  };
  const sendFile = (reply: FastifyReply, type: string, text: string) =>
    reply.type(type).header('cache-control', 'public, max-age=300').serializer(String).send(text);

  registerPlainDocs(app, () => context.publicUrl());
  app.get('/openapi.json', hidden, () => app.openApi());
  app.get('/docs', hidden, async (request, reply) => sendPage(request, reply, (await site()).page('') ?? ''));
  app.get<{ Params: { page: string } }>('/docs/:page', hidden, async (request, reply) => {
    const pages = await site();
    const page = pages.page(request.params.page);
    return sendPage(request, page === undefined ? reply.code(404) : reply, page ?? pages.missing);
  });
  app.get('/docs/reference.css', hidden, async (_request, reply) =>
    sendFile(reply, 'text/css; charset=utf-8', css),
  );
  app.get('/docs/search.json', hidden, async (_request, reply) =>
    sendFile(reply, 'application/json; charset=utf-8', (await site()).search),
  );
}

async function makeSite(app: FastifyInstance, script: string | undefined): Promise<ReferenceSite> {
  const { ReferenceSite } = await import('./reference-site.ts');
  return new ReferenceSite((await app.openApi()) as OpenApiDocument, script);
}

/** The typeface of the dashboard, if that is built. */
function fontFace(font: string | undefined): string {
  if (font === undefined) return '';
  return `@font-face{font-family:"Inter Variable";font-display:swap;font-weight:100 900;src:url("${font}") format("woff2")}\n`;
}
