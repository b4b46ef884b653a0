import { expect, test } from 'vitest';
import { firstIdAt, idTime } from '../../src/domain/ids.ts';
import { removeTemplates, removeTemplatesOfProject } from '../../src/store/upkeep/expired-templates.ts';
import { ensurePartitions, partitionBounds } from '../../src/store/upkeep/partitions.ts';
import { removeLeftovers } from '../../src/store/upkeep/remove-leftovers.ts';
import { createTestDatabase, refuseWrites } from '../support/database.ts';
import { shared } from '../support/shared.ts';

const DAY_MS = 86_400_000;
const RETENTION_DAYS = 10;
const CONFIG_DAYS = 30;
const database = await shared(createTestDatabase());
const db = database.open();

const tidy = () =>
  removeLeftovers(
    db,
    { retentionMs: Date.now() - RETENTION_DAYS * DAY_MS, configMs: Date.now() - CONFIG_DAYS * DAY_MS },
    new AbortController().signal,
  );

/** Fills a row up: columns that must have a value and were not given one get an empty one. */
async function insert(table: string, row: Record<string, unknown>): Promise<void> {
  const columns = await database.query(
    `select column_name as name, udt_name as type from information_schema.columns
     where table_name = $1 and is_nullable = 'NO' and column_default is null`,
    [table],
  );
  const empty: Record<string, unknown> = {
    bool: false,
    json: '{}',
    jsonb: '{}',
    _text: '{}',
    _int2: '{}',
    _int4: '{}',
    timestamptz: new Date(),
  };
  const filled: Record<string, unknown> = {};
  for (const { name, type } of columns)
    filled[name as string] = empty[type as string] ?? (/^(int|float)/.test(type as string) ? 0 : '');
  Object.assign(filled, row);
  const names = Object.keys(filled);
  await database.query(
    `insert into ${table} (${names.join(', ')}) values (${names.map((_, n) => `$${n + 1}`).join(', ')})`,
    Object.values(filled),
  );
}

const daysAgo = (days: number) => new Date(Date.now() - days * DAY_MS);
const secondsAt = (days: number) => daysAgo(days).getTime() / 1000;
const left = async (table: string, key: string) =>
  (await database.query(`select ${key} as key from ${table} order by 1`)).map((row) => String(row['key']));

/** The key of each table, with rows that go and rows that stay. */
const cases: [table: string, key: string, rows: { goes: object[]; stays: object[] }][] = [
  [
    'endpoint_totals',
    'endpoint_id',
    { goes: [{ endpoint_id: 'of none' }], stays: [{ endpoint_id: 'deleted lately' }] },
  ],
  [
    'traffic',
    'subject_id',
    {
      goes: [
        { subject_id: 'old hour', step: 60, start: daysAgo(11) },
        { subject_id: 'old minute', step: 1, start: daysAgo(3) },
      ],
      stays: [
        { subject_id: 'young hour', step: 60, start: daysAgo(9) },
        { subject_id: 'young minute', step: 1, start: daysAgo(1) },
      ],
    },
  ],
  [
    'alert_failures',
    'subscription_id',
    {
      goes: [{ subscription_id: 'old', at: daysAgo(11) }],
      stays: [{ subscription_id: 'young', at: daysAgo(9) }],
    },
  ],
  [
    'alerts',
    'subject_id',
    {
      goes: [
        { subject_id: 'cleared', raised_at: daysAgo(12), cleared_at: daysAgo(11) },
        { subject_id: 'of a deleted endpoint', raised_at: daysAgo(12) },
        { subject_id: 'deleted server AB:CD', kind: 'certificate', raised_at: daysAgo(12) },
        { subject_id: 'deleted ordering', kind: 'ordering', raised_at: daysAgo(12) },
      ],
      stays: [
        { subject_id: 'live', kind: 'cleared lately', raised_at: daysAgo(12), cleared_at: daysAgo(9) },
        { subject_id: 'live', raised_at: daysAgo(12) },
        { subject_id: 'live server AB:CD', kind: 'certificate', raised_at: daysAgo(12) },
      ],
    },
  ],
  [
    'endpoint_breakers',
    'endpoint_id',
    {
      goes: [
        { endpoint_id: 'closed', state: 'closed', changed_at: daysAgo(11) },
        { endpoint_id: 'of a deleted endpoint', state: 'open', changed_at: daysAgo(11) },
      ],
      stays: [
        { endpoint_id: 'closed lately', state: 'closed', changed_at: daysAgo(9) },
        { endpoint_id: 'live', state: 'open', changed_at: daysAgo(11) },
      ],
    },
  ],
  [
    'jobs',
    'id',
    {
      goes: [{ id: 'ended', status: 'completed', finished_at: daysAgo(11) }],
      stays: [
        { id: 'ended lately', status: 'completed', finished_at: daysAgo(9) },
        { id: 'running', status: 'running' },
      ],
    },
  ],
  [
    'api_keys',
    'id',
    {
      goes: [{ id: 'revoked', hash: 'a', revoked_at: daysAgo(11) }],
      stays: [
        { id: 'revoked lately', hash: 'b', revoked_at: daysAgo(9) },
        { id: 'expired', hash: 'c', expires_at: daysAgo(99) },
        { id: 'live', hash: 'd' },
      ],
    },
  ],
  [
    'portal_links',
    'id',
    {
      goes: [{ id: 'revoked', token_hash: 'a', deleted_at: daysAgo(11) }],
      stays: [
        { id: 'revoked lately', token_hash: 'b', deleted_at: daysAgo(9) },
        { id: 'live', token_hash: 'c' },
      ],
    },
  ],
  [
    'portal_tokens',
    "convert_from(hash, 'UTF8')",
    {
      goes: [
        { hash: 'expired', portal_link_id: 'live', expires_at: daysAgo(0.1) },
        { hash: 'of a removed link', portal_link_id: 'none', expires_at: daysAgo(-1) },
      ],
      stays: [{ hash: 'good', portal_link_id: 'live', expires_at: daysAgo(-1) }],
    },
  ],
  [
    'broker_messages',
    'message_id',
    {
      goes: [{ message_id: 'old', expires_at: daysAgo(1) }],
      stays: [{ message_id: 'new', expires_at: daysAgo(-1) }],
    },
  ],
  [
    'broker_status',
    'node_id',
    {
      goes: [{ node_id: 'gone', updated_at: daysAgo(2) }],
      stays: [{ node_id: 'there', updated_at: daysAgo(0) }],
    },
  ],
  [
    'source_leases',
    'source_id',
    {
      goes: [{ source_id: 'gone', leased_until: daysAgo(2) }],
      stays: [{ source_id: 'there', leased_until: daysAgo(0) }],
    },
  ],
  [
    'change_stream_slots',
    'id',
    {
      goes: [{ id: 'never dropped', tries: 1_001 }],
      stays: [{ id: 'used' }],
    },
  ],
  [
    'broker_positions',
    'stream',
    {
      goes: [{ stream: 'none', source_id: 'no such source' }],
      stays: [{ stream: 'kept', source_id: 'live', updated_at: daysAgo(1_000) }],
    },
  ],
  [
    'intake_windows',
    'key',
    {
      goes: [
        { key: 'over', times: [secondsAt(2), secondsAt(1)], seconds: 3600 },
        { key: 'empty', seconds: 3600 },
      ],
      stays: [
        { key: 'long', times: [secondsAt(2), secondsAt(1)], seconds: 90_000 },
        { key: 'now', times: [secondsAt(0)], seconds: 1 },
      ],
    },
  ],
  [
    'rate_leases',
    'endpoint_id',
    {
      goes: [{ endpoint_id: 'free for long', quiet_since: daysAgo(3) }],
      stays: [
        { endpoint_id: 'held', node_id: 'n', quiet_since: daysAgo(3) },
        { endpoint_id: 'free lately', quiet_since: daysAgo(1) },
      ],
    },
  ],
  [
    'expansions',
    'id',
    {
      goes: [{ id: 'of a deleted project', project_id: 'deleted lately' }],
      stays: [{ id: 'live', project_id: 'live' }],
    },
  ],
  [
    'ordering_keys',
    'id',
    {
      goes: [
        { id: 'idle', project_id: 'live', used_at: daysAgo(2) },
        { id: 'of a deleted project', project_id: 'deleted', head_id: 'open' },
      ],
      stays: [
        { id: 'in use', project_id: 'live', used_at: daysAgo(2), head_id: 'open' },
        { id: 'used lately', project_id: 'live', used_at: daysAgo(0) },
      ],
    },
  ],
  [
    'ordered_deliveries',
    'delivery_id',
    {
      goes: [{ delivery_id: 'of a deleted project', project_id: 'deleted' }],
      stays: [{ delivery_id: 'live', project_id: 'live' }],
    },
  ],
  [
    'delayed_events',
    'event_id',
    {
      goes: [
        { event_id: 'due', project_id: 'live', deliver_at: daysAgo(1) },
        { event_id: 'of a deleted project', project_id: 'deleted', deliver_at: daysAgo(-1) },
      ],
      stays: [{ event_id: 'later', project_id: 'live', deliver_at: daysAgo(-1) }],
    },
  ],
  [
    'delivery_expiries',
    'delivery_id',
    {
      goes: [{ delivery_id: 'of a deleted project', project_id: 'deleted' }],
      stays: [{ delivery_id: 'live', project_id: 'live' }],
    },
  ],
  ...['subscriptions', 'endpoints', 'sources'].map((table): (typeof cases)[number] => [
    table,
    'id',
    {
      goes: [
        { id: 'deleted', mask_id: 'a', deleted_at: daysAgo(31) },
        { id: 'of a deleted project', mask_id: 'b', project_id: 'deleted' },
      ],
      stays: [
        { id: 'deleted lately', mask_id: 'c', deleted_at: daysAgo(29) },
        { id: 'live', mask_id: 'd', project_id: 'live' },
        { id: 'of a project deleted lately', mask_id: 'e', project_id: 'deleted lately' },
      ],
    },
  ]),
  [
    'views',
    'id',
    {
      goes: [{ id: 'of a deleted project', project_id: 'deleted' }],
      stays: [{ id: 'live', project_id: 'live' }],
    },
  ],
  [
    'attempt_templates',
    'id',
    { goes: [{ id: 1, project_id: 'deleted' }], stays: [{ id: 2, project_id: 'live' }] },
  ],
  [
    'idempotency_keys',
    'id',
    {
      goes: [{ id: 'of the day before', made_at: daysAgo(1.1) }],
      stays: [{ id: 'of today', made_at: daysAgo(0.9) }],
    },
  ],
  [
    'failure_mutes',
    'id',
    {
      goes: [
        { id: 'over', until: daysAgo(1), endpoint_id: 'a' },
        { id: 'of a deleted project', until: daysAgo(-1), project_id: 'deleted' },
      ],
      stays: [{ id: 'live', until: daysAgo(-1), project_id: 'live' }],
    },
  ],
  [
    'event_types',
    'id',
    {
      goes: [{ id: 'of a deleted project', project_id: 'deleted' }],
      stays: [{ id: 'live', project_id: 'live' }],
    },
  ],
  [
    'projects',
    'id',
    {
      goes: [{ id: 'deleted', name: 'a', deleted_at: daysAgo(31) }],
      stays: [
        { id: 'deleted lately', name: 'a', deleted_at: daysAgo(29) },
        { id: 'deleted with work left', name: 'b', deleted_at: daysAgo(31) },
        { id: 'live', name: 'live' },
      ],
    },
  ],
  [
    'people',
    'id',
    {
      goes: [{ id: 'left', email: 'a', deactivated_at: daysAgo(11) }],
      stays: [
        { id: 'left lately', email: 'b', deactivated_at: daysAgo(9) },
        { id: 'live', email: 'c' },
      ],
    },
  ],
  [
    'memberships',
    'role',
    {
      goes: [
        { role: 'of a deleted project', project_id: 'deleted', person_id: 'live' },
        { role: 'of none', project_id: 'live', person_id: 'left' },
      ],
      stays: [{ role: 'live', project_id: 'live', person_id: 'live' }],
    },
  ],
  [
    'sessions',
    'id',
    {
      goes: [
        { id: 'over', hash: 'a', person_id: 'live', expires_at: daysAgo(0.1) },
        { id: 'of none', hash: 'b', person_id: 'left', expires_at: daysAgo(-1) },
      ],
      stays: [{ id: 'live', hash: 'c', person_id: 'live', expires_at: daysAgo(-1) }],
    },
  ],
  [
    'sign_in_links',
    'purpose',
    {
      goes: [
        { purpose: 'over', hash: 'a', person_id: 'live', expires_at: daysAgo(0.1) },
        { purpose: 'of none', hash: 'b', person_id: 'left', expires_at: daysAgo(-1) },
      ],
      stays: [{ purpose: 'live', hash: 'c', person_id: 'live', expires_at: daysAgo(-1) }],
    },
  ],
  [
    'sign_in_failures',
    'failures',
    {
      goes: [
        { key: 'a', failures: 1, failed_at: daysAgo(2) },
        { key: 'b', failures: 2, failed_at: daysAgo(31), succeeded_at: daysAgo(31) },
      ],
      stays: [
        { key: 'c', failures: 3, failed_at: daysAgo(0.5) },
        { key: 'd', failures: 4, failed_at: daysAgo(29), succeeded_at: daysAgo(29) },
      ],
    },
  ],
  [
    'identities',
    'subject',
    {
      goes: [{ issuer: 'i', subject: 'of none', person_id: 'left' }],
      stays: [{ issuer: 'i', subject: 'live', person_id: 'live' }],
    },
  ],
];

test('unneeded rows are removed, and all others stay', async () => {
  await insert('delivery_queue', { delivery_id: 'd', project_id: 'deleted with work left' });
  for (const [table, , { goes, stays }] of cases)
    for (const given of [...goes, ...stays]) {
      const row: Record<string, unknown> = { ...given };
      if (table !== 'sources') delete row['mask_id'];
      await insert(table, row);
    }
  await tidy();
  for (const [table, key, { stays }] of cases) {
    const named = key.includes('hash') ? 'hash' : key;
    const expected = stays.map((row) => String((row as Record<string, unknown>)[named])).toSorted();
    expect([table, (await left(table, key)).toSorted()]).toEqual([table, expected]);
  }
  expect(await left('delivery_queue', 'delivery_id')).toEqual(['d']);
});

test('more than a chunk is removed at once, and a locked row is left for the next run', async () => {
  await database.query(
    `insert into alert_failures select 'many', now() - n * interval '1 minute' - interval '11 days', 'p', 1
     from generate_series(1, 2500) n`,
  );
  await database.query(
    'begin; select from alert_failures where subscription_id = $$many$$ order by at limit 1 for update',
  );
  await tidy();
  await database.query('commit');
  expect(await left('alert_failures', 'subscription_id')).toEqual(['many', 'young']);
  await tidy();
  expect(await left('alert_failures', 'subscription_id')).toEqual(['young']);
});

test('templates of attempts go two days before the deliveries that are left', async () => {
  await database.query('truncate attempt_templates');
  const nowMs = Date.now();
  const old = nowMs - 40 * DAY_MS;
  for (const ms of [old, nowMs - RETENTION_DAYS * DAY_MS]) await ensurePartitions(db, ms, DAY_MS);
  const expired = firstIdAt(nowMs - RETENTION_DAYS * DAY_MS);
  const bounds = (await partitionBounds(db)).filter(({ table }) => table === 'event_deliveries');
  const young = bounds.find(({ to }) => to > expired)?.from as string;
  const [oldest] = bounds as [(typeof bounds)[number]];
  const at = (id: string, days: number) => new Date(idTime(id) + days * DAY_MS).toISOString();
  const made: [string, number, string][] = [
    ['p', 1, at(oldest.from, -2.1)],
    ['p', 2, at(oldest.from, -1.9)],
    ['q', 3, at(oldest.from, -1.9)],
    ['q', 4, at(young, -2.1)],
    ['q', 5, at(young, -1.9)],
    ['own', 6, at(expired, 2.9)],
    ['own', 7, at(expired, 3.1)],
  ];
  for (const [project_id, id, made_at] of made)
    await insert('attempt_templates', { project_id, id, made_at, slots: '[]' });
  // An expired partition still has a delivery of p.
  await insert('event_deliveries', { project_id: 'p', id: oldest.from, event_id: 'e', endpoint_id: 'e' });
  const { signal } = new AbortController();
  await removeTemplates(db, expired, signal);
  expect(await left('attempt_templates', 'id')).toEqual(['2', '5', '6', '7']);
  const below = firstIdAt(idTime(expired) + 5 * DAY_MS);
  await removeTemplatesOfProject(db, { projectId: 'own', below }, signal);
  expect(await left('attempt_templates', 'id')).toEqual(['2', '5', '7']);
  await removeTemplatesOfProject(db, { projectId: 'p', below }, signal);
  expect(await left('attempt_templates', 'id')).toEqual(['2', '5', '7']);
  // While the partition is detached its deliveries may come back.
  await db.query(`alter table event_deliveries detach partition ${oldest.name} concurrently`);
  await removeTemplates(db, expired, signal);
  expect(await left('attempt_templates', 'id')).toEqual(['2', '5', '7']);
  await db.query(`drop table ${oldest.name}`);
  await removeTemplates(db, expired, signal);
  expect(await left('attempt_templates', 'id')).toEqual(['5', '7']);
});

test('a table that cannot be cleaned up keeps no other as it is', async () => {
  await insert('traffic', { subject_id: 'stuck', step: 1, start: daysAgo(3) });
  await insert('sessions', { id: 'over', expires_at: daysAgo(1) });
  const allow = await refuseWrites(database, 'traffic');
  const error: unknown = await tidy().catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({ errors: [{ message: 'refused' }] });
  expect(await left('sessions', 'id')).not.toContain('over');
  await allow();
  await tidy();
  expect(await left('traffic', 'subject_id')).not.toContain('stuck');
});

test('every table is either cleaned up or known not to need it', async () => {
  const tables = (
    await database.query(
      `select relname as name from pg_class where relkind in ('r', 'p') and not relispartition and relnamespace = 'public'::regnamespace`,
    )
  ).map((row) => row['name'] as string);
  const elsewhere = [
    // whole partitions, and chunks of a project
    'events',
    'event_deliveries',
    'delivery_attempts',
    'meta_events',
    // with their time: audit-retention.ts
    'audit_entries',
    // with its event
    'event_keys',
    // with the end of the delivery
    'delivery_queue',
    // when they are added up
    'recent_counts',
    // by the nodes that notice their silence
    'nodes',
    // when they were not seen for 30 days, and with their project
    'devices',
    // by `posthorn reseal`
    'secret_keys',
    // kept
    'instance_secrets',
    'cells',
    'cell_identity',
    // one row per move
    'project_moves',
    'schema_migrations',
  ];
  const known = new Set([...elsewhere, ...cases.map(([table]) => table)]);
  expect(tables.filter((table) => !known.has(table))).toEqual([]);
});
