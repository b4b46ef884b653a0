import { expect, test } from 'vitest';
import { readShapes } from '../../src/store/cells/copy-rows.ts';
import { registry } from '../../src/store/cells/registry.ts';
import { createTestDatabase } from '../support/database.ts';
import { shared } from '../support/shared.ts';

const database = await shared(createTestDatabase());

test('every table of the schema says how it travels when a project moves', async () => {
  const shapes = await readShapes(database.open());
  expect(Object.keys(registry).toSorted()).toEqual([...shapes.keys()].toSorted());
});

test('columns that do not travel as they are exist, and the history is chunked along an index', async () => {
  const shapes = await readShapes(database.open());
  for (const [table, travel] of Object.entries(registry)) {
    const { columns, key } = shapes.get(table) ?? { columns: [], key: [] };
    if (travel.how === 'switch')
      expect(columns).toEqual(expect.arrayContaining(Object.keys(travel.columns ?? {})));
    if (travel.how !== 'history') continue;
    expect(columns, table).toContain('project_id');
    expect(key.length, table).toBeGreaterThan(0);
    const indexes = await database.query('select indexdef from pg_indexes where tablename = $1', [table]);
    expect(indexes.map((row) => String(row['indexdef'])).join('\n'), table).toContain(
      `(project_id, ${travel.by}`,
    );
  }
});

test('a table that says whose rows it has is not left out', async () => {
  const shapes = await readShapes(database.open());
  /** Written by nodes for themselves, or of people. */
  const left = new Set(['broker_status', 'source_leases', 'memberships', 'project_moves']);
  for (const [table, { columns }] of shapes)
    if (columns.includes('project_id') && !left.has(table))
      expect(registry[table]?.how, table).not.toBe('stays');
});
