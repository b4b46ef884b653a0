import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, expect, it } from 'vitest';
import { SECRET_KEY, startTestApp } from '../support/app.ts';
import { Receiver } from '../support/servers/receiver.ts';
import { shared } from '../support/shared.ts';

/** The tour of docs/cli.md, as it is written, in a folder with the credentials of a first start. */
const ROOT = join(import.meta.dirname, '../..');
const app = await shared(startTestApp());
const receiver = await shared(Receiver.start());
const folder = mkdtempSync(join(tmpdir(), 'posthorn-tour-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

it('the tour of docs/cli.md runs as written', async () => {
  const page = readFileSync(join(ROOT, 'docs/cli.md'), 'utf8');
  const blocks = [...page.matchAll(/^```sh\n(.*?)^```$/gms)].map(([, text = '']) => text);
  expect(blocks.length).toBeGreaterThan(6);
  const tour = blocks.join('\n').replaceAll('http://127.0.0.1:4000/', `${receiver.url}/`);
  mkdirSync(join(folder, '.posthorn'));
  mkdirSync(join(folder, 'bin'));
  symlinkSync(join(ROOT, 'bin/posthorn'), join(folder, 'bin/posthorn'));
  const credentials = { url: app.url, api_key: app.project.key, project_id: app.projectId };
  writeFileSync(join(folder, '.posthorn/credentials.json'), JSON.stringify(credentials));
  const env = {
    PATH: `${join(folder, 'bin')}:${process.env['PATH'] ?? ''}`,
    HOME: folder,
    NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'],
    // For the doctor, which looks at the database itself.
    DATABASE_URL: app.database.url,
    POSTHORN_SECRET_KEY: SECRET_KEY,
  };
  const { stdout } = await promisify(execFile)('sh', ['-euc', tour], { cwd: folder, env });
  expect(stdout).toContain('invoice.paid');
  expect(stdout).toContain('replayed: 1 (job ');
  expect(stdout).toContain('The signature is right (scheme standard, id 1).');
  expect(stdout).toContain('No changes.\n');
  expect(stdout).toContain('~ update endpoint billing: name\n1 change applied.\n');
  expect(stdout).toMatch(/^ok +partitions +made until /m);
  const [first] = await receiver.received(2);
  expect(first?.body.toString()).toBe('{"invoice":7}');
});
