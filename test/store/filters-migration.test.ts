import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';

let database: TestDatabase;

beforeAll(async () => {
  database = await createTestDatabase({ empty: true });
});
afterAll(() => database?.drop());

const apply = async (name: string) =>
  database.query(await readFile(join(import.meta.dirname, '../../migrations', name), 'utf8'));

test('subscriptions made before there were filter records get one per event type', async () => {
  await apply('0001_initial.sql');
  const project = '01ARZ3NDEKTSV4RRFFQ69G5FAV';
  const subscription = '01BX5ZZKBKACTAV9WEVGEMMVRZ';
  await database.query(`insert into projects (id, name, type, config) values ($1, 'p', 'outgoing', '{}')`, [
    project,
  ]);
  await database.query(
    `insert into subscriptions (id, project_id, version, name, type, status, endpoint_id, source_id, event_types,
       filter, function, delivery_mode)
     values ($1, $2, 7, 's', 'api', 'active', 'e', '', '{a,b.*,*}', '{"body": {"x": 1}}', '', 'at_least_once')`,
    [subscription, project],
  );
  await apply('0002_sources_filters_event_types.sql');
  const [row] = await database.query('select filter, filters from subscriptions');
  expect(row?.['filter']).toEqual({ body: { x: 1 } });
  const record = (event_type: string) => ({
    uid: expect.stringMatching(/^01BX5ZZKBK[0-9A-F]{16}$/),
    event_type,
    enabled_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
    own: {},
  });
  expect(row?.['filters']).toEqual([record('a'), record('b.*'), record('*')]);
  const types = await database.query('select project_id, name from event_types order by name');
  expect(types).toEqual([
    { project_id: project, name: '*' },
    { project_id: project, name: 'a' },
  ]);
});
