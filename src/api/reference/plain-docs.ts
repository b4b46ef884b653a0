import { glob, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { FastifyInstance, FastifyReply } from 'fastify';
import { AppError } from '../../domain/errors.ts';

/**
 * The pages of docs as text, and `/llms.txt`, which lists them for programs that read. They are those of this version. They
 * are read once, at the first request.
 */
const DOCS = join(import.meta.dirname, '../../../docs');
/** Not for people who change the code. */
const PAGES = ['*.md', 'how-to/*.md'];
const OTHERS = new Set(['style.md']);
const ADDRESS = '/docs/guides';

interface Guide {
  /** `retries.md`, `how-to/retries.md`. */
  name: string;
  title: string;
  /** The first sentence. */
  summary: string;
  text: string;
}

export function registerPlainDocs(app: FastifyInstance, publicUrl: () => string): void {
  const hidden = { schema: { hide: true } };
  let made: Promise<ReadonlyMap<string, Guide>> | undefined;
  const guides = () => (made ??= readGuides());
  const send = (reply: FastifyReply, text: string) =>
    reply
      .type('text/plain; charset=utf-8')
      .header('cache-control', 'public, max-age=300')
      .serializer(String)
      .send(text);
  app.get('/llms.txt', hidden, async (_request, reply) =>
    send(reply, indexOf([...(await guides()).values()], publicUrl())),
  );
  app.get<{ Params: { '*': string } }>(`${ADDRESS}/*`, hidden, async ({ params, method, url }, reply) => {
    const guide = (await guides()).get(params['*']);
    if (guide === undefined) throw new AppError('route_not_found', { method, path: url });
    return send(reply, guide.text);
  });
}

async function readGuides(): Promise<ReadonlyMap<string, Guide>> {
  const found: Guide[] = [];
  for await (const name of glob(PAGES, { cwd: DOCS }))
    if (!OTHERS.has(name)) found.push(guideOf(name, await readFile(join(DOCS, name), 'utf8')));
  return new Map(found.sort((a, b) => (a.name < b.name ? -1 : 1)).map((guide) => [guide.name, guide]));
}

function guideOf(name: string, text: string): Guide {
  const [title = name, ...rest] = text.split('\n');
  const first = rest.find((line) => /^[A-Z`*[/].{9}/.test(line)) ?? '';
  const plain = first.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1').replaceAll(/[*_]{2}/g, '');
  const summary = /^.*?[.:](?=\s|$)/.exec(plain)?.[0] ?? plain;
  return { name, title: title.replace(/^#+\s*/, ''), summary, text };
}

function indexOf(guides: readonly Guide[], url: string): string {
  const items = guides.map(
    ({ name, title, summary }) => `- [${title}](${url}${ADDRESS}/${name}): ${summary}`,
  );
  return [
    '# Posthorn',
    '',
    '> Posthorn takes events in and delivers them as webhooks: signed, retried, rate limited, recorded, visible.',
    '',
    '## API',
    '',
    `- [OpenAPI document](${url}/openapi.json): every operation with its schemas.`,
    `- [Reference](${url}/docs): the same with examples, as pages.`,
    '',
    '## Guides',
    '',
    ...items,
    '',
  ].join('\n');
}
