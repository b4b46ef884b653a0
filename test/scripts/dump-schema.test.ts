import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { dumpSchema } from '../../scripts/dump-schema.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';

const schema = readFileSync(join(import.meta.dirname, '../../schema.sql'), 'utf8');

let migrated: TestDatabase;
let empty: TestDatabase;
beforeAll(async () => {
  migrated = await createTestDatabase();
  empty = await createTestDatabase({ empty: true });
});
afterAll(async () => {
  await migrated.stop();
  await empty.stop();
});

it('schema.sql equals the result of the migrations, without partitions', async () => {
  expect(await dumpSchema((text) => migrated.query(text))).toBe(schema);
});

it('schema.sql run on an empty database creates the same schema', async () => {
  await empty.query(schema);
  expect(await dumpSchema((text) => empty.query(text))).toBe(schema);
});

it('the dump includes generated columns, defaults, checks, functions and triggers', async () => {
  await empty.query(`
    create function touch() returns trigger language plpgsql as $$ begin return new; end $$;
    create table zoo (
      n integer generated always as identity primary key, name text default 'x' check (name <> ''),
      twice integer generated always as (length(name) * 2) stored);
    create trigger zoo_touch before update on zoo for each row execute function touch();`);
  const dump = await dumpSchema((text) => empty.query(text));
  for (const part of [
    'n integer not null generated always as identity',
    "name text default 'x'::text",
    'twice integer generated always as ((length(name) * 2)) stored',
    "CHECK ((name <> ''::text))",
    'FUNCTION public.touch()',
    'CREATE TRIGGER zoo_touch',
  ])
    expect(dump).toContain(part);
});
