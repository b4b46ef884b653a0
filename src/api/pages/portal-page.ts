/*
 * The portal page: one document for every link. The theme and the pages that may embed it come from the project of the
 * address, because the token of the link is behind the `#` and never reaches the server:
 *
 *   known project      -> its theme and its frame_origins
 *   unknown, or none   -> the default theme, and no page may embed it
 *
 * The caller is unknown. A project that is not in memory costs one read by its key, bounded per address.
 */
import type { FastifyInstance } from 'fastify';
import { PortalTheme } from '../../domain/config/project-config.ts';
import { asId, isId, type ProjectId } from '../../domain/ids.ts';
import { usualOf } from '../../platform/json/schema-marks.ts';
import { CallRate } from '../http/access/call-rate.ts';
import type { ReadContext } from '../http/context.ts';
import type { BuiltFile } from './built-pages.ts';
import { sendNotBuilt } from './built-pages.ts';

export type PortalPageDeps = Pick<ReadContext, 'cache' | 'db' | 'projects'>;

const READS_PER_SECOND = 50;

export function registerPortalPage(
  app: FastifyInstance,
  deps: PortalPageDeps & { document: BuiltFile | undefined },
): void {
  const html = deps.document?.plain.toString();
  const reads = new CallRate(READS_PER_SECOND);
  app.get('/portal', { schema: { hide: true } }, async (request, reply) => {
    const { project } = request.query as { project?: unknown };
    const theme = await themeOf(deps, project, () => reads.count(request.ip));
    reply.header('cache-control', 'no-cache').header('referrer-policy', 'no-referrer');
    reply.header('content-security-policy', policyOf(theme));
    if (html === undefined) return sendNotBuilt(reply);
    return reply
      .type('text/html; charset=utf-8')
      .serializer(String)
      .send(html.replace('name="theme" content=""', () => `name="theme" content="${attribute(theme)}"`));
  });
}

const USUAL_THEME = usualOf(PortalTheme.properties);

async function themeOf(
  { cache, db, projects }: PortalPageDeps,
  given: unknown,
  countRead: () => void,
): Promise<PortalTheme> {
  if (typeof given !== 'string' || !isId(given)) return USUAL_THEME;
  const id: ProjectId = asId(given);
  if (cache.isGone(id)) return USUAL_THEME;
  const known = cache.peek(id)?.project;
  if (known !== undefined) return known.config.portal;
  countRead();
  return (await projects.get(db, id))?.config.portal ?? USUAL_THEME;
}

/** Hosts of stored URLs have only letters that end no part of a policy: checkPortalTheme. */
function policyOf({ logo_url, logo_url_dark, frame_origins }: PortalTheme): string {
  const logos = [logo_url, logo_url_dark].filter((url) => url !== '').map((url) => new URL(url).origin);
  return [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    ["img-src 'self'", ...new Set(logos)].join(' '),
    "font-src 'self'",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    `frame-ancestors ${frame_origins.length === 0 ? "'none'" : frame_origins.join(' ')}`,
  ].join('; ');
}

const ESCAPES: Readonly<Record<string, string>> = { '&': '&amp;', '"': '&quot;', '<': '&lt;', '>': '&gt;' };

const attribute = (value: unknown): string =>
  JSON.stringify(value).replace(/[&"<>]/g, (letter) => ESCAPES[letter] ?? '');
