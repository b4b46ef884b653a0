import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Browser, Page } from 'playwright-core';
import { startTestApp, type TestApp } from '../../support/app.ts';
import type { Json } from '../../support/client.ts';
import { launch, watchedPage } from '../browser.ts';
import { buildPages } from '../build-pages.ts';
import { type Seed, seed } from '../seed.ts';

/** One server, one browser, two customers with traffic, and a page of another site that embeds the portal. */
export interface PortalWorld {
  app: TestApp;
  seed: Seed;
  browser: Browser;
  /** The origin of the page that may embed the portal. */
  hostOrigin: string;
  /** The HTML that the host serves. */
  serve(html: string): void;
  link(body: object): Promise<Json>;
  /** A fresh browser profile at this address. Closed with `close`. */
  visit(url: string, options?: { width?: number; dark?: boolean; language?: string }): Promise<Visit>;
  stop(): Promise<void>;
}

export interface Visit {
  page: Page;
  wrongs: string[];
  close(): Promise<void>;
}

export async function makePortalWorld(): Promise<PortalWorld> {
  await buildPages();
  const app = await startTestApp({ POSTHORN_WORKLOAD_CREDENTIALS: 'aws' });
  const seeded = await seed(app.project);
  await app.project.post('/event-types', {
    name: 'invoice.reminder',
    category: 'Billing',
    description: 'An invoice was not paid in time.',
    json_schema: {
      type: 'object',
      properties: { invoice: { type: 'integer', examples: [4711] }, amount: { type: 'string' } },
    },
  });
  let html = '';
  const host: Server = createServer((_request, response) =>
    response.writeHead(200, { 'content-type': 'text/html; charset=utf-8' }).end(html),
  );
  await new Promise<void>((resolve) => host.listen(0, '127.0.0.1', resolve));
  // Another name, so that the portal is a third party there.
  const hostOrigin = `http://localhost:${(host.address() as AddressInfo).port}`;
  const browser = await launch();
  return {
    app,
    seed: seeded,
    browser,
    hostOrigin,
    serve: (text) => {
      html = text;
    },
    link: (body) => app.project.post('/portal-links', { name: 'link', ...body }),
    visit: async (url, { width = 1280, dark = false, language = 'en-US' } = {}) => {
      const context = await browser.newContext({
        viewport: { width, height: 800 },
        reducedMotion: 'reduce',
        colorScheme: dark ? 'dark' : 'light',
        locale: language,
      });
      const { page, wrongs } = await watchedPage(context, new URL(url).origin);
      // A crowded machine fails no test.
      page.setDefaultTimeout(60_000);
      await page.goto(url);
      return { page, wrongs, close: () => context.close() };
    },
    stop: async () => {
      await browser.close();
      host.closeAllConnections();
      await new Promise((resolve) => host.close(resolve));
      await seeded.stop();
      await app.stop();
    },
  };
}

/** Another place of the same page. */
export const goTo = (page: Page, hash: string): Promise<unknown> =>
  page.evaluate(`void (location.hash = ${JSON.stringify(hash)})`);
