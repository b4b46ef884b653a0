import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { chmod } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, describe, expect, it, onTestFinished } from 'vitest';
import { keyCommand } from '../../web/src/dashboard/project-key.ts';
import { heldScene } from '../ordering/held-scene.ts';
import { SECRET_KEY, startTestApp, subscribe } from '../support/app.ts';
import { runPosthorn } from '../support/command.ts';
import { eventually } from '../support/eventually.ts';
import { Program } from '../support/program.ts';
import { temporaryFolder } from '../support/samples/temporary-folder.ts';
import { Receiver } from '../support/servers/receiver.ts';
import { shared } from '../support/shared.ts';

const app = await shared(startTestApp());
const receiver = await shared(Receiver.start());
const folder = temporaryFolder(afterAll);

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
    expect(listed.stdout).toMatch(new RegExp(`^UID .*\\n(.*\\n)*${id} .*ok `));
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
    expect(tested.code).toBe(1);
    expect(tested.stdout).toMatch(/^failed: .*connection refused.*http:\/\/127\.0\.0\.1:9\/\n$/);
    const good = await other.post('/endpoints', { name: 'good', url: receiver.url });
    const passed = await runPosthorn(['endpoints', 'test', good.uid], { env: inOther });
    expect(passed.stdout).toMatch(/^delivered: 200 OK in \d+ ms, http.*\nanswer: ok\n$/);
    receiver.requests.length = 0;
  });

  it('take names where ids are, and say which there are if a name has none or two', async () => {
    const other = await app.newProject();
    const { name } = await other.get('');
    const inOther = { ...env, POSTHORN_API_KEY: other.key, POSTHORN_PROJECT: name };
    const run = (...args: string[]) => runPosthorn(args, { env: inOther });
    const fields = { url: 'http://127.0.0.1:9/', owner_id: 'acme' };
    const { uid } = await other.post('/endpoints', { ...fields, name: 'billing' });
    const twins = [
      await other.post('/endpoints', { ...fields, name: 'twin' }),
      await other.post('/endpoints', { ...fields, name: 'twin', owner_id: 'globex' }),
    ];
    const made = await run('subscriptions', 'create', '--name', 's', '--endpoint', 'billing', '-q');
    expect([made.code, made.stderr]).toEqual([0, '']);
    expect((await run('endpoints', 'pause', 'billing', '-q')).stdout).toBe(`${uid}\n`);
    expect((await run('subscriptions', '--endpoint', 'billing', '-q')).stdout).toBe(made.stdout);
    expect((await run('subscriptions', 'get', 's', '-q')).stdout).toBe(made.stdout);
    const refused = async (...args: string[]) => {
      const { code, stdout, stderr } = await run(...args);
      expect([code, stdout]).toEqual([1, '']);
      return stderr;
    };
    for (const args of [['failures'], ['deliveries', 'list'], ['cancel'], ['tail'], ['trigger', 'a']])
      expect(await refused(...args, '--endpoint', 'biling')).toBe(
        'posthorn: there is no endpoint "biling"; did you mean "billing"?\n',
      );
    expect(await refused('endpoints', 'get', 'twin')).toBe(
      `posthorn: there are 2 endpoints named "twin": ${twins[1].uid} (globex), ${twins[0].uid} (acme); give the id\n`,
    );
    const never = '01KA1000000000000000000000';
    expect(await refused('retry', '--endpoint', never)).toContain(
      `there is no endpoint "${never}"; posthorn`,
    );
    expect(await refused('cancel', '--endpoint', '')).toContain('the name of the endpoint is empty');
    expect(await refused('endpoints', '--project', 'no such')).toMatch(/there is no project "no such"; /);
    // The history of a deleted endpoint is found by its id.
    await run('endpoints', 'activate', 'billing');
    await run('trigger', 'a', '--endpoint', 'billing', '--data', '{}');
    await other.delete(`/endpoints/${uid}`);
    const past = await run('deliveries', 'list', '--endpoint', uid, '-q');
    expect([past.code, past.stdout]).toEqual([0, expect.stringMatching(/^\w{26}\n$/)]);
  });

  it('show one thing as text, with its payload, and times that are relative on a terminal only', async () => {
    const other = await app.newProject();
    const inOther = { ...env, POSTHORN_API_KEY: other.key, POSTHORN_PROJECT: other.projectId };
    const run = async (args: string[], isTTY = false) =>
      (await runPosthorn(args, { env: inOther, isTTY })).stdout;
    const { uid } = await other.post('/endpoints', {
      name: 'shown',
      url: receiver.url,
      authentication: { type: 'api_key', api_key: { header_name: 'X-Key', header_value: 'hidden' } },
    });
    const types = ['a', 'b'];
    const made = await other.post('/subscriptions', {
      name: 's',
      endpoint_id: uid,
      event_types: types,
      filter_config: { event_types: types, filter: { body: { n: 1 } } },
    });
    const shown = await run(['subscriptions', 'get', made.uid]);
    expect(shown).toMatch(/^filter_config\.event_types +a, b$/m);
    expect(shown).toMatch(new RegExp(`^endpoint_metadata +shown \\(${uid}\\)$`, 'm'));
    expect(shown).not.toMatch(/[{}]/);
    expect(shown).toMatch(/^created_at +20\d\d-.*Z$/m);
    const onTerminal = await run(['endpoints', 'get', uid], true);
    expect(onTerminal).toMatch(/^created_at +(now|\d+ (s|min) ago)$/m);
    expect(onTerminal).not.toContain('hidden');
    const event = await other.post('/events/broadcast', {
      event_type: 'shown',
      data: { deep: { n: 1 } },
    });
    expect(await run(['events', 'get', event.uid])).toContain('"deep": {\n');
  });

  it('create, list and revoke a portal link', async () => {
    const made = await posthorn(
      'portal-links',
      'create',
      '--owner',
      'acme',
      '--data',
      '{"can_retry": false}',
    );
    expect(made.stdout).toMatch(/^url +http.*#token=/m);
    const [, id = ''] = /^uid +(\w+)$/m.exec(made.stdout) ?? [];
    const listed = await posthorn('portal-links', '--owner', 'acme');
    expect(listed.stdout).toMatch(new RegExp(`^${id} +acme +acme +0 +look +never `, 'm'));
    expect(listed.stdout).not.toContain('token=');
    expect(await json('portal-links', 'get', id)).toMatchObject({ owner_id: 'acme', can_retry: false });
    expect((await posthorn('portal-links', 'revoke', id)).stdout).toBe(`revoked: ${id}\n`);
    expect((await posthorn('portal-links', 'get', id)).code).toBe(1);
  });

  it('make a source, as YAML', async () => {
    const made = await posthorn('sources', 'create', '--name', 'in', '--type', 'http', '--output', 'yaml');
    expect(made.stdout).toMatch(/^name: in$/m);
    expect((await posthorn('sources')).stdout).toContain('http');
  });
});

describe('an event', () => {
  it('send the events of a file, and name the lines that are refused', async () => {
    const { newProject } = app;
    const own = await newProject();
    const inOwn = { ...env, POSTHORN_API_KEY: own.key, POSTHORN_PROJECT: own.projectId };
    const file = join(folder, 'events.ndjson');
    const event = (n: string) => `{"kind":"broadcast","event_type":"cli.many","data":{"n":${n}}}`;
    const lines = Array.from({ length: 1_003 }, (_, n) => event(String(n)));
    lines[2] = event('12345678901234567890');
    writeFileSync(file, lines.join('\n'));
    const args = ['trigger', '--batch', file];
    const sent = await runPosthorn(args, { env: inOwn });
    expect(sent).toEqual({
      code: 0,
      stdout: 'stored: 1003, duplicate: 0, refused: 0\n',
      stderr: 'line 1000 of 1003\nline 1003 of 1003\n',
    });
    const stored = await app.database.query(
      "select convert_from(payload, 'UTF8') as payload from events where project_id = $1 order by id",
      [own.projectId],
    );
    expect(stored.map(({ payload }) => payload)).toEqual(
      lines.map((line) => line.slice(line.indexOf('{"n"'), -1)),
    );

    const bad = [
      '',
      event('1'),
      '{"kind":',
      '7',
      '{"kind":"fanout","event_type":"a","data":1}',
      ' ',
      event('2'),
    ];
    writeFileSync(file, `${bad.join('\r\n')}\r\n`);
    const refused = await runPosthorn(args, { env: inOwn, isTTY: true });
    expect([refused.code, refused.stdout]).toEqual([1, 'stored: 2, duplicate: 0, refused: 3\n']);
    expect(refused.stderr).toContain('line 3: is not JSON: ');
    expect(refused.stderr).toContain('line 4: is not a JSON object');
    expect(refused.stderr).toContain('line 5: owner_id: is required');
    expect(refused.stderr).toContain(`[${'#'.repeat(30)}] 100% 7/7`);

    const input = `${event('1')}\n`;
    const piped = await runPosthorn(['trigger', '--batch', '-', '-q'], { env: inOwn, input });
    expect(piped).toMatchObject({ code: 0, stdout: expect.stringMatching(/^\w{26}\n$/) });
    for (const wrong of [
      ['trigger'],
      ['trigger', 'a.type', '--batch', file],
      ['trigger', '--batch', file, '--data', '{}'],
    ])
      expect(await runPosthorn(wrong, { env: inOwn })).toMatchObject({ code: 64, stdout: '' });
    const missing = await runPosthorn(['trigger', '--batch', join(folder, 'none')], { env: inOwn });
    expect(missing).toMatchObject({ code: 1, stderr: expect.stringContaining('cannot be read: ENOENT') });
  });

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
    expect((await posthorn('trigger', 'cli.sent', '--dry-run')).stdout).toMatch(
      /^would be sent: 1 delivery to 1 endpoint\n {2}\w{26}\n$/,
    );
    expect((await posthorn('trigger', 'none.sent', '--data', '1', '--dry-run')).stdout).toMatch(
      /^would be sent: 0 deliveries to 0 endpoints; .+\n$/,
    );
    expect((await posthorn('trigger', 'cli.sent')).code).toBe(0);
    expect((await receiver.received(4))[3]?.json).toEqual({ id: 1 });
    expect(await posthorn('trigger', 'cli.unknown')).toMatchObject({ code: 1 });

    const [event] = await json('events', 'list', '--limit', '1');
    expect((await posthorn('events', 'explain', String(event?.['uid']))).stdout).toContain('yes');
    await eventually(() => json('deliveries', 'list', '--status', 'Success'), { length: 4 });
    const [delivery] = await json('deliveries', 'list', '--limit', '1');
    expect(await json('deliveries', 'attempts', String(delivery?.['uid']))).toHaveLength(1);
  });

  it('is replayed and retried, after a trial without effect', async () => {
    const before = receiver.requests.length;
    expect(await posthorn('replay')).toMatchObject({ code: 64, stdout: '' });
    const trial = await json('replay', '--since', '1h', '--dry-run');
    expect(trial).toMatchObject({ total: 4 });
    const told = (await posthorn('replay', '--since', '1h', '--dry-run')).stdout;
    expect(told).toMatch(
      /^would be replayed: 4 events, as 4 deliveries to 1 endpoint; the oldest was created 20/,
    );
    expect(told).toMatch(/^ {2}e {2}4$/m);
    expect(receiver.requests.length).toBe(before);
    const { code, stdout } = await posthorn('replay', '--since', '1h');
    expect([code, stdout]).toEqual([0, expect.stringMatching(/^replayed: 4 \(job /)]);
    await receiver.received(before + 4);
    const [event] = await json('events', '--limit', '1');
    expect((await posthorn('replay', String(event?.['uid']), '--dry-run')).stdout).toBe(
      `would be replayed: ${String(event?.['uid'])} (1 new delivery to 1 endpoint)\n`,
    );
    expect((await posthorn('replay', String(event?.['uid']))).stdout).toBe(
      `replayed: ${String(event?.['uid'])}\n`,
    );
    const { endpoint: other } = await subscribe(app.project, `${receiver.url}/other`, {
      endpoint: { owner_id: 'cli' },
    });
    const [{ uid: first } = {}] = (await json('endpoints')).filter(({ uid }) => uid !== other.uid);
    const id = String(event?.['uid']);
    expect((await posthorn('replay', id, '--dry-run')).stdout).toContain('(2 new deliveries to 2 endpoints)');
    expect((await posthorn('replay', id, '--owner', 'cli', '--dry-run')).stdout).toContain(
      '(1 new delivery to 1 endpoint)',
    );
    expect((await posthorn('replay', '--endpoint', String(first), '--dry-run')).stdout).toContain(
      '4 events, as 4 deliveries to 1 endpoint;',
    );
    const limited = await posthorn('replay', '--endpoint', String(first));
    expect([limited.code, limited.stdout]).toEqual([
      0,
      expect.stringMatching(/^replayed: 4 to 1 endpoint \(job /),
    ]);
    expect(await json('deliveries', '--endpoint', other.uid)).toEqual([]);
    await posthorn('replay', id, '--owner', 'cli');
    expect(await json('deliveries', '--owner', 'cli')).toHaveLength(1);
    expect((await posthorn('replay', '--owner', 'unknown')).stderr).toContain('to_owner');
    await app.project.delete(`/endpoints/${other.uid}`);
    expect((await posthorn('deliveries', 'send-now', '--all')).stdout).toMatch(/^due now: 0 /);
    expect((await posthorn('deliveries', 'send-now', 'nothing')).stdout).toMatch(/^due now: 0 /);
    expect((await posthorn('deliveries', 'send-now')).code).toBe(64);
    expect(await posthorn('cancel', '--owner', '')).toMatchObject({ code: 64, stdout: '' });
    expect((await posthorn('retry', '--all')).stdout).toMatch(/^queued again: 0 /);
    expect((await posthorn('cancel', '--status', 'Retry')).stdout).toMatch(/^cancelled: 0 /);
    expect((await posthorn('cancel', '--all', '--dry-run')).stdout).toBe('would be cancelled: nothing\n');
    const [job] = await json('jobs');
    expect(job).toMatchObject({ type: 'batch_cancel', status: 'completed' });
    expect((await posthorn('jobs')).stdout).toMatch(/^\w{26} +batch_replay +completed +4\/4 +0 /m);
    expect(await json('jobs', 'get', String(job?.['uid']))).toEqual(job);
    expect((await posthorn('jobs', 'cancel', String(job?.['uid']))).stderr).toContain('already ended');
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

  it('is sent for later, and until then', async () => {
    const later = await json('trigger', 'cli.sent', '--data', '{}', '--delay', '3600', '--ttl', '60');
    const { uid, deliver_at, expires_at } = await app.project.get(`/events/${String(later['uid'])}`);
    expect(later['deliver_at']).toBe(deliver_at);
    expect(Date.parse(expires_at) - Date.parse(deliver_at)).toBe(60_000);
    expect((await app.project.get('/events?delayed=true')).content).toEqual([
      expect.objectContaining({ uid }),
    ]);
    for (const flags of [
      ['--delay', 'soon'],
      ['--ttl', '1.5'],
      ['--deliver-at', 'never'],
    ])
      expect((await posthorn('trigger', 'cli.sent', '--data', '{}', ...flags)).code).not.toBe(0);
  });
});

describe('an operator', () => {
  it('sees what fails and waits, in status, failures and the list of endpoints', async () => {
    const other = await app.newProject({ strategy: { type: 'linear', duration: 3600, retry_count: 9 } });
    const inOther = { ...env, POSTHORN_API_KEY: other.key, POSTHORN_PROJECT: other.projectId };
    const run = (...args: string[]) => runPosthorn(args, { env: inOther });
    expect((await run('status')).stdout).toBe(
      '0 endpoints.\n0 deliveries wait.\nLast 24 hours: 0 delivered, 0 failed, 0 of 0 attempts failed.\n',
    );
    const fields = { name: 'billing', url: 'http://127.0.0.1:9/', owner_id: 'acme' };
    const { uid } = await other.post('/endpoints', fields);
    await other.post('/subscriptions', { name: 's', endpoint_id: uid, event_types: ['*'] });
    await other.post('/events/broadcast', { event_type: 'a', data: {} });
    const { stdout: failures } = await eventually(() => run('failures'), { stdout: /connection_refused/ });
    expect(failures).toMatch(
      new RegExp(`^${uid} +billing +acme +connection_refused +0 +1 .*connection refused by 127`, 'm'),
    );
    expect((await run('failures', '-q')).stdout).toBe(`${uid}\n`);
    expect((await run('status', '-q')).stdout).toBe(`${uid}\n`);
    expect((await run('failures', '--owner', 'other')).stderr).toBe('none found\n');
    const status = (await run('status')).stdout;
    expect(status).toContain('1 endpoint: failing 1.\n1 delivery waits: retry 1.\n');
    expect(status).toMatch(
      new RegExp(`^${uid} +billing +acme +failing +20\\S+Z +100 % +1 +connection_refused `, 'm'),
    );
    const told = JSON.parse((await run('status', '--output', 'json')).stdout);
    expect(told).toMatchObject({ waiting: { retry: 1 }, endpoints: [{ endpoint_id: uid, open: 1 }] });
    await app.database.query(
      `with v as (update projects set version = version + 1 where id = $2 returning version)
       insert into endpoint_breakers (endpoint_id, project_id, version, state, trips, probes, changed_at)
       select $1, $2, version, 'open', 1, 0, now() from v`,
      [uid, other.projectId],
    );
    await eventually(
      () => run('endpoints'),
      ({ stdout }) =>
        new RegExp(`^${uid} +billing +failing +20\\S+Z +circuit_breaker, probe 20\\S+Z +1 `, 'm').test(
          stdout,
        ),
    );
    expect((await run('status')).stdout).toContain('circuit_breaker, probe ');
    const tested = await run('endpoints', 'test', 'billing');
    expect([tested.code, tested.stdout]).toEqual([
      1,
      expect.stringMatching(/^failed: .*\nThe test went through the circuit breaker\. It stays open\.\n$/),
    ]);
    expect((await run('deliveries', 'send-now', '--endpoint', uid, '--dry-run')).stdout).toMatch(
      /^would be due now: 1 delivery to 1 endpoint; .*\n {2}billing {2}1\nlast results: connection_refused 1\n$/,
    );
    expect((await run('deliveries', 'send-now', '--endpoint', uid)).stdout).toMatch(/^due now: 1 /);
  });

  it('gets an error at once if a state or a secret does not exist', async () => {
    expect(await posthorn('tail', '--status', 'Broken')).toMatchObject({
      code: 64,
      stderr: expect.stringContaining('--status must be one of Scheduled, Processing, Discarded'),
    });
    const empty = join(folder, 'empty.txt');
    writeFileSync(empty, '');
    const verify = (secret: string) =>
      posthorn('verify', '--secret', secret, '--data', '{}', '--headers', empty);
    expect((await verify('env:NOPE')).stderr).toContain('the environment variable NOPE has no secret');
    expect((await verify('env:SECRET')).stderr).toContain(`${empty} has no headers`);
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
    const whole = { ...credentials, instance_key: app.instance.key };
    const start = join(folder, 'start');
    mkdirSync(join(start, '.posthorn'), { recursive: true });
    writeFileSync(join(start, '.posthorn/credentials.json'), JSON.stringify(whole));
    const inFolder = { env: { POSTHORN_DATA_DIR: join(start, '.posthorn') } };
    expect((await runPosthorn(['events'], inFolder)).code).toBe(0);
    // Commands that were copied from a page of another project are for that project.
    const other = await app.newProject();
    const projects = [app.projectId, other.projectId];
    for (const project of projects)
      expect((await runPosthorn(['events', '--project', project], inFolder)).code).toBe(0);
    const keys = projects.map((project) =>
      execFileSync('sh', ['-euc', `${keyCommand(project)}; echo "$key"`], { cwd: start, encoding: 'utf8' }),
    );
    expect(keys).toEqual([`${app.project.key}\n`, `${app.instance.key}\n`]);
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

it('lists held ordering keys and skips them', async () => {
  const scene = await heldScene(app);
  scene.refused.add(1);
  for (let n = 1; n <= 2; n++) await scene.send('account 7', n);
  const [key] = await scene.held(1);
  const own = {
    POSTHORN_URL: app.url,
    POSTHORN_API_KEY: scene.client.key,
    POSTHORN_PROJECT: scene.client.projectId,
  };
  const run = (...args: string[]) => runPosthorn(['ordering-keys', ...args], { env: own });
  const listed = await run('--held');
  expect([listed.code, listed.stdout]).toEqual([0, expect.stringContaining('account 7')]);
  expect((await run('--subscription', 'none', '-q')).code).toBe(1);
  const [waiting] = (await scene.client.get('/eventdeliveries?waitingFor=order')).content;
  const behind = await runPosthorn(['deliveries', 'get', waiting.uid], { env: own });
  expect(behind.stdout).toMatch(new RegExp(`^waits_behind\\.event_delivery_id +${key?.head_id}$`, 'm'));
  expect(behind.stdout).toMatch(/^waits_behind\.acts +resend, skip$/m);
  expect(behind.stderr).toContain(
    `posthorn retry ${key?.head_id}\n  posthorn ordering-keys skip '${key?.uid}'\n`,
  );
  // Sent without regard to order, the failed delivery arrives, and its key stays held.
  const ignoring = ['retry', key?.head_id, '--order'];
  expect((await runPosthorn([...ignoring, 'never'], { env: own })).code).toBe(64);
  scene.refused.clear();
  expect((await runPosthorn([...ignoring, 'ignore'], { env: own })).code).toBe(0);
  const seen = (many: number) => eventually(async () => scene.seen('account 7'), { length: many });
  expect(await seen(2)).toEqual([1, 1]);
  const replayed = ['replay', '--all', '--order', 'ignore'];
  expect((await runPosthorn(replayed, { env: own })).stdout).toMatch(/^replayed: 2 /);
  expect((await seen(4)).toSorted((a, b) => a - b)).toEqual([1, 1, 1, 2]);
  expect((await run('skip')).code).toBe(64);
  const skipped = await run('skip', key?.uid);
  expect([skipped.code, skipped.stderr, skipped.stdout]).toEqual([0, '', '1 delivery due now\n']);
  const again = await run('skip', key?.uid);
  expect([again.code, again.stderr]).toEqual([
    1,
    expect.stringContaining('None of these ordering keys is held'),
  ]);
  expect((await run('--held', '-q')).stdout).toBe('');
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
    await eventually(() => app.project.get(`/sources/${uid}`), { status: { state: 'waiting' } });
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
