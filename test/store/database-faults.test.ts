import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { App } from '../../src/start/app.ts';
import { startNode } from '../support/app.ts';
import { ApiClient, type Json } from '../support/client.ts';
import { asAdmin, createTestDatabase } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { linesOf } from '../support/log-lines.ts';
import { temporaryFolder } from '../support/samples/temporary-folder.ts';
import { smallDisk } from '../support/servers/small-disk.ts';

/** A database of the operator: a role with few rights, and faults that are no lost connection. */
const role = `role_${randomBytes(6).toString('hex')}`;
const disk = await smallDisk();
const database = await createTestDatabase({ empty: true, tablespace: disk?.tablespace });
const dataDir = temporaryFolder(afterAll);
const { log, text } = linesOf('error');
await asAdmin(`create role ${role} login`);
await asAdmin(`revoke connect on database ${database.name} from public`);

const start = () =>
  startNode(
    {
      DATABASE_URL: database.url.replace(/\/\/[^@]+/, `//${role}`),
      POSTHORN_DATA_DIR: dataDir,
      POSTHORN_ROLES: 'api,ingest,deliver',
    },
    log,
  );
const endSessions = () =>
  database.query('select pg_terminate_backend(pid) from pg_stat_activity where usename = $1', [role]);

afterAll(async () => {
  await node?.stop();
  await database.stop();
  await asAdmin(`drop role ${role}`);
  await disk?.stop();
});

let node: App | undefined;
let project: ApiClient;

describe('a plain role', () => {
  test('names the grants that it lacks, without a stack', async () => {
    await expect(start()).rejects.toThrow(
      `the database at DATABASE_URL cannot be used: permission denied for database "${database.name}" (User does not have CONNECT privilege.)`,
    );
    await database.query(`grant connect on database ${database.name} to ${role}`);
    const refused = await start().catch((error: unknown) => error);
    expect(refused).toMatchObject({
      name: 'StartupError',
      message: `the role ${role} lacks rights in the database (permission denied for schema public): run in it, as its owner: grant create on schema public to ${role}`,
    });
    await database.query('revoke usage on schema public from public');
    await expect(start()).rejects.toThrow(`grant usage, create on schema public to ${role}`);
  });

  test('with these grants is enough', async () => {
    await database.query(`grant usage, create on schema public to ${role}`);
    node = await start();
    const { project_id, api_key } = JSON.parse(
      readFileSync(join(dataDir, 'credentials.json'), 'utf8'),
    ) as Json;
    project = new ApiClient(`${node.url}/api/v1/projects/${project_id}`, api_key);
    expect(await send(201)).toMatchObject({ event_type: 'a' });
  });
});

/** Too random to be compressed, so that it needs pages of its own. */
const send = (expected: number) =>
  project.post(
    '/events/broadcast',
    { event_type: 'a', data: { noise: randomBytes(100_000).toString('base64') } },
    expected,
  );

async function ready(): Promise<[status: number, body: Json]> {
  const response = await fetch(`${node?.url}/readyz?verbose`);
  return [response.status, (await response.json()) as Json];
}

async function gauge(name: string): Promise<string | undefined> {
  const page = await (await fetch(`${node?.url}/metrics`)).text();
  return new RegExp(`^${name} (.*)$`, 'm').exec(page)?.[1];
}

const worksAgain = () => eventually(() => project.raw('GET', '/endpoints'), { status: 200 });

describe('the database refuses the service', () => {
  const REFUSED = 'refuses this service: its sign-in, its rights or the certificate';

  test.each([
    ['the sign-in', `alter role ${role} nologin`, `alter role ${role} login`],
    [
      'every connection',
      `alter database ${database.name} allow_connections false`,
      `alter database ${database.name} allow_connections true`,
    ],
    [
      'the right to connect',
      `revoke connect on database ${database.name} from ${role}`,
      `grant connect on database ${database.name} to ${role}`,
    ],
  ])('%s: 503 with the reason, and /readyz names neither role nor server', async (_, refuse, allow) => {
    await asAdmin(refuse);
    await endSessions();
    const unavailable = { code: 'database_unavailable', reason: 'refused' };
    const message = `The database ${REFUSED}. Nothing was changed; try again.`;
    // The first call may be that whose connection the server has just ended.
    await eventually(() => project.get('/endpoints', 503), { reason: 'refused' });
    expect(await project.get('/endpoints', 503)).toMatchObject({ ...unavailable, message });
    expect(await send(503)).toMatchObject(unavailable);
    expect(await ready()).toEqual([
      503,
      {
        status: false,
        message: 'Not ready: database refused',
        code: 'not_ready',
        data: [{ name: 'database', is_ready: false, reason: 'refused' }],
      },
    ]);
    await asAdmin(allow);
    await worksAgain();
    expect((await ready())[0]).toBe(200);
  });

  test('a right that it had: 503, and a call under way has an unknown outcome', async () => {
    await database.query(`alter table endpoints owner to current_user`);
    expect(await project.get('/endpoints', 503)).toMatchObject({
      code: 'database_unavailable',
      reason: 'refused',
    });
    const endpoint = { name: 'e', url: 'https://example.com' };
    expect(await project.post('/endpoints', endpoint, 503)).toMatchObject({
      code: 'outcome_unknown',
      reason: 'refused',
      message: `The database ${REFUSED}, so the outcome is unknown. Check whether it was done before you repeat it.`,
    });
    await database.query(`alter table endpoints owner to ${role}`);
    await database.query('alter table events owner to current_user');
    expect(await send(503)).toMatchObject({ code: 'database_unavailable', reason: 'refused' });
    expect(text()).toContain('refused events: the database refuses this node');
    await database.query(`alter table events owner to ${role}`);
    await worksAgain();
  });
});

test('a database that is read only refuses events and can be read', async () => {
  await asAdmin(`alter role ${role} set default_transaction_read_only = on`);
  await endSessions();
  // The first call may be that whose connection the server has just ended.
  await worksAgain();
  expect(await send(503)).toMatchObject({
    code: 'database_unavailable',
    reason: 'read_only',
    message: 'The database takes no writes. Nothing was changed; try again.',
  });
  expect(text()).toContain('refused events: the database takes no writes');
  // The node remembers a caller for a second, which has passed: the look-up cannot record the use.
  await project.get('/endpoints');
  expect(await ready()).toEqual([
    200,
    { status: true, message: 'Ready', data: [{ name: 'database', is_ready: true, reason: 'read_only' }] },
  ]);
  expect(await gauge('posthorn_database_writable')).toBe('0');
  await asAdmin(`alter role ${role} reset default_transaction_read_only`);
  await endSessions();
  await worksAgain();
  await eventually(() => gauge('posthorn_database_writable'), '1');
});

describe('the disk of the database is full', () => {
  beforeAll(async () => {
    if (disk !== null) return disk.fill();
    // Without a disk to fill the database says so by itself.
    await database.query(
      "create function full_disk() returns trigger language plpgsql as $$ begin raise exception 'No space left on device' using errcode = '53100'; end $$; create trigger full_disk before insert on events for each statement execute function full_disk()",
    );
  });

  test('an event gets 503 in these words, and the log has them', async () => {
    expect(await send(503)).toMatchObject({
      code: 'database_unavailable',
      reason: 'full',
      message: 'The database has no room left on its disk. Nothing was changed; try again.',
    });
    expect(text()).toContain('refused events: the disk of the database is full');
  });

  test.skipIf(disk === null)('the node stays ready and says that nothing can be written', async () => {
    expect(await ready()).toEqual([
      200,
      { status: true, message: 'Ready', data: [{ name: 'database', is_ready: true, reason: 'full' }] },
    ]);
    expect(await gauge('posthorn_database_up')).toBe('1');
    expect(await gauge('posthorn_database_writable')).toBe('0');
    await project.get('/events');
  });

  test('events are taken as soon as there is room', async () => {
    if (disk === null) await database.query('drop trigger full_disk on events');
    else disk.empty();
    await send(201);
    expect(await gauge('posthorn_database_writable')).toBe('1');
    expect((await ready())[1].data).toEqual([{ name: 'database', is_ready: true }]);
  });
});
