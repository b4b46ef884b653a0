import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse, stringify } from 'yaml';
import { startTestApp } from '../support/app.ts';
import type { ApiClient, Json } from '../support/client.ts';
import { runPosthorn } from '../support/command.ts';
import { temporaryFolder } from '../support/samples/temporary-folder.ts';
import { shared } from '../support/shared.ts';
import { startInBetween } from './in-between.ts';

const app = await shared(startTestApp());
const folder = temporaryFolder(afterAll);
const SECRET = 'a signing secret';

const environment = (client: ApiClient) => ({
  POSTHORN_URL: app.url,
  POSTHORN_API_KEY: client.key,
  XDG_STATE_HOME: join(folder, 'state'),
  XDG_CONFIG_HOME: folder,
  HOOK_SECRET: SECRET,
  PASSWORD: 'a password',
  VERIFIER: 'a verifier secret',
});
const posthorn = (client: ApiClient, ...args: string[]) => runPosthorn(args, { env: environment(client) });

async function exported(client: ApiClient): Promise<string> {
  const { code, stdout, stderr } = await posthorn(client, 'export');
  expect([code, stderr]).toEqual([0, '']);
  return stdout;
}

function save(name: string, document: unknown): string {
  const file = join(folder, name);
  writeFileSync(file, typeof document === 'string' ? document : stringify(document));
  return file;
}

/** A project with something of everything. */
async function fillProject(client: ApiClient): Promise<void> {
  await client.post('/event-types', {
    name: 'invoice.paid',
    description: 'An invoice was paid.',
    json_schema: { type: 'object', properties: { id: { type: 'integer' } } },
  });
  const source = await client.post('/sources', {
    name: 'My GitHub',
    type: 'http',
    provider: 'github',
    verifier: { type: 'hmac', hmac: { secret: 'a verifier secret' } },
    idempotency_keys: ['request.header.x-github-delivery'],
  });
  const billing = await client.post('/endpoints', {
    name: 'Billing',
    url: 'http://127.0.0.1:9/billing',
    secret: SECRET,
    rate_limit: 10,
    rate_limit_duration: 1,
    authentication: { type: 'basic_auth', basic_auth: { username: 'ann', password: 'a password' } },
    signing_key: { type: 'ed25519' },
    expires_at: '2099-01-31T12:00:00+01:00',
  });
  const paused = await client.post('/endpoints', { name: 'Billing', url: 'http://127.0.0.1:9/second' });
  await client.put(`/endpoints/${paused.uid}/pause`, undefined);
  await client.post('/endpoints', { name: 'pulled', delivery: 'pull' });
  const subscription = await client.post('/subscriptions', {
    name: 'invoices',
    endpoint_id: billing.uid,
    source_id: source.uid,
    filter_config: { event_types: ['invoice.paid', 'invoice.*'], filter: { body: { amount: { $gt: 5 } } } },
    retry_config: { type: 'exponential', interval_seconds: 7, retry_count: 3 },
    rate_limit_config: { count: 3, duration: 60 },
    alert_config: { count: 4, threshold: '1h' },
    batch: { max: 50, max_bytes: 20_000, max_wait_seconds: 5 },
  });
  const [filter] = await client.get(`/subscriptions/${subscription.uid}/filters`);
  await client.put(`/subscriptions/${subscription.uid}/filters/${filter.uid}`, { body: { amount: 7 } }, 200);
}

describe('a project as a file', () => {
  let from: ApiClient;
  let file: string;
  let text: string;

  beforeAll(async () => {
    from = await app.newProject({ strategy: { type: 'exponential', duration: 9, retry_count: 4 } });
    await fillProject(from);
    text = await exported(from);
    const document = parse(text) as Record<string, Record<string, unknown>[]>;
    Object.assign(document['sources']?.[0] ?? {}, {
      verifier: { type: 'hmac', hmac: { header: '', hash: '', encoding: '', secret: 'env:VERIFIER' } },
    });
    const billing = document['endpoints']?.find(({ key }) => key === 'billing');
    Object.assign(billing ?? {}, {
      secret: 'env:HOOK_SECRET',
      authentication: { type: 'basic_auth', basic_auth: { username: 'ann', password: 'env:PASSWORD' } },
    });
    file = save('shop.yaml', document);
  });

  it('has keys and references, and no secret', () => {
    expect(text).not.toMatch(/a signing secret|a password|a verifier secret/);
    expect(parse(text)).toMatchObject({
      version: 1,
      settings: { strategy: { type: 'exponential', duration: 9, retry_count: 4 } },
      endpoints: [
        { key: 'billing', rate_limit: 10, expires_at: '2099-01-31T11:00:00.000Z' },
        { key: 'billing-2', status: 'paused' },
        { key: 'pulled', delivery: 'pull' },
      ],
      subscriptions: [
        {
          key: 'invoices',
          endpoint: 'billing',
          source: 'my-github',
          batch: { max: 50, max_bytes: 20_000, max_wait_seconds: 5 },
        },
      ],
    });
  });

  // proves Endpoints: key
  // proves Subscriptions: key
  // proves Sources: key
  it('export, apply into an empty project, export again: the same file', async () => {
    const empty = await app.newProject();
    const planned = await posthorn(empty, 'plan', '-f', file);
    expect([planned.code, planned.stderr]).toEqual([2, '']);
    expect(planned.stdout).toContain('+ create endpoint billing\n');
    const applied = await posthorn(empty, 'apply', '-f', file);
    expect([applied.code, applied.stderr]).toEqual([0, '']);
    expect(applied.stdout).toContain('generated a secret for endpoint billing-2');
    expect(applied.stdout).not.toContain('generated a secret for endpoint billing:');
    expect(await exported(empty)).toBe(text);
    // The values of the environment arrived.
    const { content } = await empty.get('/endpoints');
    const billing = content.find(({ key }: { key: string }) => key === 'billing');
    expect(billing.secrets[0].value).toBe(SECRET);
    expect(billing.authentication.basic_auth.password).toBe('a password');

    // Twice changes nothing, also with the exported file, which has no secrets.
    for (const same of [file, save('plain.yaml', text)]) {
      expect(await posthorn(empty, 'plan', '-f', same)).toMatchObject({ code: 0, stdout: 'No changes.\n' });
      expect(await posthorn(empty, 'apply', '-f', same)).toMatchObject({ code: 0, stdout: 'No changes.\n' });
    }
  });

  it('is applied only on the config of its plan', async () => {
    const target = await app.newProject();
    expect((await posthorn(target, 'plan', '-f', file)).code).toBe(2);
    await target.post('/endpoints', { name: 'other', url: 'http://127.0.0.1:9/other' });
    const refused = await posthorn(target, 'apply', '-f', file);
    expect([refused.code, refused.stdout]).toEqual([1, '']);
    expect(refused.stderr).toMatch(
      /^posthorn: the config changed since the plan .*run posthorn plan again\n$/,
    );
    expect((await target.get('/endpoints')).content).toHaveLength(1);
    const again = await posthorn(target, 'plan', '-f', file);
    const version = /config version (\w+)/.exec(again.stdout)?.[1] ?? '';
    expect((await posthorn(target, 'apply', '-f', file, '--config-version', version)).code).toBe(0);
  });

  it('stops when another caller changes the config while it is applied', async () => {
    const target = await app.newProject();
    const other = { name: 'other', url: 'http://127.0.0.1:9/other' };
    const inBetween = await startInBetween(app.url, async (changes) => {
      if (changes === 3) await target.post('/endpoints', other);
      return undefined;
    });
    try {
      const env = { ...environment(target), POSTHORN_URL: inBetween.url };
      const stopped = await runPosthorn(['apply', '-f', file], { env });
      // Settings, event type and source are first, and the endpoint is the fourth.
      expect([stopped.code, stopped.stderr]).toEqual([
        1,
        expect.stringMatching(
          /^posthorn: another caller changed the config after 3 of 7 changes; run posthorn plan again/,
        ),
      ]);
      expect((await target.get('/endpoints')).content).toMatchObject([other]);
      expect((await target.get('/sources')).content).toHaveLength(1);
      const applied = await runPosthorn(['apply', '-f', file], { env });
      expect(applied.stdout).toContain('4 changes applied.');
    } finally {
      await inBetween.stop();
    }
  });

  it('lists every refusal with its item before anything is changed', async () => {
    const target = await app.newProject({ ssl: { enforce_secure_endpoints: true } });
    const url = 'https://127.0.0.1:9/';
    const wrong = save('refused.yaml', {
      version: 1,
      settings: { multiple_endpoint_subscriptions: false, search_policy: 'long' },
      event_types: [{ key: 'a.b' }, { key: 'c.d', json_schema: { type: 'nonsense' } }],
      sources: [{ key: 'queue', name: 'queue', type: 'pub_sub', pub_sub: { type: 'amqp', amqp: {} } }],
      endpoints: [
        { key: 'fine', name: 'fine', url },
        { key: 'plain', name: 'plain', url: 'http://127.0.0.1:9/' },
        { key: 'far', name: 'far', url: 'ftp://example.com' },
        { key: 'unset', name: 'unset', url, secret: 'env:UNSET' },
        { key: 'odd', name: 'odd', url, status: 'stopped' },
      ],
      subscriptions: [
        { key: 'first', name: 'first', endpoint: 'fine', status: 'paused' },
        { key: 'second', name: 'second', endpoint: 'fine', filter: { body: { a: { $nonsense: 1 } } } },
        {
          key: 'third',
          name: 'third',
          endpoint: 'far',
          function: 'nonsense(',
          event_types: ['c.d'],
          filters: [{ event_type: 'c.d', body: { $or: 1 } }],
        },
      ],
    });
    const refusals = `! settings: search_policy must be a duration such as 720h
! event type c.d: json_schema.type must be equal to one of the allowed values
! source queue: pub_sub.amqp.host is required; pub_sub.amqp.queue is required
! endpoint plain: url must start with https://, because ssl.enforce_secure_endpoints is true
! endpoint far: url must be an http or https URL with a host
! endpoint unset: the environment variable UNSET has no secret; set it and run the command again
! endpoint odd: status must be active, paused or inactive
! subscription first: status must be active or inactive
! subscription second: endpoint fine has the subscription first, and multiple_endpoint_subscriptions is false: set it to true
! subscription second: filter.body.a.$nonsense there is no operator $nonsense
! subscription third: function line 1: Unexpected end of input (line 1)
! subscription third: the filter of c.d: body.$or $or takes a list of filters
posthorn: 12 refusals, and nothing was changed; correct the items above in ${wrong} and run posthorn plan again
`;
    for (const command of ['plan', 'apply'])
      expect(await posthorn(target, command, '-f', wrong)).toMatchObject({ code: 1, stderr: refusals });
    expect((await target.get('/event-types')).map(({ name }: Json) => name)).toEqual(['*']);
  });

  it('checks items under the settings of the file, which are applied first', async () => {
    const strict = { ssl: { enforce_secure_endpoints: true }, multiple_endpoint_subscriptions: false };
    const target = await app.newProject(strict);
    const file = save('loose.yaml', {
      version: 1,
      settings: { ssl: { enforce_secure_endpoints: false }, multiple_endpoint_subscriptions: true },
      endpoints: [{ key: 'e', name: 'e', url: 'http://127.0.0.1:9/' }],
      subscriptions: ['a', 'b'].map((key) => ({ key, name: key, endpoint: 'e' })),
    });
    expect(await posthorn(target, 'plan', '-f', file)).toMatchObject({ code: 2, stderr: '' });
    expect(await posthorn(target, 'apply', '-f', file)).toMatchObject({ code: 0, stderr: '' });
  });

  it('leaves a source as it reads CloudEvents, if the file does not say', async () => {
    const target = await app.newProject();
    const source = { key: 's', name: 's', type: 'http' };
    const apply = async (fields: object) => {
      const file = save('cloud.yaml', { version: 1, sources: [{ ...source, ...fields }] });
      const { code, stderr } = await posthorn(target, 'apply', '-f', file);
      expect([code, stderr]).toEqual([0, '']);
      return (await target.get('/sources')).content.map(({ cloudevents }: Json) => cloudevents);
    };
    expect(await apply({})).toEqual([true]);
    expect(await apply({ cloudevents: false })).toEqual([false]);
    expect(parse(await exported(target)).sources).toMatchObject([{ key: 's', cloudevents: false }]);
    expect(await apply({ name: 'other' })).toEqual([false]);
    expect(await apply({ cloudevents: true })).toEqual([true]);
  });

  it('gives an endpoint each status from each other', async () => {
    const target = await app.newProject();
    const states = ['inactive', 'paused', 'active', 'paused', 'inactive', 'active'];
    for (const status of states) {
      const endpoints = [{ key: 'e', name: 'e', url: 'http://127.0.0.1:9/', status }];
      const applied = await posthorn(target, 'apply', '-f', save('status.yaml', { version: 1, endpoints }));
      expect([status, applied.code, applied.stderr]).toEqual([status, 0, '']);
      expect((await target.get('/endpoints')).content).toMatchObject([{ status }]);
    }
  });

  it('an apply that was cut off says how far it came, and the next one goes on there', async () => {
    const target = await app.newProject();
    const inBetween = await startInBetween(app.url, async (changes) =>
      changes === 3 ? 'refuse' : undefined,
    );
    try {
      const env = { ...environment(target), POSTHORN_URL: inBetween.url };
      expect((await runPosthorn(['plan', '-f', file], { env })).code).toBe(2);
      const stopped = await runPosthorn(['apply', '-f', file], { env });
      expect(stopped.stdout).toMatch(/^~ update settings: strategy \(1 of 7\)\n[^]*\(3 of 7\)\n$/);
      expect([stopped.code, stopped.stderr]).toEqual([
        1,
        expect.stringMatching(
          /^posthorn: stopped at change 4 of 7, create endpoint billing: .*HTTP 500.* 3 were made\. Then run posthorn apply again: it goes on there\n$/,
        ),
      ]);
      const next = await runPosthorn(['apply', '-f', file], { env });
      expect([next.code, next.stderr]).toEqual([0, '']);
      expect(next.stdout).toMatch(/^\+ create endpoint billing \(1 of 4\)\n[^]*4 changes applied\.\n$/);
    } finally {
      await inBetween.stop();
    }
    expect(await exported(target)).toBe(text);
  });

  it('has retries as a list, of the project and of a subscription, and only the list', async () => {
    const target = await app.newProject();
    const of = (retry_config: object) =>
      save('listed.yaml', {
        version: 1,
        settings: { strategy: { schedule: ['2s', '3h'] } },
        endpoints: [{ key: 'e', name: 'e', url: 'http://127.0.0.1:9/' }],
        subscriptions: [{ key: 's', name: 's', endpoint: 'e', retry_config }],
      });
    const path = of({ schedule: ['5s', '1h'] });
    expect((await posthorn(target, 'apply', '-f', path)).code).toBe(0);
    expect((await posthorn(target, 'plan', '-f', path)).code).toBe(0);
    const [{ retry_config }] = (await target.get('/subscriptions')).content;
    expect(retry_config).toMatchObject({ retry_count: 2, schedule: ['5s', '1h'] });
    expect(parse(await exported(target))).toMatchObject({
      settings: { strategy: { type: 'exponential', duration: 2, retry_count: 3, schedule: ['2s', '3h'] } },
      subscriptions: [{ key: 's', retry_config: { schedule: ['5s', '1h'] } }],
    });
    const refused = await posthorn(target, 'apply', '-f', of({ schedule: ['5s', 'soon'] }));
    expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining('retry_config.schedule.1')]);
  });

  it('has the usual values of the parts of a group that it does not name', async () => {
    const empty = await app.newProject();
    const some = save('groups.yaml', {
      version: 1,
      endpoints: [{ key: 'e', name: 'e', url: 'http://127.0.0.1:9' }],
      subscriptions: [
        { key: 's', name: 's', endpoint: 'e', ordering: { key: 'endpoint' }, batch: { max: 10 } },
      ],
    });
    expect((await posthorn(empty, 'apply', '-f', some)).code).toBe(0);
    expect(await posthorn(empty, 'plan', '-f', some)).toMatchObject({ code: 0, stdout: 'No changes.\n' });
  });

  it('has the names of variables; their values come from the environment, and stay where it names none', async () => {
    const target = await app.newProject();
    const of = (variables: object) => save('variables.yaml', { version: 1, settings: { variables } });
    const stored = async () => (await target.get('')).variables;
    const refused = async (variables: object) => {
      const { code, stderr } = await posthorn(target, 'apply', '-f', of(variables));
      expect(await stored()).toEqual({});
      return [code, stderr.split('\n')[0]];
    };
    const advice = 'write env:NAME or file:PATH';
    expect(await refused({ A: 'x' })).toEqual([
      1,
      `! settings: the variable A is written in the file; ${advice} instead`,
    ]);
    expect(await refused({ A: '' })).toEqual([1, `! settings: the variable A has no value; ${advice} there`]);
    expect(await refused({ '1': 'env:PASSWORD' })).toEqual([1, expect.stringContaining('"1" is no name')]);
    const applied = await posthorn(target, 'apply', '-f', of({ A: 'env:PASSWORD', B: 'env:VERIFIER' }));
    expect([applied.code, applied.stdout]).toEqual([
      0,
      '~ update settings: variables (1 of 1)\n1 change applied.\n',
    ]);
    const text = await exported(target);
    expect(parse(text).settings.variables).toEqual({ A: '', B: '' });
    const withFiles = await posthorn(target, 'export', '--secrets', join(folder, 'of variables'));
    expect(parse(withFiles.stdout).settings.variables).toEqual({ A: '', B: '' });
    expect((await posthorn(target, 'plan', '-f', save('same.yaml', text))).stdout).toBe('No changes.\n');
    // One that the file leaves out goes, and the other has its value.
    expect((await posthorn(target, 'apply', '-f', of({ A: '' }))).code).toBe(0);
    expect(await stored()).toEqual({ A: '***' });
    const tried = await target.post(
      '/subscriptions/test_function',
      {
        type: 'body',
        function:
          'export const version = 2; function transform(p, e) { return { body: { isKept: e.variables.A === "a password" } }; }',
        payload: {},
      },
      200,
    );
    expect(tried.payload).toEqual({ isKept: true });
    expect((await posthorn(target, 'apply', '-f', of({}))).code).toBe(0);
    expect(await stored()).toEqual({});
    expect((await posthorn(target, 'plan', '-f', of({}))).code).toBe(0);
  });

  it('has endpoints that send to brokers, without their credentials', async () => {
    const client = await app.newProject();
    const amqp = { host: 'rabbit.example.org', exchange: 'x', auth: { user: 'u', password: 'a password' } };
    await client.post('/endpoints', { name: 'q', delivery: 'broker', broker: { type: 'amqp', amqp } });
    const text = await exported(client);
    expect(text).toContain('rabbit.example.org');
    expect(text).not.toContain('a password');
    const document = parse(text) as Json;
    document.endpoints[0].broker.amqp.auth.password = 'env:PASSWORD';
    const copy = await app.newProject();
    const saved = save('broker.yaml', document);
    const applied = await posthorn(copy, 'apply', '-f', saved);
    expect([applied.code, applied.stderr]).toEqual([0, '']);
    const [made] = (await copy.get('/endpoints')).content;
    expect(made).toMatchObject({ delivery: 'broker', broker: { type: 'amqp', amqp } });
    for (const same of [saved, save('plain-broker.yaml', text)])
      expect(await posthorn(copy, 'plan', '-f', same)).toMatchObject({ code: 0, stdout: 'No changes.\n' });
    document.endpoints[0].broker = undefined;
    document.endpoints[0].delivery = 'pull';
    expect((await posthorn(copy, 'apply', '-f', save('pulled.yaml', document))).code).toBe(0);
    expect((await copy.get('/endpoints')).content).toMatchObject([{ delivery: 'pull', broker: null }]);
  });

  it('removes the schema of an event type that has none in the file', async () => {
    const target = await app.newProject();
    const of = (json_schema: object | null) =>
      save('types.yaml', { version: 1, event_types: [{ key: 'a.b', json_schema }] });
    await posthorn(target, 'apply', '-f', of({ type: 'object' }));
    const removed = await posthorn(target, 'apply', '-f', of(null));
    expect(removed.stdout).toBe('~ update event type a.b: json_schema (1 of 1)\n1 change applied.\n');
    const types = await target.get('/event-types');
    expect(types.find(({ name }: Json) => name === 'a.b').json_schema).toBeNull();
  });

  it('updates what differs, and deletes only with --prune, and never what has no key', async () => {
    const target = await app.newProject();
    await posthorn(target, 'apply', '-f', file);
    const customers = await target.post('/endpoints', {
      name: 'of a customer',
      url: 'http://127.0.0.1:9/customer',
    });
    const document = parse(readFileSync(file, 'utf8')) as Record<string, Record<string, unknown>[]>;
    const [billing] = document['endpoints'] ?? [];
    const changed = save('changed.yaml', {
      ...document,
      endpoints: [{ ...billing, name: 'Invoices', status: 'paused' }],
      subscriptions: document['subscriptions']?.map((one) => ({ ...one, filters: [], status: 'inactive' })),
    });
    const kept = await posthorn(target, 'apply', '-f', changed);
    expect(kept.stdout).toBe(
      '~ update endpoint billing: name, status (1 of 2)\n~ update subscription invoices: status, filters (2 of 2)\n2 changes applied.\n',
    );
    const pruned = await posthorn(target, 'apply', '-f', changed, '--prune');
    expect(pruned.stdout).toBe(
      '- delete endpoint billing-2 (1 of 2)\n- delete endpoint pulled (2 of 2)\n2 changes applied.\n',
    );
    const { content } = await target.get('/endpoints');
    expect(
      content.map(({ uid, name, status }: Record<string, string>) => [uid === customers.uid, name, status]),
    ).toEqual([
      [true, 'of a customer', 'active'],
      [false, 'Invoices', 'paused'],
    ]);
    expect(await posthorn(target, 'plan', '-f', changed, '--prune')).toMatchObject({ code: 0 });
  });

  it.each([
    ['nonsense: [', 64, /not YAML/],
    ['version: 2', 64, /must begin with "version: 1"/],
    ['version: 1\nendpoints: [{name: x, url: y}]', 64, /item 1 of endpoints has no key/],
    ['version: 1\nendpoints: [{key: a, name: x, url: y, ulr: z}]', 64, /unknown field "ulr"/],
    [
      'version: 1\nsubscriptions: [{key: a, name: x, endpoint: none}]',
      64,
      /names an endpoint that is not in the file/,
    ],
    [
      'version: 1\nendpoints: [{key: a, name: x, url: "http://127.0.0.1:9", secret: plain}]',
      1,
      /is written in the file/,
    ],
    [
      'version: 1\nendpoints: [{key: a, name: x, url: "http://127.0.0.1:9", secret: "env:UNSET"}]',
      1,
      /UNSET/,
    ],
  ])('%j is refused', async (content, code, problem) => {
    const result = await posthorn(from, 'plan', '-f', save('wrong.yaml', content));
    expect([result.code, result.stderr]).toEqual([code, expect.stringMatching(problem)]);
  });

  it('cannot control the terminal: not by a plan, an export, or a problem of the file', async () => {
    const target = await app.newProject();
    const evil = 'a\u001b[2Jb\u009b31mc\u202ed';
    const items = [{ key: evil, name: evil, url: 'http://127.0.0.1:9/', delivery: 'pull' }];
    const outputs = [
      await posthorn(target, 'plan', '-f', save('evil.yaml', { version: 1, endpoints: items })),
    ];
    expect(outputs[0]?.stdout).toMatch(/^\+ create endpoint a/);
    await target.post('/endpoints', { name: evil, url: 'http://127.0.0.1:9/' });
    const { stdout } = await posthorn(target, 'export');
    expect((parse(stdout) as Json).endpoints[0].name).toBe(evil);
    outputs.push({ code: 0, stdout, stderr: '' });
    for (const content of [
      { version: 1, [evil]: [] },
      { version: 1, endpoints: [{ ...items[0], [evil]: 1 }] },
      `version: 1\n"${evil}`,
      `version: 1\nsettings: *${evil}`,
    ]) {
      const refused = await posthorn(target, 'apply', '-f', save('evil.yaml', content));
      expect(refused.code).toBe(64);
      outputs.push(refused);
    }
    for (const output of outputs) expect(output.stdout + output.stderr).not.toMatch(/[^\P{Cc}\n]/u);
  });

  it('comes with its secrets in files where that is asked for', async () => {
    const secrets = join(folder, 'secrets');
    const { stdout } = await posthorn(from, 'export', '--secrets', secrets);
    expect(readFileSync(join(secrets, 'endpoints.billing.secret'), 'utf8')).toBe(SECRET);
    for (const name of readdirSync(secrets)) expect(statSync(join(secrets, name)).mode & 0o777).toBe(0o600);
    const target = await app.newProject();
    expect((await posthorn(target, 'apply', '-f', save('with-secrets.yaml', stdout))).code).toBe(0);
    const { content } = await target.get('/endpoints?q=Billing');
    const values = content.map(({ secrets: [first] }: { secrets: { value: string }[] }) => first?.value);
    expect(values).toContain(SECRET);
  });

  it('a key is unique per kind, and a portal link cannot take one', async () => {
    const target = await app.newProject();
    const body = { name: 'one', url: 'http://127.0.0.1:9/', key: 'same' };
    await target.post('/endpoints', body);
    const { fields } = await target.post('/endpoints', body, 400);
    expect(fields).toEqual([{ field: 'key', problem: expect.stringContaining('same') }]);
    const link = await target.post('/portal-links', { name: 'l', owner_id: 'o', can_manage_endpoint: true });
    const response = await fetch(`${app.url}/portal-api/endpoints`, {
      method: 'POST',
      headers: { authorization: `Bearer ${link.token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ ...body, key: 'billing' }),
    });
    expect(((await response.json()) as { data: { key: string } }).data.key).toBe('');
  });
});
