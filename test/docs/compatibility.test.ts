import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { differences } from '../../scripts/differences.ts';

const ROOT = join(import.meta.dirname, '../..');

it('every operation documents its refusals', () => {
  const { paths, components } = JSON.parse(readFileSync(join(ROOT, 'openapi.json'), 'utf8')) as {
    paths: Record<string, Record<string, { responses: Record<string, { content: unknown }> }>>;
    components: { schemas: Record<string, object> };
  };
  const refusal = { 'application/json': { schema: { $ref: '#/components/schemas/Refusal' } } };
  const silent = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods)
      .filter(
        ([, { responses }]) => JSON.stringify(responses['default']?.content) !== JSON.stringify(refusal),
      )
      .map(([method]) => `${method} ${path}`),
  );
  expect(silent.filter((operation) => !operation.includes('/ingest/'))).toEqual([]);
  expect(components.schemas['Refusal']).toMatchObject({ required: ['status', 'message', 'code'] });
});

it('each difference from Convoy stands above its test and says why', () => {
  const all = differences();
  expect(all.length).toBeGreaterThan(90);
  expect(new Set(all.map(({ section }) => section)).size).toBe(7);
  const wrong = all.filter(({ text, isAboveTest }) => !isAboveTest || text.split(/[.;:,] /).length < 2);
  expect(wrong.map(({ at }) => at)).toEqual([]);
});

const isTest = (name: string): boolean =>
  [`test/${name}.test.ts`, `src/${name}.test.ts`].some((file) => existsSync(join(ROOT, file)));

it('each recommendation in docs/standards.md has settings and a test that exist', () => {
  const standards = readFileSync(join(ROOT, 'docs/standards.md'), 'utf8');
  const rows = [...standards.matchAll(/^\|(.*)\|$/gm)].slice(2).map(([, cells = '']) => cells.split('|'));
  expect(rows.length).toBeGreaterThan(12);
  const known = ['settings', 'config']
    .map((name) => readFileSync(join(ROOT, `docs/${name}.md`), 'utf8'))
    .join('');
  for (const [recommendation, , setting = '', test = ''] of rows) {
    // A link leads to the page of a call.
    const names = setting.startsWith('[') ? [] : setting.split(', ').filter((name) => name !== '');
    const missing = names.filter((name) => !known.includes(`|${name}`));
    expect([recommendation, missing, isTest(test.replaceAll('`', ''))]).toEqual([recommendation, [], true]);
  }
});
