import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';

const ROOT = join(import.meta.dirname, '../..');
const page = readFileSync(join(ROOT, 'docs/compatibility.md'), 'utf8');

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

/** The file below test or src, and the title of the test if the cell has one. */
function namedTest(cell: string): { path: string | undefined; title: string | undefined } {
  const [name, title] = cell.replaceAll('`', '').split(/: (.*)/, 2);
  const path = [`test/${name}.test.ts`, `src/${name}.test.ts`].find((file) => existsSync(join(ROOT, file)));
  return { path, title };
}

it('each difference in docs/compatibility.md says why and names a test that exists', () => {
  const rows = [...page.matchAll(/^\| (.*) \|$/gm)]
    .map(([, cells = '']) => cells.split(' | '))
    .filter(([first]) => first !== 'difference' && first !== '---');
  expect(rows.length).toBeGreaterThan(50);
  for (const [difference, why = '', test = ''] of rows) {
    const { path } = namedTest(test);
    expect([difference, why.length > 5, path !== undefined]).toEqual([difference, true, true]);
  }
});

it('each difference of brokers names its test, which is there', () => {
  const [, section = ''] = page.split('### Brokers\n');
  const rows = [...(section.split('\n### ')[0] ?? '').matchAll(/^\| ([^-].*) \|$/gm)].slice(1);
  expect(rows.length).toBeGreaterThan(20);
  const missing = rows.filter(([, cells = '']) => {
    const { path, title } = namedTest(cells.split(' | ')[2] ?? '');
    if (path === undefined) return true;
    const text = readFileSync(join(ROOT, path), 'utf8');
    const tests = text.includes("from './conformance.ts'")
      ? text + readFileSync(join(ROOT, 'test/brokers/conformance.ts'), 'utf8')
      : text;
    return title === undefined || !tests.includes(title);
  });
  expect(missing.map(([row]) => row)).toEqual([]);
});

it('each recommendation in docs/standards.md has settings and a test that exist', () => {
  const standards = readFileSync(join(ROOT, 'docs/standards.md'), 'utf8');
  const rows = [...standards.matchAll(/^\| (.*) \|$/gm)]
    .slice(2)
    .map(([, cells = '']) => cells.split(/ *\| */));
  expect(rows.length).toBeGreaterThan(12);
  const known = ['settings', 'config']
    .map((name) => readFileSync(join(ROOT, `docs/${name}.md`), 'utf8'))
    .join('');
  for (const [recommendation, , setting = '', test = ''] of rows) {
    // A link leads to the page of a call.
    const names = setting.startsWith('[') ? [] : setting.split(', ').filter((name) => name !== '');
    const missing = names.filter((name) => !known.includes(`|${name}`));
    expect([recommendation, missing, namedTest(test).path !== undefined]).toEqual([recommendation, [], true]);
  }
});
