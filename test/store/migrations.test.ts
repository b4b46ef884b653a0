import { createHash } from 'node:crypto';
import { globSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { CONTRACT, EXPAND, REBUILD } from '../support/samples/made-up-migrations.ts';
import { brokenRules } from './migration-rules.ts';

const ROOT = join(import.meta.dirname, '../..');
const files = globSync('migrations/*.sql', { cwd: ROOT })
  .map((path) => basename(path))
  .toSorted();
const read = (name: string): string => readFileSync(join(ROOT, 'migrations', name), 'utf8');

/** It makes the schema: no node can be at work while it runs, so its locks hold up nothing. */
const FIRST = '0001_schema.sql';

describe.each(files)('%s', (name) => {
  it('does nothing that the nodes at work while it runs could not live with', () => {
    expect(brokenRules(read(name), name)).toEqual([]);
  });

  it('says which locks it takes', () => {
    const comment = /^(?:--.*\n)+/.exec(read(name))?.[0] ?? '';
    if (name !== FIRST) expect(comment).toMatch(/\block/i);
  });
});

/** Databases have these files applied, so another text would never reach them. A release adds its own. */
const RELEASED: Record<string, string> = {
  '0001_schema.sql': 'c82cc815e9435eb304cef07d2ba4763cd652d52bb0e001d62108ab43b3389e6c',
};

it.each(Object.entries(RELEASED))('%s is as it was released', (name, sha256) => {
  expect(
    createHash('sha256').update(read(name)).digest('hex'),
    `${name} has been released, and databases that have it do not run it again. Undo the edit and write a new migration (migrations/README.md).`,
  ).toBe(sha256);
});

it('every migration in the backup of a release is among them', () => {
  const backups = globSync('test/releases/*.backup.gz', { cwd: ROOT });
  expect(backups).not.toEqual([]);
  for (const backup of backups) {
    const [header = ''] = gunzipSync(readFileSync(join(ROOT, backup)))
      .toString()
      .split('\n', 1);
    expect(Object.keys(RELEASED), backup).toEqual(
      expect.arrayContaining((JSON.parse(header) as { schema: string[] }).schema),
    );
  }
});

it('the made-up migrations of other tests keep the rules', () => {
  expect([EXPAND, CONTRACT].flatMap((sql) => brokenRules(sql))).toEqual([]);
  expect(brokenRules(REBUILD, '9999_rebuild.sql')).toEqual([]);
});

it('the migrations are numbered without repeating a number', () => {
  const numbers = files.map((name) => /^(\d{4})_[a-z0-9_]+\.sql$/.exec(name)?.[1]);
  expect(numbers).not.toContain(undefined);
  expect(new Set(numbers).size).toBe(files.length);
});

describe('the rules forbid', () => {
  it.each([
    ['drop table jobs', 'takes away'],
    ['alter table jobs drop column cursor', 'takes away'],
    ['ALTER TABLE jobs\n  RENAME COLUMN cursor TO place', 'takes away'],
    ['alter table jobs rename to works', 'takes away'],
    ['drop index events_list', 'takes away'],
    ['alter table jobs add column a text not null', 'refuses'],
    ["alter table jobs add column a text not null default '', add column b text not null", 'refuses'],
    ['alter table jobs alter column total set not null', 'refuses'],
    ['alter table events add constraint one check (id <> $$x$$)', 'refuses'],
    ['alter table jobs alter column total type text', 'rewrites'],
    ['alter table jobs alter column total set data type text', 'rewrites'],
    ['alter table events add column at timestamptz default clock_timestamp()', 'rewrites'],
    ['alter table events add column a text generated always as (id) stored', 'rewrites'],
    ['create index events_type on events (event_type)', 'builds an index'],
    ['create unique index on event_keys (event_id)', 'builds an index'],
    ['-- needs: 0011\nalter table events add primary key (project_id, id)', 'builds an index'],
    ["update event_deliveries set status = 'x'", 'changes the rows'],
    ["delete from events where id < 'x'", 'changes the rows'],
    ['truncate delivery_queue', 'changes the rows'],
    ['lock table events', 'locks by itself'],
    ['create table x (id bigserial primary key)', 'makes a sequence'],
    ['create table x (id bigint generated always as identity)', 'makes a sequence'],
  ])('%s', (statement, rule) => {
    expect(brokenRules(`-- a comment; drop table x\n${statement};`, '0012_next.sql').join()).toContain(rule);
  });

  it.each([
    'create table x (id text primary key, at timestamptz not null default now()); create index on x (at)',
    'alter table events add column a text',
    "alter table delivery_queue add column a text not null default 'x', add column b boolean not null default false",
    'create index events_a on only events (a)',
    "update projects set name = name || '!'",
    '-- needs: 0011\ndrop table jobs; alter table events drop column target',
  ])('but not %s', (sql) => {
    expect(brokenRules(sql)).toEqual([]);
  });

  it('no index where the migration needs nodes that know itself, so that none is at work', () => {
    const sql = '-- needs: 0012\nalter table events add primary key (project_id, id)';
    expect(brokenRules(sql, '0012_next.sql')).toEqual([]);
    expect(brokenRules(sql, '0013_next.sql')).toHaveLength(1);
  });

  it('a rewrite also in a migration that says which nodes it needs', () => {
    expect(brokenRules('-- needs: 0011\nalter table jobs alter column total type text')).toHaveLength(1);
  });
});
