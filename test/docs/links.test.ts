import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';

const ROOT = join(import.meta.dirname, '../..');
const pages = globSync(['*.md', 'client/*.md', 'model/*.md', 'migrations/*.md', 'docs/**/*.md'], {
  cwd: ROOT,
});
const withoutCode = (page: string): string =>
  readFileSync(join(ROOT, page), 'utf8').replaceAll(/^```.*?^```$/gms, '');

/** The anchor of a heading as Markdown viewers make it. */
const anchor = (heading: string): string =>
  heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
    .trim()
    .replaceAll(' ', '-');

const anchorsOf = (page: string): string[] =>
  [...withoutCode(page).matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) => anchor(heading));

function brokenLinks(page: string): string[] {
  const links = [...withoutCode(page).matchAll(/\]\(([^)\s]+)\)/g)].map(([, link = '']) => link);
  return links.filter((link) => {
    if (/^[a-z]+:/.test(link)) return false;
    const [path = '', fragment] = link.split('#');
    const target = path === '' ? page : join(dirname(page), path);
    if (!existsSync(join(ROOT, target))) return true;
    return fragment !== undefined && !anchorsOf(target).includes(fragment);
  });
}

it('the pages are found', () => {
  expect(pages).toContain('README.md');
  expect(pages.filter((page) => page.startsWith('docs/adr/')).length).toBeGreaterThan(5);
});

describe.each(pages)('%s', (page) => {
  it('has no broken link to a file or heading', () => {
    expect(brokenLinks(page)).toEqual([]);
  });

  it('names no missing file', () => {
    const named = [
      ...withoutCode(page).matchAll(/`((?:src|test|scripts|migrations|bench|docs)\/[\w./-]*)`/g),
    ].map(([, path = '']) => path);
    const examples = new Set(['src/api/x/x.ts', 'src/control/x-changes.ts', 'migrations/NNNN_name.sql']);
    expect(named.filter((path) => !examples.has(path) && !existsSync(join(ROOT, path)))).toEqual([]);
  });
});

it('README.md names every page of docs', () => {
  const readme = readFileSync(join(ROOT, 'README.md'), 'utf8');
  const unnamed = globSync(['docs/*.md', 'docs/how-to/*.md'], { cwd: ROOT }).filter(
    (page) => !readme.includes(`](${page})`),
  );
  expect(unnamed).toEqual([]);
});

it('ARCHITECTURE.md has every folder of src', () => {
  const architecture = readFileSync(join(ROOT, 'ARCHITECTURE.md'), 'utf8');
  const folders = globSync('src/*/', { cwd: ROOT }).map((folder) => `\`${folder.replace(/\/?$/, '/')}\``);
  expect(folders.length).toBeGreaterThan(8);
  expect(folders.filter((folder) => !architecture.includes(folder))).toEqual([]);
});
