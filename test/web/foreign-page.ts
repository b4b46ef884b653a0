import { request } from 'node:http';
import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import type { Json } from '../support/client.ts';
import { type LoopbackServer, listenHttp } from '../support/servers/loopback-server.ts';
import { fresh, type World } from './world.ts';

const EMAIL = 'mallory@example.com';
const SCRIPT = `document.title = 'ran';
  fetch('/api/v1/people', {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-posthorn-csrf': '1' },
    body: JSON.stringify({ email: '${EMAIL}', name: 'Mallory' }),
  }).finally(() => { document.title = 'asked'; });`;
const HTML = `<!doctype html><title>quiet</title><script>${SCRIPT}</script>`;
const XML = `<html xmlns="http://www.w3.org/1999/xhtml"><head><title>quiet</title><script>${SCRIPT}</script></head></html>`;

/** A page of another origin that posts a form to an address of ours. */
function foreignPage(action: string, target = '_self'): Promise<LoopbackServer> {
  return listenHttp((_request, response) => {
    response.setHeader('content-type', 'text/html').end(
      `<iframe name="frame"></iframe>
       <form method="post" enctype="text/plain" target="${target}" action="${action}"><input name="a" value="b"></form>
       <script>document.forms[0].submit()</script>`,
    );
  });
}

/** As over plain HTTP: there browsers send no fetch metadata. */
function withoutMetadata(url: string): Promise<LoopbackServer> {
  return listenHttp((incoming, response) => {
    const kept = Object.entries(incoming.headers).filter(([name]) => !name.startsWith('sec-fetch-'));
    const { url: path = '', method } = incoming;
    const outgoing = request(url + path, { method, headers: Object.fromEntries(kept) }, (answer) => {
      response.writeHead(answer.statusCode ?? 0, answer.headers);
      answer.pipe(response);
    });
    incoming.pipe(outgoing);
  });
}

/** A source whose custom response was stored before its type was checked. The change of its name makes the nodes read it. */
async function oldSource({ app }: World, body: string, content_type: string): Promise<Json> {
  const made = await app.project.post('/sources', { name: 'old', type: 'http' });
  await app.database.query('update sources set custom_response = $2 where id = $1', [
    made.uid,
    JSON.stringify({ body, content_type }),
  ]);
  return app.project.put(`/sources/${made.uid}`, { name: 'old and renamed' });
}

async function signInAsAdministrator({ app }: World, page: Page): Promise<void> {
  const { link } = await app.instance.post('/sign-in-links', {});
  await page.goto(link);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('navigation').getByText('Instance', { exact: true }).waitFor();
}

const accounts = async ({ app }: World): Promise<string[]> =>
  (await app.instance.get('/people')).content.map(({ email }: Json) => email);

const events = async ({ app }: World, source: Json): Promise<Json[]> =>
  (await app.project.get(`/events?sourceId=${source.uid}`)).content;

export function foreignPageTests(get: () => World): void {
  describe('a page of another origin', () => {
    it('that posts a form to a source runs no script on our origin, and stores nothing', async () => {
      const world = get();
      const source = await oldSource(world, HTML, 'text/html');
      const { page, close } = await fresh(world);
      await signInAsAdministrator(world, page);
      for (const target of ['_self', 'frame']) {
        const foreign = await foreignPage(source.url, target);
        const answered = page.waitForResponse(source.url);
        await page.goto(`http://127.0.0.1:${foreign.port}/`, { waitUntil: 'commit' });
        const answer = await answered;
        expect([target, answer.status()]).toEqual([target, 403]);
        await answer.finished();
        await foreign.close();
      }
      expect(await events(world, source)).toEqual([]);
      expect(await accounts(world)).not.toContain(EMAIL);
      await close();
    });

    it.each([
      [HTML, 'text/html', 'text/plain; charset=utf-8'],
      [XML, 'application/xml', 'application/xml'],
      [XML, 'application/xhtml+xml', 'text/plain; charset=utf-8'],
    ])('that a browser says nothing of runs no script either: %#', async (body, stored, answered) => {
      const world = get();
      const source = await oldSource(world, body, stored);
      const relay = await withoutMetadata(world.app.url);
      const address = `http://127.0.0.1:${relay.port}/ingest/${source.mask_id}`;
      const foreign = await foreignPage(address);
      const { page, close } = await fresh(world);
      const loaded = page.waitForResponse(address);
      await page.goto(`http://127.0.0.1:${foreign.port}/`, { waitUntil: 'commit' });
      const answer = await loaded;
      expect([answer.status(), answer.headers()['content-type']]).toEqual([200, answered]);
      await page.waitForURL(address);
      expect(['', 'quiet']).toContain(await page.title());
      await close();
      await Promise.all([foreign.close(), relay.close()]);
    });
  });
}
