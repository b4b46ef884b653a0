import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { startTestApp } from '../support/app.ts';
import type { ApiClient, Json } from '../support/client.ts';
import { runPosthorn } from '../support/command.ts';
import { temporaryFolder } from '../support/samples/temporary-folder.ts';
import { shared } from '../support/shared.ts';
import { startRecordedConvoy } from './recorded-convoy.ts';
import { RECORDED_KEY, startRecorded, startRecordedOutpost, startRecordedSvix } from './recorded-services.ts';

const app = await shared(startTestApp());
const folder = temporaryFolder(afterAll);

const environment = (client: ApiClient) => ({
  POSTHORN_URL: app.url,
  POSTHORN_API_KEY: client.key,
  XDG_STATE_HOME: join(folder, 'state'),
  XDG_CONFIG_HOME: folder,
});
const posthorn = (client: ApiClient, ...args: string[]) => runPosthorn(args, { env: environment(client) });

function save(name: string, text: string): string {
  const file = join(folder, name);
  writeFileSync(file, text);
  return file;
}

const convoy = await shared(startRecordedConvoy());
const fromConvoy = ['export', '--from', 'convoy', '--url', convoy.url, '--project', convoy.project];
const ofConvoy = { CONVOY_API_KEY: convoy.key };

it('a Convoy is read, planned and applied, and what stays behind is listed', async () => {
  const secrets = join(folder, 'convoy');
  const { code, stdout, stderr } = await runPosthorn([...fromConvoy, '--secrets', secrets], {
    env: ofConvoy,
  });
  const listed = `not carried over, or changed:
  - The setting retention_policy_enabled of the project has no counterpart, or is set per instance.
  - The setting meta_event.pub_sub of the project has no counterpart, or is set per instance.
  - 1 subscription of the type cli: posthorn listen makes its own.
  - Old secrets of the endpoint endpoint 2, which are about to expire.
  - The ingest URL of the source github (https://convoy.example.com/ingest/abcdefgh): senders need the new one.
  - The source orders is disabled in the file, because two readers would share its messages: enable it when Convoy no longer reads them.
  - The source bound is disabled in the file, because two readers would share its messages: enable it when Convoy no longer reads them.
  - The source clicks is disabled in the file, because two readers would share its messages: enable it when Convoy no longer reads them.
  - Events, deliveries, attempts, portal links and API keys stay in Convoy.
  - authentication.basic_auth.password of the endpoint endpoint-1, which Convoy does not show: write env:NAME or file:PATH there.
`;
  expect([code, stderr]).toEqual([0, expect.stringContaining(`posthorn: ${listed}`)]);
  expect(stdout.startsWith(listed.replaceAll(/^/gm, '# ').slice(0, -2))).toBe(true);
  expect(convoy.writes).toEqual([]);
  expect(convoy.requests.join()).not.toMatch(/\/(events|eventdeliveries|portal-links|keys)\b/);

  const target = await app.newProject();
  const file = save('convoy.yaml', stdout);
  const planned = await posthorn(target, 'plan', '-f', file);
  expect([planned.code, planned.stderr]).toEqual([
    1,
    `! endpoint endpoint-1: authentication.basic_auth.password of endpoint endpoint-1 has no value; write env:NAME or file:PATH there
posthorn: 1 refusal, and nothing was changed; correct the items above in ${file} and run posthorn plan again
`,
  ]);
  const password = save('password', 'a password');
  save(
    'convoy.yaml',
    stdout.replace('username: ann\n', `username: ann\n        password: file:${password}\n`),
  );
  expect(await posthorn(target, 'plan', '-f', file)).toMatchObject({ code: 2, stderr: '' });
  const applied = await posthorn(target, 'apply', '-f', file);
  expect([applied.code, applied.stderr]).toEqual([0, '']);
  expect(applied.stdout).toContain('+ create endpoint billing (8 of 77)');
  expect((await posthorn(target, 'plan', '-f', file)).code).toBe(0);
  const { content } = await target.get('/subscriptions?perPage=100&sort=ASC');
  expect(content).toHaveLength(40);
  expect(content[0]).toMatchObject({
    name: 'invoices',
    endpoint_metadata: { name: 'billing', secrets: [{ value: 'the secret of convoy' }] },
    filter_config: { event_types: ['invoice.paid'] },
  });
  const { content: sources } = await target.get('/sources');
  const known = Object.fromEntries(sources.map((source: Json) => [source.name, source]));
  const disabled = sources.filter(({ is_disabled }: Json) => is_disabled).map(({ name }: Json) => name);
  expect(new Set(disabled)).toEqual(new Set(['bound', 'clicks', 'old', 'orders']));
  expect(known.bound.pub_sub.amqp).toMatchObject({ bindedExchange: 'shop', routingKey: 'orders.*' });
  expect(stdout.match(/bindExchange/g)).toHaveLength(1);
  // Secrets of brokers, verifiers and meta events are carried over, too.
  expect((await target.get('')).config.meta_event.secret).toBe('of meta events');
  expect(known.orders.pub_sub.amqp.auth.password).toBe('of amqp');
  expect(known.github.verifier.hmac.secret).toBe('of github');
  for (const name of readdirSync(secrets))
    expect(readFileSync(join(secrets, name), 'utf8')).not.toContain('REDACTED');
});

it('without --secrets an export says that secrets stay behind, and what is in the file has none', async () => {
  const { stdout, stderr } = await runPosthorn(fromConvoy, { env: ofConvoy });
  expect(stderr).toMatch(/^ {2}- Secrets, unless --secrets names a directory\.$/m);
  expect(stdout).not.toMatch(/the secret of convoy|of amqp|of github|of meta events/);
});

it('a key that is refused is named, and a key of Posthorn is never sent to a Convoy', async () => {
  expect(await runPosthorn(fromConvoy, { env: { CONVOY_API_KEY: 'wrong' } })).toEqual({
    code: 3,
    stdout: '',
    stderr: `posthorn: ${convoy.url} refused the key of Convoy with 401; it is the value of CONVOY_API_KEY, so set that to a key of this Convoy (POSTHORN_API_KEY is never sent to Convoy)\n`,
  });
  const read = convoy.requests.length;
  const target = await app.newProject();
  const own = { POSTHORN_URL: app.url, POSTHORN_API_KEY: target.key };
  expect(await runPosthorn(fromConvoy, { env: own })).toEqual({
    code: 3,
    stdout: '',
    stderr:
      'posthorn: there is no key of Convoy; set CONVOY_API_KEY (POSTHORN_API_KEY is never sent to Convoy)\n',
  });
  expect(convoy.requests).toHaveLength(read);
  expect((await runPosthorn(fromConvoy, { env: { ...own, ...ofConvoy } })).code).toBe(0);
  expect(convoy.requests.join()).not.toContain(target.key);
  const unknown = [...fromConvoy.slice(0, -1), 'none'];
  expect(await runPosthorn(unknown, { env: ofConvoy })).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/ answered 404 to .*; check --url and --project\n$/),
  });
});

/** Exports from a service, applies the file to a new project, and gives what each said. */
async function moved(from: 'svix' | 'outpost', { url }: { url: string }, path = '') {
  const variable = `${from.toUpperCase()}_API_KEY`;
  const env = { [variable]: RECORDED_KEY };
  const args = ['export', '--from', from, '--url', url + path];
  const exported = await runPosthorn([...args, '--secrets', join(folder, from)], { env });
  expect([exported.code, exported.stdout]).toEqual([0, expect.stringMatching(/^# not carried over/)]);
  const target = await app.newProject();
  const file = save(`${from}.yaml`, exported.stdout);
  expect(await posthorn(target, 'plan', '-f', file)).toMatchObject({ code: 2, stderr: '' });
  expect(await posthorn(target, 'apply', '-f', file)).toMatchObject({ code: 0, stderr: '' });
  expect(await posthorn(target, 'plan', '-f', file)).toMatchObject({ code: 0, stdout: 'No changes.\n' });
  const wrong = await runPosthorn(args, {
    env: { [variable]: 'wrong', POSTHORN_API_KEY: target.key },
  });
  expect([wrong.code, wrong.stderr]).toEqual([
    3,
    expect.stringMatching(new RegExp(`refused the key of \\w+ with 401; it is the value of ${variable}, `)),
  ]);
  const { content: endpoints } = await target.get('/endpoints?sort=ASC');
  const { content: subscriptions } = await target.get('/subscriptions?sort=ASC');
  const byName = (items: Json[]): Json => Object.fromEntries(items.map((item) => [item.name, item]));
  return {
    endpoints: byName(endpoints),
    subscriptions: byName(subscriptions),
    eventTypes: byName(await target.get('/event-types')),
    lost: exported.stderr
      .split('\n')
      .filter((line) => line.startsWith('  - '))
      .map((line) => line.slice(4)),
  };
}

const ONE_OWNER =
  'The way of an event to one customer: send it as a fan-out event with the owner_id, because other events go to the endpoints of all.';

it('a Svix comes over: applications, endpoints, event types, secrets, headers and metadata', async () => {
  const svix = await shared(startRecordedSvix());
  const { endpoints, subscriptions, eventTypes, lost } = await moved('svix', svix);
  expect(endpoints['Acme billing']).toMatchObject({
    url: 'http://127.0.0.1:9/acme',
    owner_id: 'acme',
    status: 'active',
    rate_limit: 7,
    rate_limit_duration: 1,
    standard_webhooks_secret: 'whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD',
    authentication: null,
    headers: { 'x-team': 'a', authorization: 'Bearer b' },
    user_agent: 'Acme/1',
    metadata: { team: 'a' },
  });
  expect(endpoints['Acme 127.0.0.1:9/some']).toMatchObject({ owner_id: 'acme', status: 'inactive' });
  expect(endpoints['Acme off']).toMatchObject({ owner_id: 'acme', status: 'inactive' });
  expect(endpoints['Bolt 127.0.0.1:9/bolt']).toMatchObject({ owner_id: 'app_2', status: 'inactive' });
  expect(subscriptions['Acme billing'].filter_config.event_types).toEqual(['invoice.paid']);
  expect(subscriptions['Acme off'].filter_config.event_types).toEqual(['*']);
  expect(eventTypes['invoice.paid']).toMatchObject({
    category: 'billing',
    json_schema: { required: ['id'] },
  });
  expect(eventTypes['invoice.old'].deprecated_at).not.toBeNull();
  expect(lost).toEqual([
    'The rate limit of the application Bolt: endpoints have theirs.',
    'The endpoint Acme billing loses its header x-hidden, whose value Svix does not show.',
    'The endpoint Acme billing loses its header content-type, which deliveries have from Posthorn.',
    'The endpoint Acme 127.0.0.1:9/some is inactive in the file: it took only the channels project_1.',
    'The endpoint Bolt 127.0.0.1:9/bolt is inactive in the file: its transformation stays in Svix.',
    'The endpoint Bolt 127.0.0.1:9/bolt is inactive in the file: its key of asymmetric signatures stays in Svix.',
    ONE_OWNER,
    'The headers svix-id, svix-timestamp and svix-signature: deliveries have webhook-id, webhook-timestamp and webhook-signature, with the same signature.',
    'Messages, attempts, ingest sources, connectors, operational webhooks and portal access stay in Svix.',
  ]);
  expect(svix.requests.filter((request) => !request.startsWith('GET '))).toEqual([]);
  const args = ['export', '--from', 'svix', '--url', svix.url, '--project'];
  const env = { SVIX_API_KEY: RECORDED_KEY };
  expect((await runPosthorn([...args, 'app_2'], { env })).stdout).not.toContain('acme');
  expect((await runPosthorn([...args, 'none'], { env })).stderr).toContain('there is no application none');
});

it('an Outpost comes over: tenants, webhook destinations, topics, filters, secrets and headers', async () => {
  const outpost = await shared(startRecordedOutpost());
  const { endpoints, subscriptions, eventTypes, lost } = await moved('outpost', outpost, '/api/v1');
  expect(endpoints['acme 127.0.0.1:9/acme']).toMatchObject({
    owner_id: 'acme',
    status: 'active',
    secrets: [{ value: 'a secret of outpost' }],
    headers: { 'x-api-key': 'of acme', 'x-tenant': 'acme' },
  });
  expect(endpoints['acme 127.0.0.1:9/filtered']).toMatchObject({ owner_id: 'acme', status: 'inactive' });
  expect(endpoints['bolt 127.0.0.1:9/bolt']).toMatchObject({ owner_id: 'bolt', status: 'inactive' });
  expect(subscriptions['acme 127.0.0.1:9/acme'].filter_config).toMatchObject({
    event_types: ['user.created', 'user.updated'],
    filter: { body: { amount: { $gte: 100 } } },
  });
  expect(subscriptions['bolt 127.0.0.1:9/bolt'].filter_config.event_types).toEqual(['*']);
  expect(Object.keys(eventTypes)).toEqual(['*', 'user.created', 'user.updated']);
  expect(lost).toEqual([
    'The destination des_2 of the tenant acme, which is of the type aws_sqs.',
    'The endpoint acme 127.0.0.1:9/acme loses its previous secret.',
    'The endpoint acme 127.0.0.1:9/filtered is inactive in the file: write its filter {"data":{"name":{"$startsWith":"a"}}} as a filter or a function.',
    'The endpoint bolt 127.0.0.1:9/bolt is inactive in the file: its custom headers are not JSON.',
    'The endpoint bolt 127.0.0.1:9/bolt is inactive in the file: its secret is not shown.',
    'The endpoint bolt 127.0.0.1:9/bolt loses its metadata.',
    ONE_OWNER,
    'The signature header of Outpost: deliveries have X-Convoy-Signature and webhook-signature.',
    'Events, attempts, metadata of tenants and portal access stay in Outpost.',
  ]);
  expect(outpost.requests.filter((request) => !request.startsWith('GET '))).toEqual([]);
});

it('a service that is not there, or is another one, is an error of one line', async () => {
  const env = { SVIX_API_KEY: RECORDED_KEY, OUTPOST_API_KEY: RECORDED_KEY };
  const refused = await runPosthorn(['export', '--from', 'svix', '--url', 'http://127.0.0.1:9'], { env });
  expect(refused).toEqual({
    code: 1,
    stdout: '',
    stderr:
      'posthorn: the service at http://127.0.0.1:9 does not answer; start it, or name another with --url\n',
  });
  const other = await runPosthorn(['export', '--from', 'outpost', '--url', app.url], { env });
  expect([other.code, other.stderr]).toEqual([
    1,
    `posthorn: ${app.url} answered 404 to /tenants?limit=100; check --url and --project\n`,
  ]);
  const { url } = await shared(startRecorded(() => ({})));
  for (const [from, path] of [
    ['svix', '/api/v1/app'],
    ['outpost', '/tenants'],
  ] as const)
    expect(await runPosthorn(['export', '--from', from, '--url', url], { env })).toEqual({
      code: 1,
      stdout: '',
      stderr: `posthorn: ${url} answered ${path} without a list; check --url and the version of the service\n`,
    });
});
