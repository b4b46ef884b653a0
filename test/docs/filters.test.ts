import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { compileFilter } from '../../src/matcher/filter.ts';
import { FilterSubject } from '../../src/matcher/filter-subject.ts';

const page = readFileSync(join(import.meta.dirname, '../../docs/filters.md'), 'utf8');
const tables = page.split(/^(?=\|filter on the )/m).slice(1);
const rows = tables.flatMap((table) => {
  const scope = /^\|filter on the (\w+)/.exec(table)?.[1] ?? '';
  const cells = table.matchAll(/^\|`(.+?)`\|`(.+?)`\|`(.+?)`\|$/gm);
  return [...cells].map(([, filter = '', yes = '', no = '']) => ({ scope, filter, yes, no }));
});

function subject(scope: string, given: string): FilterSubject {
  return new FilterSubject({
    body: scope === 'body' ? (JSON.parse(given) as unknown) : {},
    headers: scope === 'headers' ? (JSON.parse(given) as Record<string, string[]>) : {},
    query: scope === 'query' ? given : '',
    path: scope === 'path' ? given : '',
  });
}

test('docs/filters.md has examples for every operator and part', () => {
  expect(new Set(rows.map(({ scope }) => scope))).toEqual(new Set(['body', 'headers', 'query', 'path']));
  const operators = [
    '$eq',
    '$neq',
    '$gt',
    '$gte',
    '$lt',
    '$lte',
    '$in',
    '$nin',
    '$regex',
    '$exist',
    '$or',
    '$and',
  ];
  const shown = rows.map(({ filter }) => filter).join(' ');
  expect(operators.filter((operator) => !shown.includes(`"${operator}"`))).toEqual([]);
  const lines = page.match(/^\|`/gm)?.length ?? 0;
  const calls = page.match(/^\|`(GET|POST)/gm)?.length ?? 0;
  expect(rows).toHaveLength(lines - calls);
});

test.each(rows)(
  '$scope $filter takes $yes and not $no, as docs/filters.md says',
  ({ scope, filter, yes, no }) => {
    const compiled = compileFilter({ [scope]: JSON.parse(filter) as unknown });
    if (!compiled.ok) throw new Error(compiled.message);
    expect(compiled.filter.matches(subject(scope, yes))).toBe(true);
    expect(compiled.filter.matches(subject(scope, no))).toBe(false);
  },
);
