import { beforeAll, describe, expect, test } from 'vitest';
import { startTestApp } from '../../support/app.ts';
import type { Json } from '../../support/client.ts';
import { eventually } from '../../support/eventually.ts';
import { cases, prepareCall } from '../../support/operations/cases.ts';
import { operations } from '../../support/operations/documented.ts';
import { newScene, type Scene } from '../../support/operations/scene.ts';
import { Receiver } from '../../support/servers/receiver.ts';
import { shared } from '../../support/shared.ts';

/**
 * Every operation of the document that changes something is called twice: once while no entry can be stored, which
 * must leave everything as it was, and once as usual, which must leave exactly its entries.
 */
// Without a janitor jobs wait, so that none changes anything meanwhile.
const app = await shared(startTestApp({ POSTHORN_ROLES: 'api,ingest,deliver' }));
const receiver = await shared(Receiver.start());
let scene: Scene;

beforeAll(async () => {
  scene = await newScene(app, receiver);
});

const TABLES = [
  'projects',
  'api_keys',
  'endpoints',
  'subscriptions',
  'sources',
  'portal_links',
  'portal_tokens',
  'event_types',
  'jobs',
  'events',
  'event_deliveries',
  'delivery_queue',
  'meta_events',
  'people',
  'memberships',
  'sessions',
  'sign_in_links',
];

/** All there is, except when keys were last used; once nothing is under way any more. A delayed delivery waits. */
async function everything(): Promise<Record<string, unknown>[]> {
  const { database } = app;
  await eventually(
    () => database.query("select 1 from delivery_queue where due_at < now() + interval '10 minutes' limit 1"),
    { length: 0 },
  );
  const sums = TABLES.map(
    (table) => `(select md5(coalesce(string_agg(row, ',' order by row), ''))
      from (select (to_jsonb(t) - 'last_used_at')::text as row from ${table} t) r) as ${table}`,
  );
  return database.query(`select ${sums.join(', ')}`);
}

const entriesAfter = async (id: string): Promise<Json[]> => {
  const { content } = await app.instance.get('/audit?perPage=1000');
  return content.filter(({ uid }: Json) => uid > id).toReversed();
};

async function whileNoEntryCanBeStored(work: () => Promise<unknown>): Promise<void> {
  await app.database.query('alter table audit_entries add constraint broken check (false) not valid');
  try {
    await work();
  } finally {
    await app.database.query('alter table audit_entries drop constraint broken');
  }
}

/** Part of a resource; a pattern stands for a text. */
function matching(value: unknown): unknown {
  if (value === Number) return expect.any(Number);
  if (value instanceof RegExp) return expect.stringMatching(value);
  if (Array.isArray(value)) return value.map(matching);
  if (typeof value !== 'object' || value === null) return value;
  return expect.objectContaining(
    Object.fromEntries(Object.entries(value).map(([name, item]) => [name, matching(item)])),
  );
}

/** The entries of an operation, or the reason why it leaves none. */
const auditOf = ({ caseId }: { caseId: string }) => cases[caseId]?.audit;

test('every operation that changes something has entries, or a reason for none', () => {
  const changing = operations.filter(({ method }) => method !== 'GET');
  expect(changing.length).toBeGreaterThan(70);
  expect(changing.filter((operation) => auditOf(operation) === undefined)).toEqual([]);
});

describe('an entry is created in the same commit by', () => {
  const audited = operations.filter((operation) => Array.isArray(auditOf(operation)));
  test.each(audited)('$name', async (operation) => {
    const { caller, actor, ids, path, body } = await prepareCall(scene, operation);
    const call = (expected: number) => caller.call(operation.method, path, { body, expected });

    const before = await everything();
    const [{ uid: last }] = (await app.instance.get('/audit?perPage=1')).content;
    await whileNoEntryCanBeStored(() => call(500));
    expect(await everything()).toEqual(before);
    expect(await entriesAfter(last)).toEqual([]);

    await call(operation.status);
    const made = await entriesAfter(last);
    expect(made.map(({ action, before, after }) => ({ action, before, after }))).toEqual(
      matching(auditOf(operation)),
    );
    for (const entry of made) {
      expect(entry.actor).toMatchObject(actor);
      expect(entry.resource.type).toBe(entry.action.split('.')[0]);
    }
    if (operation.path.includes('{') && operation.method !== 'POST')
      expect(Object.values(ids)).toContain(made[0].resource.uid);
  });
});
