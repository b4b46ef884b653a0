import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';

const ROOT = join(import.meta.dirname, '../..');
const read = (path: string) => readFileSync(join(ROOT, path), 'utf8');

it('each line of the ASVS table names a test that exists, or a reason', () => {
  const table = /<!-- begin asvs -->([^]*)<!-- end asvs -->/.exec(read('test/people/ASVS.md'))?.[1] ?? '';
  const rows = table.split('\n').filter((line) => /^\| \d/.test(line));
  expect(rows.length).toBeGreaterThan(35);
  const problems = rows.flatMap((row) => {
    const proofs = [...row.matchAll(/`([\w/-]+)`: "([^"]+)"/g)];
    if (proofs.length === 0) return /Does not apply: |Partly: /.test(row) ? [] : [row];
    return proofs.flatMap(([, name = '', title = '']) => {
      const file = [`test/${name}.test.ts`, `src/${name}.test.ts`, `test/${name}.ts`].find((path) =>
        existsSync(join(ROOT, path)),
      );
      return file !== undefined && read(file).includes(title) ? [] : [`${name}: ${title}`];
    });
  });
  expect(problems).toEqual([]);
});
