import { execFile } from 'node:child_process';
import { cpSync, globSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import manifest from '../../package.json' with { type: 'json' };
import { eventually } from '../support/eventually.ts';
import { clientOf, Program, readCredentials } from '../support/program.ts';
import { Receiver } from '../support/receiver.ts';

/**
 * The package as `npm pack` makes it, installed in an empty directory: the tarball is unpacked into node_modules, and its
 * dependencies are those of this repository, so that no registry is needed.
 */
const ROOT = join(import.meta.dirname, '../..');
const run = promisify(execFile);
let folder: string;
let bin: string;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'posthorn-package-'));
  await run('npm', ['pack', '--silent', '--pack-destination', folder], { cwd: ROOT });
  const [tarball = ''] = globSync('*.tgz', { cwd: folder });
  const modules = join(folder, 'node_modules');
  mkdirSync(join(modules, '.bin'), { recursive: true });
  await run('tar', ['-xzf', join(folder, tarball), '-C', modules]);
  cpSync(join(modules, 'package'), join(modules, 'posthorn'), { recursive: true });
  rmSync(join(modules, 'package'), { recursive: true });
  bin = join(modules, '.bin/posthorn');
  symlinkSync('../posthorn/bin/posthorn', bin);
  const wanted = Object.keys({ ...manifest.dependencies, ...manifest.optionalDependencies });
  for (const name of wanted) link(modules, name);
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** The sandbox may read only packages that are in the directory itself, so this one is copied. */
function link(modules: string, name: string): void {
  const from = join(ROOT, 'node_modules', name);
  const to = join(modules, name);
  if (!readdirSync(dirname(from)).includes(basename(name))) return;
  mkdirSync(dirname(to), { recursive: true });
  if (name === 'isolated-vm') {
    cpSync(from, to, { recursive: true, dereference: true });
    cpSync(join(ROOT, 'node_modules/node-gyp-build'), join(modules, 'node-gyp-build'), { recursive: true });
  } else symlinkSync(from, to);
}

describe('the installed package', () => {
  it('has no TypeScript, no tests, and the license', () => {
    const files = globSync('**/*', { cwd: join(folder, 'node_modules/posthorn') });
    expect(files.filter((path) => /\.ts$|\.test\./.test(path))).toEqual([]);
    expect(files).toEqual(
      expect.arrayContaining(['LICENSE', 'README.md', 'dist/migrations/0001_schema.sql']),
    );
  });

  it('runs the service: pages, several processes, functions, and commands against it', async () => {
    const receiver = await Receiver.start();
    const dataDir = join(folder, 'data');
    const env = { POSTHORN_DATA_DIR: dataDir, POSTHORN_PORT: '0', POSTHORN_PROCESSES: '2' };
    const program = new Program({ command: [bin], args: ['serve'], env });
    try {
      const url = await program.ready();
      expect(await (await fetch(url)).text()).toContain('<script');
      const credentials = readCredentials(dataDir);
      const client = clientOf(url, credentials);
      const endpoint = await client.post('/endpoints', { name: 'e', url: receiver.url });
      await client.post('/subscriptions', {
        name: 's',
        endpoint_id: endpoint.uid,
        function: 'function transform(data) { return { doubled: data.n * 2 }; }',
      });
      const { PATH = '' } = process.env;
      const trigger = [bin, 'trigger', 'a.b', '--data', '{"n": 21}', '--output', 'json'];
      const sent = await run(trigger[0] ?? '', trigger.slice(1), {
        env: { PATH, HOME: folder, POSTHORN_URL: url, POSTHORN_API_KEY: credentials.api_key },
      });
      expect(JSON.parse(sent.stdout)).toMatchObject({ event_type: 'a.b' });
      const [request] = await receiver.received(1);
      expect(request?.json).toEqual({ doubled: 42 });
      const connection = { POSTHORN_URL: url, POSTHORN_API_KEY: credentials.api_key };
      const args = ['listen', '--forward-to', `${receiver.url}/local`, '--event-type', 'local.*'];
      const listening = new Program({ command: [bin], args, env: connection });
      try {
        await eventually(
          async () => listening.stderr,
          (text) => text.includes('Listening as device'),
        );
        await client.post('/events/broadcast', { event_type: 'local.one', data: { n: 1 } });
        await eventually(
          async () => receiver.requests,
          (requests) => requests.some(({ path }) => path === '/local'),
        );
        listening.signal('SIGINT');
        expect(await listening.ended).toEqual({ code: 0, signal: null });
      } finally {
        await listening.end();
      }
      program.signal('SIGTERM');
      expect(await program.ended).toEqual({ code: 0, signal: null });
    } finally {
      await program.end();
      await receiver.stop();
    }
  });
});
