import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { startTestApp } from '../support/app.ts';
import type { ApiClient, Json } from '../support/client.ts';
import { runPosthorn } from '../support/command.ts';
import { shared } from '../support/shared.ts';
import { startRecordedConvoy } from './recorded-convoy.ts';

const app = await shared(startTestApp());
const folder = mkdtempSync(join(tmpdir(), 'posthorn-moving-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

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
  // Secrets of brokers and verifiers are carried over, also.
  expect(known.orders.pub_sub.amqp.auth.password).toBe('of amqp');
  expect(known.github.verifier.hmac.secret).toBe('of github');
  for (const name of readdirSync(secrets))
    expect(readFileSync(join(secrets, name), 'utf8')).not.toContain('REDACTED');
});

it('without --secrets an export says that secrets stay behind, and what is in the file has none', async () => {
  const { stdout, stderr } = await runPosthorn(fromConvoy, { env: ofConvoy });
  expect(stderr).toMatch(/^ {2}- Secrets, unless --secrets names a directory\.$/m);
  expect(stdout).not.toMatch(/the secret of convoy|of amqp|of github/);
});

it('a key that is refused is named, and a key of Posthorn is never sent to a Convoy', async () => {
  expect(await runPosthorn(fromConvoy, { env: { CONVOY_API_KEY: 'wrong' } })).toEqual({
    code: 3,
    stdout: '',
    stderr: `posthorn: ${convoy.url} refused the key of Convoy with 401; it is the value of CONVOY_API_KEY, so set that to a key of this Convoy (POSTHORN_API_KEY is not sent to a Convoy)\n`,
  });
  const read = convoy.requests.length;
  const target = await app.newProject();
  const own = { POSTHORN_URL: app.url, POSTHORN_API_KEY: target.key };
  expect(await runPosthorn(fromConvoy, { env: own })).toEqual({
    code: 3,
    stdout: '',
    stderr:
      'posthorn: there is no key of Convoy; set CONVOY_API_KEY (POSTHORN_API_KEY is not sent to a Convoy)\n',
  });
  expect(convoy.requests).toHaveLength(read);
  expect((await runPosthorn(fromConvoy, { env: { ...own, ...ofConvoy } })).code).toBe(0);
  expect(convoy.requests.join()).not.toContain(target.key);
  const [, , , , , , project] = fromConvoy;
  const unknown = fromConvoy.map((word) => (word === project ? 'none' : word));
  expect(await runPosthorn(unknown, { env: ofConvoy })).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/ answered 404 to .*; check --url and --project\n$/),
  });
});
