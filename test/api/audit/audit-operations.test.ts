import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { startTestApp } from '../../support/app.ts';
import { ApiClient, type Json } from '../../support/client.ts';
import { eventually } from '../../support/eventually.ts';
import { Receiver } from '../../support/servers/receiver.ts';
import { shared } from '../../support/shared.ts';
import { type Case, cases, exempt, type Prepared } from './audit-cases.ts';

/**
 * Every operation of the document that changes something is called twice: once while no entry can be stored, which
 * must leave everything as it was, and once as usual, which must leave exactly its entries.
 */
const PROJECT = '/api/v1/projects/{projectID}';
const PORTAL = '/portal-api';
const { paths } = JSON.parse(readFileSync(join(import.meta.dirname, '../../../openapi.json'), 'utf8')) as {
  paths: Record<string, Record<string, { responses: Record<string, unknown> }>>;
};
const operations = Object.entries(paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, { responses }]) => ({
    name: `${method.toUpperCase()} ${path}`,
    method: method.toUpperCase(),
    path: path.replace(PROJECT, '').replace(PORTAL, ''),
    isPortal: path.startsWith(PORTAL),
    // The last is that of the plain call. A dry run answers 200.
    status: Number(Object.keys(responses).findLast((status) => status !== 'default')),
  })),
);
const caseOf = ({ method, path }: (typeof operations)[number]) => cases[`${method} ${path}`];

// Without a janitor jobs wait, so that none changes anything meanwhile.
const app = await shared(startTestApp({ POSTHORN_ROLES: 'api,ingest,deliver' }));
const receiver = await shared(Receiver.start());
let keyId: string;
let holder: ApiClient;
let linkId: string;

beforeAll(async () => {
  receiver.answerAlways(({ path }, response) => response.writeHead(path === '/fail' ? 500 : 200).end());
  await app.project.put('', {
    name: 'default',
    config: {
      strategy: { type: 'linear', duration: 1, retry_count: 1 },
      meta_event: { is_enabled: true, event_type: ['endpoint.*'], url: `${receiver.url}/meta` },
    },
  });
  [{ uid: keyId }] = await app.project.get('/keys');
  const link = await app.project.post('/portal-links', {
    name: 'holder',
    owner_id: 'owner',
    can_manage_endpoint: true,
    can_create_events: true,
  });
  linkId = link.uid;
  holder = new ApiClient(`${app.url}${PORTAL}`, link.token);
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

/** All there is, except when keys were last used; once nothing is under way any more. */
async function everything(): Promise<Record<string, unknown>[]> {
  const { database } = app;
  await eventually(
    () => database.query('select 1 from delivery_queue limit 1'),
    (rows) => rows.length === 0,
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

function callOf(
  operation: (typeof operations)[number],
  prepared: Prepared,
): { client: ApiClient; path: string; actor: { type: string; uid?: string } } {
  const path = operation.path
    .replace('/api/v1/', '/')
    .replaceAll(/\{(\w+)\}/g, (_, name: string) => prepared.params?.[name] ?? '');
  const client = operation.isPortal ? holder : (prepared.client ?? app.project);
  const actor = operation.isPortal
    ? { type: 'portal_link', uid: linkId }
    : (prepared.actor ?? { type: 'api_key', uid: keyId });
  return { client, path: `${path}${prepared.query ?? ''}`, actor };
}

test('every operation that changes something has a case here or is exempt by name', () => {
  const changing = operations.filter(({ method }) => method !== 'GET');
  expect(changing.length).toBeGreaterThan(70);
  const keys = new Set(changing.map(({ method, path }) => `${method} ${path}`));
  expect([...keys].filter((key) => cases[key] === undefined && exempt[key] === undefined)).toEqual([]);
  // Nothing stands in either list without need.
  expect(Object.keys(exempt).filter((key) => !keys.has(key) || cases[key] !== undefined)).toEqual([]);
  const all = new Set(operations.map(({ method, path }) => `${method} ${path}`));
  expect(Object.keys(cases).filter((key) => !all.has(key))).toEqual([]);
});

describe('an entry is created in the same commit by', () => {
  const audited = operations.filter((operation) => caseOf(operation) !== undefined);
  test.each(audited)('$name', async (operation) => {
    const { prepare, entries } = caseOf(operation) as Case;
    const prepared = (await prepare?.({ app, receiver, keyId })) ?? {};
    const { client, path, actor } = callOf(operation, prepared);
    const call = (expected: number) => client.call(operation.method, path, { body: prepared.body, expected });

    const before = await everything();
    const [{ uid: last }] = (await app.instance.get('/audit?perPage=1')).content;
    await whileNoEntryCanBeStored(() => call(500));
    expect(await everything()).toEqual(before);
    expect(await entriesAfter(last)).toEqual([]);

    await call(operation.status);
    const made = await entriesAfter(last);
    expect(made.map(({ action, before, after }) => ({ action, before, after }))).toEqual(
      entries.map((entry) => matching(entry)),
    );
    const instanceKey = path === '/projects' ? { type: 'instance_key' } : actor;
    for (const entry of made) {
      expect(entry.actor).toMatchObject(instanceKey);
      expect(entry.resource.type).toBe(entry.action.split('.')[0]);
    }
    const named = Object.values(prepared.params ?? {});
    if (named.length > 0 && operation.method !== 'POST') expect(named).toContain(made[0].resource.uid);
  });
});
