import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { beforeAll, describe, expect, it } from 'vitest';
import { startTestApp, type TestApp } from '../../support/app.ts';
import { buildPages } from '../../web/build-pages.ts';

describe('the portal page', () => {
  let app: TestApp;
  beforeAll(async () => {
    await buildPages();
    app = await startTestApp();
    return () => app.stop();
  });

  const open = async (query: string) => {
    const response = await fetch(`${app.url}/portal${query}`);
    expect(response.status).toBe(200);
    const policy = response.headers.get('content-security-policy') ?? '';
    return { policy, response, html: await response.text() };
  };
  const projectWith = async (portal: object): Promise<string> => (await app.newProject({ portal })).projectId;
  const frames = (policy: string) => /frame-ancestors ([^;]*)/.exec(policy)?.[1];

  it('is a document of its own, with scripts and requests of this host only', async () => {
    const { policy, response, html } = await open(`?project=${app.projectId}`);
    expect(response.headers.get('content-type')).toBe('text/html; charset=utf-8');
    expect(response.headers.get('cache-control')).toBe('no-cache');
    expect(response.headers.get('referrer-policy')).toBe('no-referrer');
    expect(response.headers.get('set-cookie')).toBeNull();
    expect(policy).toContain(
      "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; font-src 'self'; ",
    );
    expect(policy).not.toContain('unsafe');
    expect(html).toMatch(/src="\/assets\/portal-[\w-]+\.js"/);
    expect(html).not.toMatch(/Posthorn|<script>|https?:\/\//);
  });

  // proves Projects: portal.frame_origins
  it('may be embedded by the frame_origins of the project of the address, and by default by none', async () => {
    const id = await projectWith({ frame_origins: ['https://app.example.com', 'https://*.example.org'] });
    expect(frames((await open(`?project=${id}`)).policy)).toBe(
      'https://app.example.com https://*.example.org',
    );
    for (const query of [
      '',
      '?project=',
      `?project=${app.projectId}`,
      `?project=01K00000000000000000000000`,
      `?project=${id}&project=${app.projectId}`,
      '?project=%27none%27',
    ])
      expect([query, frames((await open(query)).policy)]).toEqual([query, "'none'"]);
  });

  it('follows a change of the theme, also of a project that this node has not used', async () => {
    const project = await app.newProject();
    const other = await app.addNode();
    const ask = async () => (await fetch(`${other.url}/portal?project=${project.projectId}`)).text();
    expect(await ask()).toContain('&quot;title&quot;:&quot;&quot;');
    await app.instance.put(`/projects/${project.projectId}`, { config: { portal: { title: 'Acme' } } });
    expect(await ask()).toContain('&quot;title&quot;:&quot;Acme&quot;');
  });

  it('escapes the theme, and allows images of the hosts of the logos only', async () => {
    const id = await projectWith({
      title: '"><script>alert(1)</script>$&',
      logo_url: 'https://cdn.example.com/logo.svg?x="><script>',
      logo_url_dark: 'https://dark.example.com/logo.svg',
    });
    const { html, policy } = await open(`?project=${id}`);
    expect(html).not.toContain('<script>');
    expect(html).toContain(
      '&quot;title&quot;:&quot;\\&quot;&gt;&lt;script&gt;alert(1)&lt;/script&gt;$&amp;&quot;',
    );
    expect(policy).toContain("img-src 'self' https://cdn.example.com https://dark.example.com;");
  });

  it.each([
    ['accent', 'red'],
    ['accent', '#fff;}'],
    ['accent', 'url(x)'],
    ['language', 'x;'],
    ['language', 'DE'],
    ['radius', 17],
    ['color_scheme', 'pink'],
    ['font', 'a; b'],
    ['font', 'url(x)'],
    ['font', '"x"'],
    ['logo_url_dark', 'javascript:alert(1)'],
    ['logo_url', 'javascript:alert(1)'],
    ['logo_url', 'data:image/svg+xml,<svg/>'],
    ['logo_url', 'http://example.com/logo.png'],
    ['logo_url', 'https://user:pass@example.com/logo.png'],
    ['logo_url', "https://a;script-src'self'/logo.png"],
    ['logo_url', 'https://a,b/logo.png'],
    ['logo_url', '/logo.png'],
    ['frame_origins', ['*']],
    ['frame_origins', ['https:']],
    ['frame_origins', ['https://*']],
    ['frame_origins', ['https://*.com; script-src *']],
    ['frame_origins', ['https://example.com/path']],
    ['frame_origins', ['https://example.com https://evil.example']],
    ['frame_origins', ["'self'"]],
    ['frame_origins', ['http://example.com']],
    ['frame_origins', ['https://a;b.example']],
    ['titel', 'typo'],
  ])('refuses the theme %s = %j', async (name, value) => {
    const answer = await app.instance.put(
      `/projects/${app.projectId}`,
      { config: { portal: { [name]: value } } },
      400,
    );
    expect(JSON.stringify(answer)).toContain(`config.portal.${name}`);
  });

  it('comes with a script of 1 kB for the page around it, which any origin may load', async () => {
    const response = await fetch(`${app.url}/portal/embed.js`);
    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toBe('text/javascript; charset=utf-8');
    expect(response.headers.get('cross-origin-resource-policy')).toBe('cross-origin');
    const script = await response.text();
    expect(script.length).toBeLessThan(1200);
    expect(script).not.toMatch(/import|export/);
  });

  it('loads less than 130 kB of compressed JavaScript, and nothing of the dashboard', async () => {
    const dist = join(import.meta.dirname, '../../../web/dist');
    const { html } = await open('');
    const [, script = ''] = /src="(\/assets\/[^"]+\.js)"/.exec(html) ?? [];
    expect(html.match(/\.js"/g)).toHaveLength(1);
    const code = readFileSync(join(dist, script));
    expect(gzipSync(code).length).toBeLessThan(130_000);
    expect(code.toString()).not.toMatch(/Skip to the page|posthorn\.key|RouterProvider/);
  });
});
