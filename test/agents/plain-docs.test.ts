import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { startTestApp } from '../support/app.ts';
import { shared } from '../support/shared.ts';

/** Programs that read get the docs of this version as text, without a key. */
const app = await shared(startTestApp());
const DOCS = join(import.meta.dirname, '../../docs');

test('/llms.txt lists the guides, and each is the text of its page', async () => {
  const index = await fetch(`${app.url}/llms.txt`);
  expect(index.headers.get('content-type')).toBe('text/plain; charset=utf-8');
  const text = await index.text();
  expect(text).toMatch(/^# Posthorn\n\n> /);
  const links = [...text.matchAll(/\]\((\S+\/docs\/guides\/(\S+))\): (.+)/g)];
  expect(links.length).toBeGreaterThan(40);
  for (const name of ['agents.md', 'filters.md', 'how-to/retries.md'])
    expect(links.map(([, , page]) => page)).toContain(name);
  for (const [, url = '', name = '', summary = ''] of links) {
    expect([name, summary.length > 10]).toEqual([name, true]);
    expect(await (await fetch(url)).text()).toBe(readFileSync(join(DOCS, name), 'utf8'));
  }
});

test.each(['style.md', 'adr/0001-postgresql-only-and-embedded.md', '..%2Fpackage.json', 'no-such.md', ''])(
  'the page %j is not served',
  async (name) => {
    const answer = await fetch(`${app.url}/docs/guides/${name}`);
    expect(answer.status).toBe(404);
  },
);
