import { type ExecFileException, execFile, execFileSync, spawnSync } from 'node:child_process';
import { existsSync, globSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { clientOf, Program, readCredentials } from '../support/program.ts';
import { temporaryFolder } from '../support/samples/temporary-folder.ts';
import { Receiver } from '../support/servers/receiver.ts';

/**
 * The package as `npm pack` makes it, installed by npm in an empty directory. No registry is needed: the directory has the
 * packages of the lock file that are not for development only, and npm finds there what the package depends on.
 */
const ROOT = join(import.meta.dirname, '../..');
const run = promisify(execFile);
const folder = temporaryFolder(afterAll);
let bin: string;

beforeAll(async () => {
  await run('npm', ['pack', '--silent', '--pack-destination', folder], { cwd: ROOT });
  const [tarball = ''] = globSync('*.tgz', { cwd: folder });
  for (const [place, paths] of Map.groupBy(dependencies(), dirname)) copyPackages(place, paths);
  const quiet = ['--offline', '--no-audit', '--no-fund', '--ignore-scripts', '--loglevel', 'error'];
  await run('npm', ['install', ...quiet, `./${tarball}`], { cwd: folder });
  bin = join(folder, 'node_modules/.bin/posthorn');
});

/** The paths of the packages that an installation has. Packages inside of others come with them. */
function dependencies(): string[] {
  const lock = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, { dev?: boolean; link?: boolean }>;
  };
  return Object.entries(lock.packages)
    .filter(([path, { dev, link }]) => /^node_modules\/(@[^/]+\/)?[^/]+$/.test(path) && !dev && !link)
    .map(([path]) => path)
    .filter((path) => existsSync(join(ROOT, path)));
}

/** Hard links, where the file system can. */
function copyPackages(place: string, paths: readonly string[]): void {
  const to = join(folder, place);
  mkdirSync(to, { recursive: true });
  const from = paths.map((path) => join(ROOT, path));
  if (spawnSync('cp', ['-al', ...from, to]).status !== 0) execFileSync('cp', ['-a', ...from, to]);
}

/** Brokers that do not answer. Their libraries are loaded to find that out. */
const BROKERS = {
  kafka: { brokers: ['127.0.0.1:9'], topic_name: 't', consumer_group_id: 'g' },
  amqp: { schema: 'amqp', host: '127.0.0.1', port: '9', queue: 'q' },
  sqs: {
    queue_name: 'q',
    access_key_id: 'a',
    secret_key: 'b',
    default_region: 'r',
    endpoint: 'http://127.0.0.1:9',
  },
};

/** The modules that a command loads, and how it fails. */
async function loadedBy(args: string[], env: Record<string, string>) {
  const loaded = join(mkdtempSync(join(folder, 'loaded-')), 'modules.txt');
  const recorder = `${loaded}.mjs`;
  writeFileSync(
    recorder,
    `import { appendFileSync } from 'node:fs';
     import { registerHooks } from 'node:module';
     registerHooks({ load: (url, context, next) => (appendFileSync(${JSON.stringify(loaded)}, url + '\\n'), next(url, context)) });`,
  );
  const failed = await run(bin, args, {
    env: { ...process.env, ...env, NODE_OPTIONS: `--import ${recorder}` },
  }).catch((error: unknown) => error as ExecFileException);
  return { files: readFileSync(loaded, 'utf8').match(/(?<=node_modules\/).*\.c?js/g) ?? [], failed };
}

describe('the installed package', () => {
  it('has no TypeScript, no tests, and the license', () => {
    const files = globSync('**/*', { cwd: join(folder, 'node_modules/posthorn') });
    expect(files.filter((path) => /\.ts$|\.test\./.test(path))).toEqual([]);
    expect(files).toEqual(
      expect.arrayContaining([
        'LICENSE',
        'README.md',
        'dist/migrations/0001_schema.sql',
        'dist/docs/agents.md',
      ]),
    );
  });

  it('says which Node it needs, to npm and on an older one', async () => {
    const manifest = JSON.parse(readFileSync(join(folder, 'node_modules/posthorn/package.json'), 'utf8'));
    expect(manifest.engines).toEqual({ node: '>=24.7' });
    const older = `Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '24.6.0' } })`;
    const preload = join(folder, 'older.cjs');
    writeFileSync(preload, older);
    const env = { ...process.env, NODE_OPTIONS: `--require ${preload}` };
    const refused = await run(bin, ['--help'], { env }).catch((error: unknown) => error as ExecFileException);
    expect(refused).toMatchObject({
      code: 1,
      stderr: 'posthorn: this is Node 24.6.0; install Node 24.7 or newer\n',
    });
  });

  it('keeps quiet about experimental parts of Node, and only about these', async () => {
    const preload = join(folder, 'warns.cjs');
    const warn = (name: string) => `process.emitWarning('a text', '${name}');`;
    writeFileSync(preload, `setImmediate(() => {${warn('ExperimentalWarning')}${warn('OtherWarning')}})`);
    const { stderr } = await run(bin, ['help'], {
      env: { ...process.env, NODE_OPTIONS: `--require ${preload}` },
    });
    expect(stderr).toContain('OtherWarning: a text');
    expect(stderr).not.toContain('ExperimentalWarning');
  });

  it('reads nothing of the server, and no other package, for a command that calls a service', async () => {
    const { files, failed } = await loadedBy(['events', '--url', 'http://127.0.0.1:9'], {
      POSTHORN_API_KEY: 'k',
    });
    expect(failed).toMatchObject({ stderr: expect.stringContaining('does not answer') });
    expect(files).toContain('posthorn/dist/src/cli/remote/history.js');
    const own =
      /^posthorn\/dist\/(client\/src|src\/(main\.js$|cli\/((server|project-file)\/)?commands\.js$|cli\/(remote|terminal)\/|platform|domain))/;
    expect(files.filter((path) => !own.test(path))).toEqual([]);
  });

  it('loads few files to serve, and says in one line why it cannot', async () => {
    const { files, failed } = await loadedBy(['serve'], { DATABASE_URL: 'postgres://127.0.0.1:9/none' });
    expect(failed).toMatchObject({ code: 1, stderr: expect.stringMatching(/^posthorn: [^\n]*\n$/) });
    expect(files.filter((path) => path.startsWith('posthorn/dist/bundle/')).length).toBeGreaterThan(2);
    expect(files.length).toBeLessThan(100);
  });

  it('runs the service: pages, several processes, functions, and commands against it', async () => {
    const receiver = await Receiver.start();
    const dataDir = join(folder, 'data');
    const env = { POSTHORN_DATA_DIR: dataDir, POSTHORN_PORT: '0', POSTHORN_PROCESSES: '2' };
    const program = new Program({ command: [bin], args: ['serve'], env });
    try {
      const url = await program.ready();
      for (const path of ['', '/docs', '/portal'])
        expect(await (await fetch(url + path)).text()).toContain('<script');
      const credentials = readCredentials(dataDir);
      const client = clientOf(url, credentials);
      // Parts that are loaded when they are needed.
      expect(await (await fetch(`${url}/openapi.json`)).json()).toHaveProperty('openapi');
      for (const [type, settings] of Object.entries(BROKERS)) {
        const pub_sub = { type, workers: 1, [type]: settings };
        const source = await client.post('/sources', { name: type, type: 'pub_sub', pub_sub });
        const tried = await client.post(`/sources/${source.uid}/test_connection`, undefined, 200);
        expect([type, tried.ok, tried.reason]).toEqual([
          type,
          false,
          expect.stringMatching(/refused|127\.0\.0\.1/),
        ]);
        await client.delete(`/sources/${source.uid}`);
      }
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
        await eventually(async () => listening.stderr, /Listening as device/);
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
      expect(await program.stop()).toEqual({ code: 0, signal: null });
    } finally {
      await program.end();
      await receiver.stop();
    }
  });
});
