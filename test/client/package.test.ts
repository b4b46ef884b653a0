import { execFile } from 'node:child_process';
import { cpSync, globSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { compileSigner } from '../../src/signing/sign-delivery.ts';
import { startTestApp, type TestApp } from '../support/app.ts';
import { temporaryFolder } from '../support/samples/temporary-folder.ts';
import { Receiver } from '../support/servers/receiver.ts';

/** The package as npm packs it, installed in an empty project. */
const ROOT = join(import.meta.dirname, '../..');
const run = promisify(execFile);
const folder = temporaryFolder(afterAll);
let installed: string;

beforeAll(async () => {
  writeFileSync(join(folder, 'package.json'), '{ "private": true, "type": "module" }');
  // The home of the user may not be writable.
  const env = { ...process.env, npm_config_cache: join(folder, 'cache') };
  await run('npm', ['pack', '--pack-destination', folder], { cwd: join(ROOT, 'client'), env });
  const [tarball = ''] = globSync('*.tgz', { cwd: folder });
  await run('npm', ['install', '--offline', '--no-audit', '--no-fund', `./${tarball}`], { cwd: folder, env });
  installed = join(folder, 'node_modules/posthorn-client');
});

describe('the package', () => {
  const modules = () => globSync('dist/**/*.js', { cwd: installed });

  it('contains the build, its types, the examples, the readme and the license, and nothing else', () => {
    const others = globSync('**/*.*', { cwd: installed }).filter(
      (path) => !/^dist.*\.(js|d\.ts)$/.test(path),
    );
    const page = readFileSync(join(installed, 'README.md'), 'utf8');
    const linked = [...page.matchAll(/\]\(([^)#]+)\)/g)].map(([, path = '']) => path);
    expect(linked).toHaveLength(4);
    expect(others.sort()).toEqual(['README.md', ...linked, 'package.json'].sort());
    expect(globSync('LICENSE', { cwd: installed })).toHaveLength(1);
    expect(globSync('**/*.test.*', { cwd: installed })).toEqual([]);
  });

  it('has no dependencies', () => {
    const manifest = JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8')) as object;
    expect(Object.keys(manifest).filter((name) => name.toLowerCase().endsWith('dependencies'))).toEqual([]);
  });

  it('is smaller than 12 kB, compressed and without the types', () => {
    const texts = modules().map((path) => readFileSync(join(installed, path)));
    expect(texts.length).toBeGreaterThan(8);
    expect(gzipSync(Buffer.concat(texts)).length).toBeLessThan(12_000);
  });

  it('lets a bundler leave out the calls where only webhooks are verified', () => {
    const seen = new Set<string>();
    const visit = (path: string) => {
      if (seen.has(path)) return;
      seen.add(path);
      for (const [, target = ''] of readFileSync(path, 'utf8').matchAll(/from '(\.[^']+)'/g))
        visit(join(path, '..', target));
    };
    visit(join(installed, 'dist/verify-webhook.js'));
    expect([...seen].map((path) => path.slice(installed.length))).toEqual([
      '/dist/verify-webhook.js',
      '/dist/bytes.js',
    ]);
  });

  it.each([
    ['browsers', { lib: ['es2022', 'dom', 'dom.iterable'], types: [] }],
    ['Node', { lib: ['es2022'], types: ['node'] }],
  ])('has types for %s', async (name, options) => {
    const project = join(folder, name);
    mkdirSync(project);
    const source = `
      import { Posthorn, PosthornError, sendAll, verifyWebhook, type Event } from 'posthorn-client';
      const posthorn = new Posthorn({ url: 'http://127.0.0.1', key: 'k', project: 'p' });
      export async function uids(): Promise<string[]> {
        const found: string[] = [];
        for await (const event of posthorn.events.list({ sort: 'ASC' })) found.push(event.uid);
        return found;
      }
      export const send = (): Promise<Event> => posthorn.events.broadcast({ event_type: 'x', data: 1 });
      export const check = (request: Request) => verifyWebhook(request, ['a', 'b'], { tolerance: 10 });
      export const isGone = (error: unknown) => error instanceof PosthornError && error.code === 'not_found';
      export const all = sendAll([1], async (n, { signal }) => (signal.aborted ? 0 : n));
      // @ts-expect-error the direction is ASC or DESC
      posthorn.events.list({ sort: 'up' });
      // @ts-expect-error an endpoint needs a name
      void posthorn.endpoints.create({ url: 'https://example.com' });
    `;
    writeFileSync(join(project, 'index.ts'), source);
    const typeRoots = [join(ROOT, 'node_modules/@types')];
    const compilerOptions = { strict: true, module: 'nodenext', target: 'es2022', noEmit: true, typeRoots };
    const config = { compilerOptions: { ...compilerOptions, ...options }, include: ['index.ts'] };
    writeFileSync(join(project, 'tsconfig.json'), JSON.stringify(config));
    await run(process.execPath, [join(ROOT, 'node_modules/typescript/bin/tsc'), '-p', project]).catch(
      (error: Error & { stdout: string }) => expect(error.stdout).toBe(''),
    );
  });
});

describe('the tour of the readme', () => {
  let app: TestApp;
  let receiver: Receiver;
  let output: string[];

  beforeAll(async () => {
    app = await startTestApp();
    receiver = await Receiver.start();
    const page = readFileSync(join(ROOT, 'client/README.md'), 'utf8');
    const blocks = [...page.matchAll(/^```js\n(.*?)^```$/gms)].map(([, text]) => text);
    expect(blocks.length).toBeGreaterThan(6);
    writeFileSync(join(folder, 'tour.js'), blocks.join('\n'));
    // The receiver of the tour gets what the service delivered.
    writeFileSync(
      join(folder, 'run.js'),
      `import { receive } from './tour.js';
       const { headers, body } = await (await fetch(process.env.DELIVERY_URL)).json();
       await receive(new Request('http://localhost/', { method: 'POST', headers, body }));`,
    );
    const delivery = createServer((_request, response) => {
      void receiver.received(1).then(([first]) => {
        response.end(
          JSON.stringify({ headers: signatureHeaders(first!.headers), body: first!.body.toString() }),
        );
      });
    });
    const env = {
      ...process.env,
      POSTHORN_URL: app.url,
      POSTHORN_KEY: app.project.key,
      POSTHORN_PROJECT: app.projectId,
      RECEIVER_URL: receiver.url,
      DELIVERY_URL: await listening(delivery),
    };
    const { stdout } = await run(process.execPath, ['run.js'], { cwd: folder, env });
    await new Promise((resolve) => delivery.close(resolve));
    output = stdout.trim().split('\n');
  });

  afterAll(async () => {
    await app?.stop();
    await receiver?.stop();
  });

  it('prints what it says', () => {
    const received = output.at(-1);
    expect(output.slice(0, -1)).toEqual([
      'sent invoice.paid',
      'sent 3 more',
      'listed 7',
      expect.stringMatching(/^listed \d+$/),
      expect.stringMatching(/^listed \d+$/),
      expect.stringMatching(/^listed \d+$/),
      'replayed completed 4',
      'followed invoice.due',
      'validation_failed 400 url true',
    ]);
    expect(received).toMatch(/^received true \d+$/);
  });
});

const signatureHeaders = (headers: Record<string, string | string[] | undefined>): Record<string, string> =>
  Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) =>
      name.startsWith('webhook-') && typeof value === 'string' ? [[name, value]] : [],
    ),
  );

async function listening(server: Server): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

describe('the examples', () => {
  type Handle = (webhook: { json(): unknown }) => void;
  type Post = (body: string, headers: Record<string, string>) => Promise<number>;
  type Example = { webhookApp(secrets: string[], handle: Handle): unknown };
  const servers: Server[] = [];

  beforeAll(() => {
    cpSync(join(installed, 'examples'), join(folder, 'examples'), { recursive: true });
    for (const name of ['express', 'fastify', 'hono'])
      symlinkSync(join(ROOT, 'node_modules', name), join(folder, 'node_modules', name));
  });
  afterAll(() => {
    for (const server of servers) server.close();
  });

  const load = async <T>(name: string): Promise<T> =>
    (await import(pathToFileURL(join(folder, 'examples', name)).href)) as T;
  const overHttp = async (server: Server): Promise<Post> => {
    servers.push(server);
    const url = await listening(server);
    return async (body, headers) =>
      (await fetch(`${url}/webhooks`, { method: 'POST', body, headers: { ...headers, connection: 'close' } }))
        .status;
  };
  const start: Record<string, (handle: Handle) => Promise<Post>> = {
    'express.js': async (handle) => {
      const { webhookApp } = await load<Example>('express.js');
      return overHttp(createServer(webhookApp(['old', 'secret'], handle) as () => void));
    },
    'fastify.js': async (handle) => {
      const { webhookApp } = await load<Example>('fastify.js');
      const app = webhookApp(['old', 'secret'], handle) as { server: Server; ready(): Promise<void> };
      await app.ready();
      return overHttp(app.server);
    },
    'hono.js': async (handle) => {
      const { webhookApp } = await load<Example>('hono.js');
      const app = webhookApp(['old', 'secret'], handle) as {
        request(path: string, init: RequestInit): Promise<Response>;
      };
      return async (body, headers) =>
        (await app.request('/webhooks', { method: 'POST', body, headers })).status;
    },
    'fetch.js': async (handle) => {
      const { webhookHandler } = await load<{
        webhookHandler(secrets: string[], handle: Handle): (request: Request) => Promise<Response>;
      }>('fetch.js');
      const answer = webhookHandler(['old', 'secret'], handle);
      return async (body, headers) =>
        (await answer(new Request('http://localhost/webhooks', { method: 'POST', body, headers }))).status;
    },
  };

  it.each(Object.entries(start))('%s takes a delivery and refuses a changed one', async (_name, begin) => {
    const seen: unknown[] = [];
    const post = await begin((webhook) => seen.push(webhook.json()));
    const body = '{ "amount": 10.50 }';
    const signer = compileSigner({
      schemes: ['convoy', 'standard'],
      header: 'X-Convoy-Signature',
      versions: [{ hash: 'SHA256', encoding: 'hex' }],
      advanced: true,
      secrets: [{ value: 'secret', expiresAt: null }],
    });
    const timestampSeconds = Math.floor(Date.now() / 1000);
    const signed = signer.headers({ id: 'm', timestampSeconds, nowMs: Date.now(), body: Buffer.from(body) });
    const headers = { 'content-type': 'application/json', ...Object.fromEntries(signed) };
    expect(await post(body, headers)).toBe(204);
    expect(seen).toEqual([{ amount: 10.5 }]);
    expect(await post(body.replace('10', '99'), headers)).toBe(401);
    expect(await post(body, { 'content-type': 'application/json' })).toBe(401);
    expect(seen).toHaveLength(1);
  });
});
