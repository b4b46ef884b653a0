import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { FastifyInstance } from 'fastify';
import type { OpenApiDocument } from './document.ts';
import { referencePage } from './reference-page.ts';

/** The page has no script and loads nothing from another host. */
const POLICY = "default-src 'none'; style-src 'self'; frame-ancestors 'none'; base-uri 'none'";

const styles = readFileSync(join(import.meta.dirname, 'reference.css'), 'utf8');

/** Serves the OpenAPI document and its reference page. Both are generated at the first request. */
export function registerReference(app: FastifyInstance): void {
  const hidden = { schema: { hide: true } };
  let page: string | undefined;
  app.get('/openapi.json', hidden, async () => app.swagger());
  app.get('/docs', hidden, async (_request, reply) => {
    page ??= referencePage(app.swagger() as unknown as OpenApiDocument);
    return reply
      .type('text/html; charset=utf-8')
      .header('content-security-policy', POLICY)
      .serializer(String)
      .send(page);
  });
  app.get('/docs/reference.css', hidden, async (_request, reply) =>
    reply
      .type('text/css; charset=utf-8')
      .header('cache-control', 'public, max-age=300')
      .serializer(String)
      .send(styles),
  );
}
