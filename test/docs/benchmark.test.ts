import { readdir, readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';

const root = new URL('../../', import.meta.url);
const text = (path: string) => readFile(new URL(path, root), 'utf8');

async function figureSources(): Promise<string[]> {
  const names = await readdir(new URL('bench/figures/', root));
  return Promise.all(names.map((name) => text(`bench/figures/${name}`)));
}

test('docs/benchmark.md describes each figure and the result of one run', async () => {
  const page = await text('docs/benchmark.md');
  const figures = (await figureSources()).join('\n').matchAll(/\n {2}name: '(?<name>\w+)'/g);
  const names = [...figures].map(({ groups }) => groups?.['name'] as string);
  expect(names).toContain('end_to_end');
  const isShown = (name: string) =>
    new RegExp(`\\n\\|\`${name}\`[^|]*\\|[^|]+\\|[^|]*\\d[^|]*\\|\\n`).test(page);
  expect(names.filter((name) => !isShown(name))).toEqual([]);
});

test('every figure has a goal', async () => {
  const goals = await text('bench/report/goals.ts');
  const names = [...(await figureSources()).join('\n').matchAll(/\n {2}name: '(?<name>\w+)'/g)];
  expect(
    names.map(({ groups }) => groups?.['name']).filter((name) => !goals.includes(`('${name}')`)),
  ).toEqual([]);
});

test('docs/benchmark.md has every goal with what was asked and measured', async () => {
  const [page, goals] = await Promise.all([text('docs/benchmark.md'), text('bench/report/goals.ts')]);
  const names = [...goals.matchAll(/name: (['"])(?<name>(?!\w+:)[^`]+?)\1,/g)].map(
    ({ groups }) => groups?.['name'],
  );
  const isLong = /^(full tables|soak)/;
  const asked = names.filter((name): name is string => name !== undefined && !isLong.test(name));
  expect(asked.length).toBeGreaterThan(10);
  expect(asked.filter((name) => !page.includes(`\n|${name}|`))).toEqual([]);
});
