import { readdirSync, readFileSync, statSync } from 'node:fs';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { ApiClient, type Json } from '../support/client.ts';
import { runPosthorn } from '../support/command.ts';
import { createTestDatabase } from '../support/database.ts';
import { freePort, Program, readCredentials } from '../support/program.ts';
import { temporaryFolder } from '../support/samples/temporary-folder.ts';
import { serve } from '../support/servers/serve.ts';

const POSTHORN = join(import.meta.dirname, '../../bin/posthorn');
const dataDir = temporaryFolder(afterAll);
let program: Program;
let url: string;
/** The mode of credentials.json when /readyz first answered 200. */
let modeWhenReady: number;

beforeAll(async () => {
  const port = await freePort();
  url = `http://127.0.0.1:${port}`;
  program = new Program({
    args: ['serve'],
    env: { POSTHORN_DATA_DIR: dataDir, POSTHORN_PORT: String(port) },
  });
  while ((await statusOf(`${url}/readyz`)) !== 200) await delay(2);
  modeWhenReady = statSync(join(dataDir, 'credentials.json')).mode & 0o777;
});

afterAll(async () => {
  await program.end();
});

/** 0 while no server listens. */
async function statusOf(address: string): Promise<number> {
  return fetch(address).then(
    (response) => response.status,
    () => 0,
  );
}

/** A command of the service. */
const run = (args: string[], env: Record<string, string> = {}) =>
  runPosthorn(args, { env: { POSTHORN_DATA_DIR: dataDir, ...env } });

describe('the first start', () => {
  // proves Instance: POSTHORN_PORT
  test('writes the credentials, readable by the owner only, before it reports ready', () => {
    expect(modeWhenReady).toBe(0o600);
    const credentials = readCredentials(dataDir);
    expect(Object.keys(credentials)).toEqual(['url', 'project_id', 'api_key', 'instance_key']);
    expect(credentials.url).toBe(url);
    expect(credentials.api_key).toMatch(/^CO\.[0-9A-Za-z]{16}\.[0-9A-Za-z]{64}$/);
  });

  // proves Instance: POSTHORN_DATA_DIR
  test('keeps database, credentials and key in POSTHORN_DATA_DIR', () => {
    expect(readdirSync(dataDir)).toEqual(
      expect.arrayContaining(['credentials.json', 'postgres', 'secret.key']),
    );
  });

  test('names the file with the keys, without showing them outside a terminal', () => {
    const { api_key, instance_key } = readCredentials(dataDir);
    expect(program.stdout).toContain(url);
    expect(program.stdout).toContain(join(dataDir, 'credentials.json'));
    for (const key of [api_key, instance_key]) expect(program.stdout + program.stderr).not.toContain(key);
  });

  test('creates working keys', async () => {
    const { project_id, api_key, instance_key } = readCredentials(dataDir);
    const projects = await new ApiClient(`${url}/api/v1`, instance_key).get('/projects');
    expect(projects.map((project: Json) => [project.uid, project.name])).toEqual([[project_id, 'default']]);
    await new ApiClient(`${url}/api/v1/projects/${project_id}`, api_key).get('/endpoints');
  });

  test('makes the secret key readable by the owner only and logs no key', () => {
    expect(statSync(join(dataDir, 'secret.key')).mode & 0o777).toBe(0o600);
    const { api_key, instance_key } = readCredentials(dataDir);
    for (const secret of [api_key, instance_key, readFileSync(join(dataDir, 'secret.key'), 'utf8')])
      expect(program.stderr).not.toContain(secret);
  });
});

describe('posthorn', () => {
  test('help lists the commands', async () => {
    const help = new Program({ command: [POSTHORN], args: ['help'] });
    expect(await help.ended).toEqual({ code: 0, signal: null });
    for (const name of ['serve', 'migrate', 'project create', 'key create'])
      expect(help.stdout).toContain(`\n  ${name} `);
  });

  test('project create prints a project whose key works', async () => {
    const { code, stdout } = await run(['project', 'create', '--name', 'incoming one', '--type', 'incoming']);
    expect(code).toBe(0);
    const { project, api_key } = JSON.parse(stdout);
    expect(project).toMatchObject({ name: 'incoming one', type: 'incoming' });
    await new ApiClient(`${url}/api/v1/projects/${project.uid}`, api_key.key).get('/events');
  });

  test('key create prints a further key of a project', async () => {
    const { project_id } = readCredentials(dataDir);
    const expires = '2999-01-01T00:00:00.000Z';
    const args = ['key', 'create', '--project', project_id, '--name', 'ci', '--expires-at', expires];
    const { code, stdout } = await run(args);
    expect(code).toBe(0);
    const key = JSON.parse(stdout);
    expect(key).toMatchObject({ name: 'ci', expires_at: expires, role: { project: project_id } });
    await new ApiClient(`${url}/api/v1/projects/${project_id}`, key.key).get('/endpoints');
  });

  test('is in the audit log with the user of the command', async () => {
    const { project_id, api_key } = readCredentials(dataDir);
    await run(['key', 'create', '--project', project_id, '--name', 'audited']);
    const client = new ApiClient(`${url}/api/v1/projects/${project_id}`, api_key);
    const { content } = await client.get('/audit?actorType=cli');
    expect(content.map(({ actor, action, after }: Json) => [actor, action, after.name])).toContainEqual([
      expect.objectContaining({ type: 'cli', uid: userInfo().username }),
      'key.created',
      'audited',
    ]);
  });

  test.each([
    [['project', 'create'], 64, /--name is required/],
    [
      ['project', 'create', '--name', 'x', '--type', 'sideways'],
      64,
      /type must be one of outgoing, incoming/,
    ],
    [
      ['key', 'create', '--project', 'unknown', '--name', 'x'],
      1,
      /there is no project "unknown"; the key opens: .*default \(/,
    ],
  ])('%j fails in one line', async (args, wanted, expected) => {
    const { code, stdout, stderr } = await run(args);
    expect([code, stdout]).toEqual([wanted, '']);
    expect(stderr).toMatch(/^posthorn: [^\n]*\n$/);
    expect(stderr).toMatch(expected);
  });

  test('a command without a running service says how to start it', async () => {
    const empty = await run(['project', 'create', '--name', 'x'], {
      POSTHORN_DATA_DIR: join(dataDir, 'none'),
    });
    expect(empty.stderr).toMatch(
      /^posthorn: \S+credentials\.json cannot be read; [^\n]*POSTHORN_DATA_DIR\n$/,
    );
    const port = await freePort();
    const gone = await run(['project', 'create', '--name', 'x'], {
      POSTHORN_PUBLIC_URL: `http://127.0.0.1:${port}`,
    });
    expect(gone.stderr).toMatch(new RegExp(`:${port} does not answer .*ECONNREFUSED.*npm start`));
  });

  test('migrate updates a database, and a second run changes nothing', async () => {
    const database = await createTestDatabase({ empty: true });
    try {
      const env = { DATABASE_URL: database.url, POSTHORN_SECRET_KEY: 'k'.repeat(32) };
      const first = await run(['migrate'], env);
      expect(first.stdout).toMatch(/^Applied: 0001_schema\.sql/);
      expect(await database.query('select count(*)::int as projects from projects')).toEqual([
        { projects: 0 },
      ]);
      const second = await run(['migrate'], env);
      expect([second.code, second.stdout]).toEqual([0, 'The schema is up to date.\n']);
    } finally {
      await database.stop();
    }
  });
});

test('a further node logs the egress rule, and names no file that it does not have', async () => {
  const database = await createTestDatabase();
  onTestFinished(() => database.stop());
  const directory = temporaryFolder();
  const start = async (name: string) => {
    const env = {
      DATABASE_URL: database.url,
      POSTHORN_SECRET_KEY: 'k'.repeat(32),
      POSTHORN_PORT: '0',
      POSTHORN_DATA_DIR: join(directory, name),
    };
    const node = serve(env);
    await node.ready();
    return node;
  };
  const first = await start('first');
  const further = await start('further');
  expect(first.stderr).toContain('deliveries may go to public addresses only (POSTHORN_EGRESS=public)');
  expect(further.stdout).toMatch(/^Posthorn is ready at \S+\n$/);
  expect(program.stderr).toContain(
    'deliveries may go to any address except link-local and cloud metadata (POSTHORN_EGRESS=any)',
  );
});

test('a later start keeps project and keys, and corrects the address in the file', async () => {
  const before = readCredentials(dataDir);
  expect(await program.stop()).toEqual({ code: 0, signal: null });
  program = new Program({ args: ['serve'], env: { POSTHORN_DATA_DIR: dataDir, POSTHORN_PORT: '0' } });
  const elsewhere = await program.ready();
  expect(elsewhere).not.toBe(url);
  expect(readCredentials(dataDir)).toEqual({ ...before, url: elsewhere });
  expect(statSync(join(dataDir, 'credentials.json')).mode & 0o777).toBe(0o600);
  const { code } = await run(['project', 'create', '--name', 'after the restart']);
  expect(code).toBe(0);
});
