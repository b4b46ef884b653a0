import { globSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';

const ROOT = join(import.meta.dirname, '../..');
/** Words that docs/style.md rules out. `nobody` is allowed as the name of a user of the system. */
const RULED_OUT =
  /\b(?:anew|beside|somebody|told|whichever|whoever)\b|(?<!\bas )(?<!\buser )(?<!`)\bnobody\b(?!`)/i;
/** A comment or a sentence of a page that starts with a clause instead of its subject. */
const STARTS_WITH_CLAUSE = /^\s*(?:\/\/|\/?\*+|--|[|-]|\d+\.)?\s*(?:What|Who|Of) /;
/** A comment without a noun for its subject. */
const STARTS_WITHOUT_NOUN =
  /^\s*(?:\/\/|\/?\*+)\s*(?:Those |The same(?:[,.]| (?:again|as|at|by|for|in|of|over|per|under|when|with)\b))/;
const FAULTS = [RULED_OUT, STARTS_WITH_CLAUSE, STARTS_WITHOUT_NOUN];
/** A line of a comment, or the name of a test. */
const PROSE = /^\s*(?:\/\/|\/?\*|-- |(?:test|it|describe)\b.*\(['"`]|\]?\)\(['"`])/;

it('comments and names of tests follow docs/style.md', () => {
  const files = globSync('{src,test,bench,scripts,client/src,web/src}/**/*.{ts,tsx}', { cwd: ROOT });
  expect(files.length).toBeGreaterThan(500);
  const found = files.flatMap((file) =>
    readFileSync(join(ROOT, file), 'utf8')
      .split('\n')
      .map((line, index) => ({ line, place: `${file}:${index + 1}` }))
      .filter(({ line }) => PROSE.test(line) && FAULTS.some((fault) => fault.test(line)))
      .map(({ line, place }) => `${place}: ${line.trim()}`),
  );
  expect(found).toEqual([]);
});

it('pages follow docs/style.md', () => {
  const pages = globSync('{*,docs/**/*,client/*,model/*,migrations/*}.md', { cwd: ROOT }).filter(
    (page) => page !== 'docs/style.md',
  );
  expect(pages.length).toBeGreaterThan(50);
  const found = pages.flatMap((page) =>
    readFileSync(join(ROOT, page), 'utf8')
      .split('\n')
      .flatMap((line, index) =>
        RULED_OUT.test(line) || STARTS_WITH_CLAUSE.test(line) ? [`${page}:${index + 1}: ${line}`] : [],
      ),
  );
  expect(found).toEqual([]);
});

it('the pages stay short enough to read', () => {
  const bytesOf = (pages: string[]) => pages.reduce((sum, page) => sum + statSync(join(ROOT, page)).size, 0);
  const isRecord = (page: string) => page === 'CHANGELOG.md' || page.startsWith('docs/adr/');
  const pages = globSync('{*,docs/**/*}.md', { cwd: ROOT }).filter((page) => !isRecord(page));
  expect(bytesOf(pages)).toBeLessThanOrEqual(274_000);
  expect(bytesOf(globSync('docs/**/*.md', { cwd: ROOT }))).toBeLessThanOrEqual(281_500);
  expect(bytesOf(['ARCHITECTURE.md'])).toBeLessThanOrEqual(12_000);
});
