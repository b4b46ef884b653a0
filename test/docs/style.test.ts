import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';

const ROOT = join(import.meta.dirname, '../..');
/** Words that docs/style.md rules out. `nobody` is allowed as the name of a user of the system. */
const RULED_OUT =
  /\b(?:anew|beside|somebody|told|whichever|whoever)\b|(?<!\bas )(?<!\buser )(?<!`)\bnobody\b(?!`)/i;
/** A line of a comment, or the name of a test. */
const PROSE = /^\s*(?:\/\/|\/?\*|-- |(?:test|it|describe)\b.*\(['"`]|\]?\)\(['"`])/;

it('comments and names of tests follow docs/style.md', () => {
  const files = globSync('{src,test,bench,scripts,web/src}/**/*.{ts,tsx}', { cwd: ROOT });
  expect(files.length).toBeGreaterThan(500);
  const found = files.flatMap((file) =>
    readFileSync(join(ROOT, file), 'utf8')
      .split('\n')
      .map((line, index) => ({ line, place: `${file}:${index + 1}` }))
      .filter(({ line }) => PROSE.test(line) && RULED_OUT.test(line))
      .map(({ line, place }) => `${place}: ${line.trim()}`),
  );
  expect(found).toEqual([]);
});

it('pages follow docs/style.md', () => {
  const pages = globSync('{*,docs/**/*,client/*}.md', { cwd: ROOT }).filter(
    (page) => page !== 'docs/style.md',
  );
  expect(pages.length).toBeGreaterThan(50);
  const found = pages.flatMap((page) =>
    readFileSync(join(ROOT, page), 'utf8')
      .split('\n')
      .flatMap((line, index) => (RULED_OUT.test(line) ? [`${page}:${index + 1}: ${line}`] : [])),
  );
  expect(found).toEqual([]);
});
