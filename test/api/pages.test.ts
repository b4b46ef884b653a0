import { get, type IncomingMessage } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import Fastify from 'fastify';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { readBuiltPages } from '../../src/api/pages/built-pages.ts';
import { registerPages } from '../../src/api/pages/routes.ts';
import { startTestApp, type TestApp } from '../support/app.ts';
import { temporaryFolder } from '../support/samples/temporary-folder.ts';
import { buildPages } from '../web/build-pages.ts';

describe('the built pages', () => {
  let app: TestApp;
  let script: string;
  beforeAll(async () => {
    await buildPages();
    app = await startTestApp();
    const document = await (await fetch(`${app.url}/`)).text();
    script = /src="(\/assets\/[^"]+\.js)"/.exec(document)?.[1] ?? '';
    return () => app.stop();
  });

  /** The bytes as they are sent; fetch would decode them. */
  const ask = async (
    path: string,
    encoding: string,
  ): Promise<{ encoding: string | undefined; body: Buffer }> => {
    const response = await new Promise<IncomingMessage>((resolve, reject) => {
      get(app.url + path, { headers: { 'accept-encoding': encoding } }, resolve).on('error', reject);
    });
    return { encoding: response.headers['content-encoding'], body: await buffer(response) };
  };

  it.each(['/', '/sign-in', '/p/any/events', '/p/any/events/01K', '/instance/projects'])(
    '%s is the document, with a policy that allows scripts of this host only',
    async (path) => {
      const response = await fetch(app.url + path);
      expect(response.status).toBe(200);
      expect(response.headers.get('content-type')).toBe('text/html; charset=utf-8');
      expect(response.headers.get('cache-control')).toBe('no-cache');
      const policy = response.headers.get('content-security-policy') ?? '';
      expect(policy).toContain("script-src 'self'");
      expect(policy).toContain("font-src 'self'");
      expect(policy).toContain("frame-ancestors 'none'");
      expect(policy).not.toContain('unsafe');
      const text = await response.text();
      expect(text).toContain('<div id="root">');
      expect(text).not.toMatch(/https?:\/\//);
    },
  );

  it('have a hash in the name of each asset, and assets are kept for a year', async () => {
    expect(script).toMatch(/-[\w-]{8}\.js$/);
    const response = await fetch(app.url + script);
    expect(response.headers.get('cache-control')).toBe('public, max-age=31536000, immutable');
    expect(response.headers.get('content-type')).toBe('text/javascript; charset=utf-8');
    expect(response.headers.get('vary')).toBe('accept-encoding');
  });

  it('are sent compressed as the caller accepts it', async () => {
    const plain = await ask(script, 'identity');
    const gzip = await ask(script, 'gzip, deflate');
    const br = await ask(script, 'gzip, deflate, br;q=0.9');
    const refused = await ask(script, 'br;q=0, gzip;q=0.0');
    expect([plain, gzip, br, refused].map(({ encoding }) => encoding)).toEqual([
      undefined,
      'gzip',
      'br',
      undefined,
    ]);
    expect(gunzipSync(gzip.body).equals(plain.body)).toBe(true);
    expect(brotliDecompressSync(br.body).equals(plain.body)).toBe(true);
    expect(br.body.length).toBeLessThan(plain.body.length / 2);
  });

  it.each([
    '/assets/none.js',
    '/assets/..%2f.stamp',
    '/assets/%2e%2e%2findex.html',
    '/.stamp',
    '/.vite/manifest.json',
  ])('%s is not found', async (path) => {
    const response = await fetch(app.url + path);
    expect(response.status).toBe(404);
    expect(await response.json()).toMatchObject({ status: false, code: 'route_not_found' });
  });
});

it('without a build the addresses of the pages say how to get one', async () => {
  const server = Fastify();
  onTestFinished(() => server.close());
  registerPages(server, {} as never, readBuiltPages(temporaryFolder()));
  const response = await server.inject('/');
  expect(response.statusCode).toBe(503);
  expect(response.body).toContain('npm ci');
});
