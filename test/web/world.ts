import type { Browser, BrowserContext, Page } from 'playwright-core';
import { startTestApp, type TestApp } from '../support/app.ts';
import { launch, watchedPage } from './browser.ts';
import { buildPages } from './build-pages.ts';
import { type Seed, seed } from './seed.ts';

/** One server, one browser, one project with traffic and one without, for every test of the pages. */
export interface World {
  app: TestApp;
  seed: Seed;
  browser: Browser;
  context: BrowserContext;
  page: Page;
  /** Errors of the browser since the list was last emptied. */
  wrongs: string[];
  /** The id of a project without anything in it. */
  emptyProject: string;
  /** Loads a page of the project with traffic. */
  open(path: string, project?: string): Promise<void>;
  /** Goes to a page of the project with traffic, as a click on a link does. */
  go(path: string, project?: string): Promise<void>;
  stop(): Promise<void>;
}

export async function makeWorld(): Promise<World> {
  await buildPages();
  const app = await startTestApp({ POSTHORN_WORKLOAD_CREDENTIALS: 'aws' });
  const seeded = await seed(app.project);
  const empty = await app.newProject();
  const browser = await launch();
  const context = await browser.newContext({
    viewport: { width: 1440, height: 900 },
    reducedMotion: 'reduce',
  });
  await context.addInitScript((key) => sessionStorage.setItem('posthorn.key', key), app.instance.key);
  const { page, wrongs } = await watchedPage(context, app.url);
  // A crowded machine fails no test.
  page.setDefaultTimeout(60_000);
  return {
    app,
    seed: seeded,
    browser,
    context,
    page,
    wrongs,
    emptyProject: empty.projectId,
    open: async (path, project = app.projectId) => void (await page.goto(`${app.url}/p/${project}/${path}`)),
    go: (path, project = app.projectId) => goTo(page, `${app.url}/p/${project}/${path}`),
    stop: async () => {
      await browser.close();
      await seeded.stop();
      await app.stop();
    },
  };
}

/**
 * Goes to another page of the dashboard as a click on a link does. The document, its scripts and axe stay: it takes 0.2 s
 * of CPU, a load 0.75 s, and axe 0.3 s in each new document. Ends when the page of the address is shown, so no
 * text of the page before is taken for its own.
 */
export async function goTo(page: Page, url: string): Promise<void> {
  const { origin } = new URL(url);
  if (!page.url().startsWith(origin)) return void (await page.goto(url));
  await page.evaluate(`(async () => {
    history.pushState({}, '', ${JSON.stringify(url)});
    const isShown = ({ status, resolvedLocation }) =>
      status === 'idle' && location.origin + resolvedLocation?.href === location.href;
    while (!isShown(__TSR_ROUTER__.state)) await new Promise((resolve) => setTimeout(resolve, 10));
  })()`);
}

/** A page without a key or a session, as a visitor has it. It may ask only the node at `url`. */
export async function fresh(
  { browser, app }: World,
  url = app.url,
): Promise<{ page: Page; wrongs: string[]; close(): Promise<void> }> {
  const context = await browser.newContext({ reducedMotion: 'reduce' });
  const { page, wrongs } = await watchedPage(context, url);
  page.setDefaultTimeout(60_000);
  return { page, wrongs, close: () => context.close() };
}
