import { expect, test } from 'vitest';
import { Parameters } from './parameters.ts';

interface Row {
  id: string;
  name: string | null;
  body: Buffer | null;
  head: string | null;
  at: number;
  parts: string[];
}

function statement() {
  const parameters = new Parameters<{ rows: Row[]; nodeId: string }>();
  const rows = parameters.rows(
    (batch) => batch.rows,
    [
      ['id', 'id', (row) => row.id],
      ['body', 'bytes', (row) => row.body],
      ['name', 'text', (row) => row.name],
      ['head', 'packed text', (row) => row.head],
      ['at', 'time', (row) => row.at],
      ['parts', 'ids', (row) => row.parts],
    ],
  );
  return { parameters, rows, nodeId: parameters.one('text', (batch) => batch.nodeId) };
}

const row: Row = { id: 'A', name: 'a "b"', body: Buffer.from('bytes'), head: 'é', at: 5, parts: ['X', 'Y'] };

test('places are numbered in the order of the declarations and carry their types', () => {
  const { rows, nodeId } = statement();
  expect(rows.as('r', ['name', 'id'])).toBe('unnest($2::text[], $1::text[]) as r(name, id)');
  expect(rows.as('r')).toBe(
    'unnest($1::text[], $6::int[], $7::int[], $2::text[], $8::int[], $9::int[], $3::float8[], $4::text[]) ' +
      'as r(id, body_from, body_length, name, head_from, head_length, at, parts)',
  );
  expect(rows.numbered('r', 'n', ['id'])).toBe('unnest($1::text[]) with ordinality as r(id, n)');
  expect(nodeId).toBe('$10::text');
});

test('the columns of a table and what is stored in them are in the same order', () => {
  const { rows } = statement();
  expect(rows.names()).toBe('id, body, name, head, at, parts');
  expect(rows.stored({ id: 'upper(id)' })).toBe(
    'upper(id), case when body_length >= 0 then substring($5::bytea from body_from for body_length) end, name, ' +
      "case when head_length >= 0 then convert_from(substring($5::bytea from head_from for head_length), 'UTF8') end, " +
      'to_timestamp(at / 1000), parts::text[]',
  );
  expect(rows.stored({}, ['name', 'id'])).toBe('name, id');
  expect(rows.value('at', 'r')).toBe('to_timestamp(r.at / 1000)');
});

test('values stand at their places', () => {
  const { parameters } = statement();
  const other: Row = { ...row, id: 'B', name: null, body: null, head: 'h', parts: [] };
  expect(parameters.values({ rows: [row, other], nodeId: 'n' })).toEqual([
    '{A,B}',
    ['a "b"', null],
    '{5,5}',
    ['{X,Y}', '{}'],
    Buffer.from('byteséh'),
    '{1,6}',
    '{5,-1}',
    '{6,8}',
    '{2,1}',
    'n',
  ]);
});

test('a column that was not declared is an error when the statement is built', () => {
  expect(() => statement().rows.as('r', ['nmae'])).toThrow('no column nmae');
});
