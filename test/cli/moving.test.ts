import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { startTestApp } from '../support/app.ts';
import type { ApiClient } from '../support/client.ts';
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

it('a Convoy is read, planned and applied, and what stays behind is listed', async () => {
  const convoy = await shared(startRecordedConvoy());
  const env = { CONVOY_API_KEY: convoy.key };
  const args = ['export', '--from', 'convoy', '--url', convoy.url, '--project', convoy.project];
  const secrets = join(folder, 'convoy');
  const { code, stdout, stderr } = await runPosthorn([...args, '--secrets', secrets], { env });
  expect([code, stderr]).toEqual([0, expect.stringContaining('not carried over:')]);
  expect(stderr).toContain('The ingest URL of the source github');
  expect(stderr).toContain('The setting ');
  expect(convoy.writes).toEqual([]);

  const target = await app.newProject();
  const file = save('convoy.yaml', stdout);
  expect((await posthorn(target, 'plan', '-f', file)).code).toBe(2);
  const applied = await posthorn(target, 'apply', '-f', file);
  expect([applied.code, applied.stderr]).toEqual([0, '']);
  expect((await posthorn(target, 'plan', '-f', file)).code).toBe(0);
  const { content } = await target.get('/subscriptions');
  expect(content[0]).toMatchObject({
    name: 'invoices',
    endpoint_metadata: { name: 'billing', secrets: [{ value: 'the secret of convoy' }] },
    filter_config: { event_types: ['invoice.paid'] },
  });
  expect((await runPosthorn(args, { env: { CONVOY_API_KEY: 'wrong' } })).code).toBe(3);

  const read = convoy.requests.length;
  const own = { POSTHORN_URL: app.url, POSTHORN_API_KEY: target.key };
  expect(await runPosthorn(args, { env: own })).toEqual({
    code: 3,
    stdout: '',
    stderr:
      'posthorn: there is no key of Convoy; set CONVOY_API_KEY (POSTHORN_API_KEY is not sent to a Convoy)\n',
  });
  expect(convoy.requests).toHaveLength(read);
  expect((await runPosthorn(args, { env: { ...own, CONVOY_API_KEY: convoy.key } })).code).toBe(0);
  expect(convoy.requests.join()).not.toContain(target.key);
});
