import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { chmod } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it, onTestFinished } from 'vitest';
import { SECRET_KEY, startTestApp } from '../support/app.ts';
import { runPosthorn } from '../support/command.ts';
import { eventually } from '../support/eventually.ts';
import { Program } from '../support/program.ts';
import { Receiver } from '../support/servers/receiver.ts';
import { shared } from '../support/shared.ts';

const app = await shared(startTestApp());
const receiver = await shared(Receiver.start());
const folder = mkdtempSync(join(tmpdir(), 'posthorn-cli-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const env = {
  POSTHORN_URL: app.url,
  POSTHORN_API_KEY: app.project.key,
  POSTHORN_PROJECT: app.projectId,
  XDG_CONFIG_HOME: folder,
  SECRET: 'correct horse battery staple',
};
const posthorn = (...args: string[]) => runPosthorn(args, { env });
const json = async (...args: string[]) => {
  const { code, stdout, stderr } = await posthorn(...args, '--output', 'json');
  expect([code, stderr]).toEqual([0, '']);
  return JSON.parse(stdout) as Record<string, unknown> & Record<string, unknown>[];
};

describe('commands that change and show config', () => {
  it('create, change, pause, activate, roll and delete an endpoint and its subscription', async () => {
    const made = await posthorn(
      'endpoints',
      'create',
      '--name',
      'cli',
      '--to',
      receiver.url,
      '--secret',
      'env:SECRET',
      '-q',
    );
    expect([made.code, made.stderr]).toEqual([0, '']);
    const id = made.stdout.trim();
    const secrets = (await json('endpoints', 'get', id))['secrets'] as unknown as { value: string }[];
    expect(secrets[0]?.value).toBe(env.SECRET);
    expect(await json('endpoints', 'update', id, '--data', '{"rate_limit": 7}')).toMatchObject({
      rate_limit: 7,
    });
    for (const [verb, status] of [
      ['pause', 'paused'],
      ['pause', 'paused'],
      ['activate', 'active'],
      ['activate', 'active'],
    ] as const)
      expect(await json('endpoints', verb, id)).toMatchObject({ status });
    const rolled = (await json('endpoints', 'roll', id, '--expire-after', '60'))[
      'secrets'
    ] as unknown as object[];
    expect(rolled).toHaveLength(2);
    const listed = await posthorn('endpoints');
    expect(listed.stdout).toMatch(new RegExp(`^UID .*\\n(.*\\n)*${id} .*active`));
    expect(listed.stdout).not.toContain('\u001b');
    const subscription = await json(
      'subscriptions',
      'create',
      '--name',
      's',
      '--endpoint',
      id,
      '--event-type',
      'cli.*',
    );
    expect(await json('subscriptions', 'deactivate', String(subscription['uid']))).toMatchObject({
      status: 'inactive',
    });
    expect((await posthorn('subscriptions', 'list', '--endpoint', id)).stdout).toContain('cli.*');
    expect((await posthorn('endpoints', 'delete', id)).stdout).toBe(`deleted: ${id}\n`);
    expect(await posthorn('endpoints', 'get', id)).toEqual({
      code: 1,
      stdout: '',
      stderr: `posthorn: There is no endpoint ${id} in this project; check the id and the project\n`,
    });
  });

  it('test an endpoint, and fail if it does', async () => {
    const other = await app.newProject();
    const { uid } = await other.post('/endpoints', { name: 'gone', url: 'http://127.0.0.1:9/' });
    const inOther = { ...env, POSTHORN_API_KEY: other.key, POSTHORN_PROJECT: other.projectId };
    const tested = await runPosthorn(['endpoints', 'test', uid], { env: inOther });
    expect([tested.code, tested.stdout]).toEqual([1, expect.stringContaining('connection refused')]);
  });

  it('make a source, as YAML', async () => {
    const made = await posthorn('sources', 'create', '--name', 'in', '--type', 'http', '--output', 'yaml');
    expect(made.stdout).toMatch(/^name: in$/m);
    expect((await posthorn('sources')).stdout).toContain('http');
  });
});

describe('an event', () => {
  it('is sent from an argument, a file, stdin or the schema of its type, and the numbers stay as written', async () => {
    const endpoint = (
      await posthorn('endpoints', 'create', '--name', 'e', '--to', receiver.url, '-q')
    ).stdout.trim();
    await posthorn(
      'subscriptions',
      'create',
      '--name',
      's',
      '--endpoint',
      endpoint,
      '--event-type',
      'cli.sent',
    );
    const exact = '{"n":12345678901234567890,"price":1.50}';
    writeFileSync(join(folder, 'event.json'), exact);
    await posthorn('trigger', 'cli.sent', '--data', exact);
    await posthorn('trigger', 'cli.sent', '--data', `@${join(folder, 'event.json')}`);
    const piped = await runPosthorn(['trigger', 'cli.sent', '--data', '-'], { env, input: exact });
    expect([piped.code, piped.stderr]).toEqual([0, '']);
    const sent = await receiver.received(3);
    expect(sent.map(({ body }) => body.toString())).toEqual([exact, exact, exact]);

    const types = await app.project.get('/event-types');
    const { uid } = types.find(({ name }: { name: string }) => name === 'cli.sent');
    await app.project.put(
      `/event-types/${uid}`,
      {
        json_schema: { type: 'object', properties: { id: { type: 'integer' } } },
      },
      201,
    );
    expect((await posthorn('trigger', 'cli.sent')).code).toBe(0);
    expect((await receiver.received(4))[3]?.json).toEqual({ id: 1 });
    expect(await posthorn('trigger', 'cli.unknown')).toMatchObject({ code: 1 });

    const [event] = await json('events', 'list', '--limit', '1');
    expect((await posthorn('events', 'explain', String(event?.['uid']))).stdout).toContain('yes');
    await eventually(
      () => json('deliveries', 'list', '--status', 'Success'),
      (rows) => rows.length === 4,
    );
    const [delivery] = await json('deliveries', 'list', '--limit', '1');
    expect(await json('deliveries', 'attempts', String(delivery?.['uid']))).toHaveLength(1);
  });

  it('is replayed and retried, after a trial without effect', async () => {
    const before = receiver.requests.length;
    expect(await posthorn('replay')).toMatchObject({ code: 64, stdout: '' });
    const trial = await json('replay', '--since', '1h', '--dry-run');
    expect(trial).toMatchObject({ total: 4 });
    expect(receiver.requests.length).toBe(before);
    const { code, stdout } = await posthorn('replay', '--since', '1h');
    expect([code, stdout]).toEqual([0, expect.stringMatching(/^replayed: 4 \(job /)]);
    await receiver.received(before + 4);
    const [event] = await json('events', '--limit', '1');
    expect((await posthorn('replay', String(event?.['uid']), '--dry-run')).stdout).toBe(
      `would be replayed: ${String(event?.['uid'])} (1 new delivery)\n`,
    );
    expect((await posthorn('replay', String(event?.['uid']))).stdout).toBe(
      `replayed: ${String(event?.['uid'])}\n`,
    );
    expect((await posthorn('deliveries', 'send-now', '--all')).stdout).toMatch(/^due now: 0 /);
    expect((await posthorn('deliveries', 'send-now', 'nothing')).stdout).toMatch(/^due now: 0 /);
    expect((await posthorn('deliveries', 'send-now')).code).toBe(64);
    expect((await posthorn('retry', '--all')).stdout).toMatch(/^queued again: 0 /);
    expect((await posthorn('cancel', '--status', 'Retry')).stdout).toMatch(/^cancelled: 0 /);
  });

  it('is seen by tail, with its delivery, as lines of JSON until the end', async () => {
    const args = ['tail', '--json', '--event-type', 'cli.*'];
    const tail = new Program({ args, env, cwd: folder });
    onTestFinished(() => tail.end());
    // The stream begins at some time after the start: send until something is seen.
    await eventually(
      async () => {
        await app.project.post('/events/broadcast', { event_type: 'cli.sent', data: {} });
        return tail.stdout;
      },
      (text) => text.includes('"kind":"delivery"') && text.includes('"kind":"event"'),
    );
    // The last line may be there in part.
    const rows = tail.stdout
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line) as { data: { event_type: string } });
    expect(new Set(rows.map(({ data }) => data.event_type))).toEqual(new Set(['cli.sent']));
    tail.signal('SIGINT');
    expect(await tail.ended).toEqual({ code: 0, signal: null });
  });
});

describe('a key', () => {
  it('that is refused ends the command with 3 and one line', async () => {
    const refused = new Program({
      args: ['events'],
      env: { ...env, POSTHORN_API_KEY: 'wrong' },
      cwd: folder,
    });
    expect(await refused.ended).toEqual({ code: 3, signal: null });
    expect(refused.stdout).toBe('');
    expect(refused.stderr).toMatch(/^posthorn: http\S+ refused the key: .*posthorn login\n$/);
  });

  it('is saved by login in a file for its owner alone, and used from there', async () => {
    const home = { XDG_CONFIG_HOME: folder };
    const input = `${app.project.key}\n`;
    const saved = await runPosthorn(['login', '--url', app.url, '--profile', 'test'], { env: home, input });
    expect([saved.code, saved.stderr]).toEqual([0, '']);
    const file = join(folder, 'posthorn/profiles.json');
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(readFileSync(file, 'utf8')).toContain(app.projectId);
    expect((await runPosthorn(['event-types'], { env: home })).stdout).toContain('cli.sent');

    // Not to another address, and not if others may read it.
    const elsewhere = await runPosthorn(['events', '--url', 'http://127.0.0.1:9'], { env: home });
    expect([elsewhere.code, elsewhere.stderr]).toEqual([3, expect.stringContaining('there is no key for')]);
    await chmod(file, 0o644);
    expect((await runPosthorn(['events'], { env: home })).stderr).toContain(`chmod 600 ${file}`);
    await chmod(file, 0o600);
    expect((await runPosthorn(['logout'], { env: home })).code).toBe(0);
    expect((await runPosthorn(['events'], { env: home })).code).toBe(3);
    const wrong = await runPosthorn(['login', '--url', app.url], { env: home, input: 'wrong' });
    expect(wrong.code).toBe(3);
  });

  it('of the first start is found in the data directory', async () => {
    const credentials = { url: app.url, api_key: app.project.key, project_id: app.projectId };
    writeFileSync(join(folder, 'credentials.json'), JSON.stringify(credentials));
    const { code } = await runPosthorn(['events'], { env: { POSTHORN_DATA_DIR: folder } });
    expect(code).toBe(0);
  });
});

it('a signature made offline is verified offline, and a changed body is not', async () => {
  const sign = await runPosthorn(['sign', '--secret', 'env:SECRET', '--data', '{"a":1}', '--json'], { env });
  const headers = Object.entries(JSON.parse(sign.stdout) as Record<string, string>).flatMap(
    ([name, value]) => ['-H', `${name}: ${value}`],
  );
  const verify = (body: string) => posthorn('verify', '--secret', 'env:SECRET', '--data', body, ...headers);
  expect(await verify('{"a":1}')).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('The signature is right'),
  });
  expect(await verify('{"a":2}')).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('does not hold'),
  });
});

it('a service that does not answer is one line with what to do', async () => {
  const { code, stderr } = await runPosthorn(['events'], {
    env: { ...env, POSTHORN_URL: 'http://127.0.0.1:9' },
  });
  expect([code, stderr]).toEqual([
    1,
    expect.stringMatching(/^posthorn: the service at .* does not answer.*--url\n$/),
  ]);
});

describe('doctor', () => {
  /** The topic and the state of each line. */
  const states = (stdout: string) =>
    Object.fromEntries([...stdout.matchAll(/^(\w+) +(\w+) /gm)].map(([, state, topic]) => [topic, state]));
  const well = { program: 'ok', service: 'ok', clock: 'ok', nodes: 'ok', brokers: 'ok' };

  it.each<[string, string[], Record<string, string>]>([
    ['a flag', ['--url', app.url], { POSTHORN_API_KEY: app.project.key }],
    ['the environment', [], { POSTHORN_URL: app.url, POSTHORN_API_KEY: app.project.key }],
    ['the profile', [], {}],
  ])('asks the service that %s names, and needs no data directory', async (_by, args, given) => {
    const home = join(folder, 'doctor');
    const login = { XDG_CONFIG_HOME: home, POSTHORN_API_KEY: app.project.key };
    await runPosthorn(['login', '--url', app.url], { env: login });
    const own = { XDG_CONFIG_HOME: home, POSTHORN_DATA_DIR: '', ...given };
    const { code, stdout, stderr } = await runPosthorn(['doctor', ...args], { env: own });
    expect([code, stderr, states(stdout)]).toEqual([0, '', well]);
    expect(stdout).toContain('nodes       shown to the instance key only\n');
  });

  it('shows nodes to the instance key, and a source that waits', async () => {
    const kafka = { brokers: ['127.0.0.1:1'], consumer_group_id: 'g', topic_name: 't' };
    const pubSub = { name: 'broker', type: 'pub_sub', pub_sub: { type: 'kafka', workers: 1, kafka } };
    const { uid } = await app.project.post('/sources', pubSub);
    await eventually(
      () => app.project.get(`/sources/${uid}`),
      ({ status }) => status.state === 'waiting',
    );
    const asked = { env: { ...env, POSTHORN_API_KEY: app.instance.key } };
    const { code, stdout, stderr } = await runPosthorn(['doctor'], asked);
    await app.project.delete(`/sources/${uid}`);
    expect(stdout).toContain('nodes       1 at work\n');
    expect(stdout).toMatch(
      new RegExp(`^problem +brokers +source ${uid} waits: .*posthorn sources test`, 'm'),
    );
    expect([code, stderr]).toEqual([1, expect.stringContaining('1 problems found')]);
  });

  it('says that the service does not answer, or that there is no key for it', async () => {
    const away = { env: { ...env, POSTHORN_URL: 'http://127.0.0.1:9' } };
    const { code, stdout } = await runPosthorn(['doctor'], away);
    expect([code, states(stdout)]).toEqual([1, { program: 'ok', service: 'problem' }]);
    expect((await runPosthorn(['doctor', '--url', app.url])).code).toBe(3);
  });

  it('looks at the database of settings of a server, also with a profile', async () => {
    const home = join(folder, 'doctor');
    const server = { XDG_CONFIG_HOME: home, DATABASE_URL: app.database.url, POSTHORN_SECRET_KEY: SECRET_KEY };
    const { stdout } = await runPosthorn(['doctor'], { env: server });
    expect(states(stdout)).toMatchObject({ database: 'ok', schema: 'ok', partitions: 'ok' });
  });
});

it('commands of the client side read nothing of the server', async () => {
  const probe = `
    import { registerHooks } from 'node:module';
    const seen = new Set();
    registerHooks({ load: (url, context, next) => { seen.add(url); return next(url, context); } });
    process.on('exit', () => process.stderr.write([...seen].join('\\n')));
  `;
  writeFileSync(join(folder, 'probe.mjs'), probe);
  for (const args of [
    ['--help'],
    ['events'],
    ['trigger', 'cli.none', '--data', '{}'],
    ['endpoints'],
    ['doctor'],
  ]) {
    const program = new Program({
      args,
      env: { ...env, NODE_OPTIONS: `--import ${join(folder, 'probe.mjs')}` },
      cwd: folder,
    });
    await program.ended;
    const read = program.stderr
      .split('\n')
      .filter((url) => url.startsWith('file:') && !url.endsWith('probe.mjs'));
    expect(read.length).toBeGreaterThan(5);
    const others = read.filter(
      (url) =>
        !/\/(src\/(cli\/((server|project-file)\/)?commands|main|cli\/(remote|terminal)\/|platform\/|signing\/|domain\/)|client\/src\/)/.test(
          url,
        ),
    );
    expect(others).toEqual([]);
  }
});

it('a reader that closes the pipe ends the program without an error', async () => {
  const program = new Program({ args: ['completion', 'fish'] });
  program.process.stdout?.destroy();
  expect(await program.ended).toEqual({ code: 0, signal: null });
  expect(program.stderr).toBe('');
});
