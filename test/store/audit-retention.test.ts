import { beforeAll, beforeEach, expect, test } from 'vitest';
import { firstIdAt } from '../../src/domain/ids.ts';
import { removeExpiredAudit } from '../../src/store/upkeep/audit-retention.ts';
import { createTestDatabase, refuseWrites } from '../support/database.ts';
import { shared } from '../support/shared.ts';

const DAY_MS = 86_400_000;
const database = await shared(createTestDatabase());
const db = database.open();

beforeAll(async () => {
  await database.query(
    `insert into projects (id, name, type, logo_url, config) values
     ('short', 'short', 'outgoing', '', '{"retention_policy":{"policy":"24h","retention_policy_enabled":true}}'), ('long', 'long', 'outgoing', '', '{}'),
     ('broken', 'broken', 'outgoing', '', '{"retention_policy":{"policy":"24h","retention_policy_enabled":true}}')`,
  );
  // Entries go by their own age: what is open and needs its event holds none of them back.
  await database.query(
    `insert into delivery_queue (delivery_id, event_id, project_id, key, lane, due_at)
     values ($1, $1, 'short', 'e', 0, now())`,
    [firstIdAt(0)],
  );
});

beforeEach(async () => {
  await database.query('truncate audit_entries');
});

const store = (projectId: string | null, ageDays: number, count: number) =>
  database.query(
    `insert into audit_entries (id, project_id, actor_type, action, resource_type)
     select $1 || lpad(n::text, 15, '0') || $2, $3, 'instance', 'key.created', 'key' from generate_series(1, $4::int) n`,
    [
      firstIdAt(Date.now() - ageDays * DAY_MS).slice(0, 10),
      projectId?.slice(0, 1).toUpperCase() ?? 'I',
      projectId,
      count,
    ],
  );

const failed: string[] = [];
const tidy = () =>
  removeExpiredAudit(
    { db, signal: new AbortController().signal, failed: (projectId) => failed.push(projectId) },
    { nowMs: Date.now(), retentionMs: 10 * DAY_MS },
  );

const left = async () =>
  Object.fromEntries(
    (
      await database.query(
        "select coalesce(project_id, 'instance') as name, count(*)::int as count from audit_entries group by 1",
      )
    ).map(({ name, count }) => [name, count]),
  );

test('entries past the retention are removed in chunks, of every project and of the instance', async () => {
  await store('long', 20, 2_500);
  await store(null, 20, 3);
  await store('gone', 20, 3);
  await store('long', 5, 7);
  await store(null, 5, 2);
  await tidy();
  expect(await left()).toEqual({ long: 7, instance: 2 });
});

test('entries of a project are removed at its own shorter retention, in chunks, those of others stay', async () => {
  await store('short', 2, 2_500);
  await store('short', 0, 4);
  await store('long', 2, 5);
  await store(null, 2, 6);
  await tidy();
  expect(await left()).toEqual({ short: 4, long: 5, instance: 6 });
});

test('a project whose entries cannot be removed keeps those of no other', async () => {
  for (const project of ['broken', 'short']) await store(project, 2, 3);
  const allow = await refuseWrites(database, 'audit_entries', 'broken');
  await tidy();
  expect(await left()).toEqual({ broken: 3 });
  expect(failed).toEqual(['broken']);
  await allow();
  await tidy();
  expect(await left()).toEqual({});
});
