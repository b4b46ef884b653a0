import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';

const ROOT = join(import.meta.dirname, '../..');
const page = readFileSync(join(ROOT, 'docs/log.md'), 'utf8');

it('docs/log.md explains only messages that the program logs', () => {
  const program = globSync('src/**/*.ts', { cwd: ROOT })
    .map((path) => readFileSync(join(ROOT, path), 'utf8'))
    .join('\n');
  const [table = ''] = page.slice(page.indexOf('|message|')).split(/^#/m);
  const messages = [...table.matchAll(/^\|(`.*?`)\|/gm)].flatMap(([, cell = '']) => cell.split(', '));
  const texts = messages.map((message) => message.replaceAll('`', ''));
  expect(texts.length).toBeGreaterThan(20);
  expect(texts.filter((text) => !program.includes(`'${text}'`))).toEqual([]);
});
