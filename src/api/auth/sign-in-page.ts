import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { FastifyInstance } from 'fastify';

/** The page that invitation, reset and sign-in links open. It calls the operations of sign-in.ts and nothing else. */
const page = readFileSync(join(import.meta.dirname, 'sign-in-page.html'), 'utf8');

const hashOf = (tag: string) => {
  const text = new RegExp(`<${tag}>([^]*?)</${tag}>`).exec(page)?.[1] ?? '';
  return `'sha256-${createHash('sha256').update(text).digest('base64')}'`;
};
const POLICY = `default-src 'none'; script-src ${hashOf('script')}; style-src ${hashOf('style')}; connect-src 'self'; form-action 'none'; frame-ancestors 'none'; base-uri 'none'`;

export function registerSignInPage(app: FastifyInstance): void {
  app.get('/auth', { schema: { hide: true } }, async (_request, reply) =>
    reply
      .type('text/html; charset=utf-8')
      .header('content-security-policy', POLICY)
      .header('referrer-policy', 'no-referrer')
      .header('cache-control', 'no-store')
      .serializer(String)
      .send(page),
  );
}
